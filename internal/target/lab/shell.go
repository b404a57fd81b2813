package lab

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/target/local"
)

// ours returns a path in this process's /proc that reaches its program and unnamed files.
func ours(elem ...string) string {
	return path.Join(append([]string{"/proc", strconv.Itoa(os.Getpid())}, elem...)...)
}

// shell implements the rsh of one machine: `weir host rsh`, which calls Rsh. Nothing listens: the
// calling process enters the network namespace and keeps everything else of its place, such as the
// directory.
func (l *lab) shell(from, to string, cpus []int) (argv []string, dir string) {
	list := anyCPU
	if len(cpus) > 0 {
		list = strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ","), "[]")
	}
	program, ns := ours("exe"), ours("fd", strconv.Itoa(l.places[to].ns.FD()))
	if l.dir != nil {
		dir = ours("fd", strconv.Itoa(int(l.dir.Fd())))
	}
	if l.places[from].host != nil { // this process is not visible there
		program, ns, dir = hostns.Program, hostns.Peer(to), hostns.Dir
	}
	// The list is not last: Open MPI 4.1 loses a one-letter last word.
	return []string{program, "host", "rsh", list, ns}, dir
}

// anyCPU stands for no restriction: an empty word would be lost.
const anyCPU = "any"

// Rsh becomes a shell that runs command in the network namespace of the file ns, on the processors
// of the list cpus. It returns only with an error.
//
// As with rsh(1) and ssh(1), the words of the command are joined by spaces and parsed by the shell.
// The shell keeps the process ID, so ending this process ends the command.
func Rsh(cpus, ns string, command []string) error {
	var list []int
	if cpus != anyCPU {
		for s := range strings.SplitSeq(cpus, ",") {
			c, err := strconv.Atoi(s)
			if err != nil {
				return fmt.Errorf("CPUs %q: %w", cpus, err)
			}
			list = append(list, c)
		}
	}
	sh, err := facts.LookPath("sh")
	if err != nil {
		return err
	}
	return netns.Exec(ns, func() error {
		if err := hostns.OwnSys(); err != nil {
			return err
		}
		return local.Pin(list)
	}, sh, []string{"sh", "-c", strings.Join(command, " ")}, os.Environ())
}

// newDir makes an unmounted in-memory file system that is reached through its descriptor and
// vanishes with this process, however it ends. It returns nil before Linux 5.2, which lacks such
// mounts.
func newDir() (*os.File, error) {
	dir, err := detached("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if errors.Is(err, unix.ENOSYS) {
		return nil, nil
	}
	return dir, err
}
