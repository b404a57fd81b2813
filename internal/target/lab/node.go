package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/target"
)

var _ target.Node = (*place)(nil)

// patience is how long a program may take to end after SIGTERM.
const patience = 2 * time.Second

func (p *place) Name() string { return p.name }

// inside returns the namespaces that programs of the place are started in.
func (p *place) inside() *netns.Namespace {
	if p.host != nil {
		return p.host.Namespace
	}
	return p.ns
}

// Run starts c inside the namespaces of the place. The program gets a process
// group of its own, which is ended with it; so is what has left that group and
// still has its mark in the environment, as the ranks that mpirun starts.
func (p *place) Run(ctx context.Context, c target.Cmd) error {
	if p.guest != nil {
		return p.guest.Run(ctx, c)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	cmd := command(ctx, c.Argv)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	mark := "WEIR_PROGRAM=" + rand.Text()
	cmd.Env = append(os.Environ(), mark)
	// Only Start is inside: Wait must not hold the thread. The thread is thrown
	// away, so its affinity, which the program inherits, reaches nobody else.
	err := p.inside().Do(func() error {
		if p.host == nil { // UCX looks for its devices in /sys (uct_tcp_query_devices)
			if err := hostns.OwnSys(); err != nil {
				return err
			}
		}
		if err := pin(c.CPUs); err != nil {
			return err
		}
		return cmd.Start()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it started and left; none is the normal case
	endMarked(mark)
	if cmd.ProcessState.Success() {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: %s: %w", p.name, c.Argv[0], err)
}

// command prepares a program that gets a process group of its own and ends when
// ctx does.
func command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if argv[0] == "weir" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
	} else if path := facts.Find(argv[0]); path != "" {
		cmd.Path, cmd.Err = path, nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	return cmd
}

// endMarked ends the processes with this entry in their environment, and waits
// for those that have become this process's children, as orphans of process 1 do.
// It looks again until there are none: they may be starting others.
func endMarked(entry string) {
	for {
		found := false
		files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a constant
		for _, f := range files {
			env, _ := os.ReadFile(f) // it may be gone by now
			if !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+entry+"\x00")) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && pid != os.Getpid() {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
				_, _ = syscall.Wait4(pid, nil, 0, nil) // not ours is the normal case
			}
		}
		if !found {
			return
		}
	}
}

// pin restricts this thread to cpus.
func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on CPUs %v: %w", cpus, err)
	}
	return nil
}

// CPUs are those that this process may use: a container may have fewer than the
// machine.
func (p *place) CPUs() []int {
	if p.guest != nil {
		return p.guest.CPUs()
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// FS is the machine's file tree with the network of the place, or the whole tree
// of a place that has one of its own.
func (p *place) FS() fs.FS {
	if p.guest != nil {
		return p.guest.FS()
	}
	if p.host != nil {
		return nsFS{p.ns, fmt.Sprintf("/proc/%d/root/", p.host.PID())}
	}
	return nsFS{p.ns, "/"}
}

// nsFS is the file tree below root with /proc/net as the namespace sees it.
type nsFS struct {
	ns   *netns.Namespace
	root string
}

func (f nsFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if len(name) > 8 && name[:8] == "proc/net" || len(name) > 12 && name[:12] == "proc/sys/net" {
		return f.ns.Open("/" + name)
	}
	return os.Open(f.root + name)
}
