package rootless

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Room returns an error if limits leave this process fewer than need further
// processes and threads. The Go runtime ends a program that cannot start a thread with a trace.
func Room(need int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err == nil && limit.Cur < addresses {
		return fmt.Errorf("ulimit -v allows %d KiB of address space, and this needs %d; raise it, or limit memory by a control group", limit.Cur>>10, addresses>>10)
	}
	if left, limit := ofUser(), "ulimit -u"; left < need {
		return noRoom(left, need, limit)
	}
	b, _ := os.ReadFile("/proc/self/cgroup") // without one, no group limits anything
	for line := range strings.Lines(string(b)) {
		controller, group, _ := strings.Cut(strings.TrimSpace(line), ":/")
		top := "/sys/fs/cgroup"
		switch {
		case strings.HasSuffix(controller, ":pids"): // version 1
			top += "/pids"
		case controller != "0:":
			continue
		}
		for dir := filepath.Join(top, group); len(dir) >= len(top); dir = filepath.Dir(dir) {
			most, current := number(filepath.Join(dir, "pids.max")), number(filepath.Join(dir, "pids.current"))
			if left := most - current; most >= 0 && current >= 0 && left < need {
				return noRoom(left, need, filepath.Join(dir, "pids.max"))
			}
		}
	}
	return nil
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
	} {
		if _, err := os.Stat(filepath.Join(root, m.file)); err != nil {
			return fmt.Errorf("%w: this looks like a chroot that lacks it; outside, where its directory is ROOT: %s", err, m.fix)
		}
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
