package rootless

import (
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Room returns an error if limits leave this process room for fewer than need further processes and threads. If a
// thread cannot start, the Go runtime ends the program with a trace.
func Room(need int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err == nil && limit.Cur < addresses {
		return fmt.Errorf("ulimit -v allows %d KiB of address space, and this needs %d; raise it, or limit memory by a control group", limit.Cur>>10, addresses>>10)
	}
	if left, limit := ofUser(), "ulimit -u"; left < need {
		return noRoom(left, need, limit)
	}
	for dir := range groups("pids") {
		most, current := number(filepath.Join(dir, "pids.max")), number(filepath.Join(dir, "pids.current"))
		if left := most - current; most >= 0 && current >= 0 && left < need {
			return noRoom(left, need, filepath.Join(dir, "pids.max"))
		}
	}
	return nil
}

// groups yields the directories of this process's control groups that can limit what a controller controls, of either
// version, each below the next.
func groups(controller string) iter.Seq[string] {
	return func(yield func(string) bool) {
		b, _ := os.ReadFile("/proc/self/cgroup") // without one, no group limits anything
		for line := range strings.Lines(string(b)) {
			of, group, _ := strings.Cut(strings.TrimSpace(line), ":/")
			top := "/sys/fs/cgroup"
			switch {
			case strings.HasSuffix(of, ":"+controller): // version 1
				top = filepath.Join(top, controller)
			case of != "0:":
				continue
			}
			for dir := filepath.Join(top, group); len(dir) >= len(top); dir = filepath.Dir(dir) {
				if !yield(dir) {
					return
				}
			}
		}
	}
}

// Memory returns how much memory this process can still take before the kernel ends one, bytes, and what limits it: the
// machine, or a control group. The pages of files in a group do not count: the kernel gives them up.
func Memory() (free int, limit string) {
	free, limit = 1024*field("/proc/meminfo", "MemAvailable:"), "this machine"
	for dir := range groups("memory") {
		for _, f := range [][3]string{{"memory.max", "memory.current", "inactive_file"}, {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}} {
			most, used := number(filepath.Join(dir, f[0])), number(filepath.Join(dir, f[1]))
			if left := most - used + field(filepath.Join(dir, "memory.stat"), f[2]); most >= 0 && used >= 0 && left < free {
				free, limit = max(0, left), filepath.Join(dir, f[0])
			}
		}
	}
	return free, limit
}

// field reads the number after a name at the beginning of a line; 0 without one.
func field(file, name string) (n int) {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, _ = strconv.Atoi(f[1])
		}
	}
	return n
}

// addresses is the address space below which Go's runtime can end a process at any moment, bytes: it reserves more than
// half a GiB when it starts.
const addresses = 3 << 29

// Basics returns an error if this file system lacks what every program needs, as in a chroot(8) without it.
func Basics() error { return basics("/") }

func basics(root string) error {
	for _, m := range []struct{ file, fix string }{
		{"/dev/null", "mount --rbind /dev ROOT/dev"},
		{"/proc/self/exe", "mount -t proc proc ROOT/proc"},
		{"/sys", "mkdir ROOT/sys"},
	} {
		if _, err := os.Stat(filepath.Join(root, m.file)); err != nil {
			return fmt.Errorf("%w: this looks like a chroot that lacks it; outside, where its directory is ROOT: %s", err, m.fix)
		}
	}
	// weir changes how mounts below / spread, which mount(2) does only to a mount.
	var at unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, root, 0, 0, &at); err == nil && at.Attributes_mask&^at.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return fmt.Errorf("%s is not a mount: this looks like a chroot into a plain directory; outside, where its directory is ROOT, and before its other mounts: mount --bind ROOT ROOT", root)
	}
	return nil
}

func noRoom(left, need int, limit string) error {
	return fmt.Errorf("%s leaves room for %d further processes and threads, and this needs up to %d; raise it", limit, max(left, 0), need)
}

// ofUser returns how many processes and threads this user can still start. The kernel does not limit root
// (copy_process, kernel/fork.c).
func ofUser() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil || os.Getuid() == 0 || limit.Cur > math.MaxInt32 {
		return math.MaxInt
	}
	return int(limit.Cur) - threadsOf(os.Getuid())
}

// threadsOf returns the number of a user's threads.
func threadsOf(user int) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/status") // the pattern is a constant
	for _, f := range files {
		b, _ := os.ReadFile(f) // the process can be gone
		uid, threads := -1, 0
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			switch name {
			case "Uid": // real, effective, saved, of the file system
				real, _, _ := strings.Cut(value, "\t")
				uid, _ = strconv.Atoi(real)
			case "Threads":
				threads, _ = strconv.Atoi(value)
			}
		}
		if uid == user {
			n += threads
		}
	}
	return n
}

// number reads a file with one number; -1 if it has none, as "max".
func number(file string) int {
	b, _ := os.ReadFile(file)
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}
