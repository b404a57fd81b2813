package rootless

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The limit of a user counts threads, and those of this process are known. Root has none.
func TestRoom(t *testing.T) {
	if err := Room(1); err != nil {
		t.Error(err)
	}
	if n, other := threadsOf(os.Getuid()), threadsOf(-2); n < 1 || other != 0 {
		t.Errorf("%d threads of this user, %d of no user", n, other)
	}
	if err := noRoom(-3, 9, "ulimit -u"); !strings.Contains(err.Error(), "ulimit -u leaves room for 0 further processes and threads") {
		t.Error(err)
	}
}

// The machine has memory, and what limits it has a name.
func TestMemory(t *testing.T) {
	total := 1024 * field("/proc/meminfo", "MemTotal:")
	if free, limit := Memory(); free <= 0 || free > total || limit == "" {
		t.Errorf("%d of %d bytes, limited by %q", free, total, limit)
	}
	if n := field("/proc/meminfo", "Mem"); n != 0 {
		t.Errorf("a field of another name: %d", n)
	}
}

// A chroot is told what it lacks, and too little address space is refused with a word.
func TestBasics(t *testing.T) {
	if err := Basics(); err != nil {
		t.Error(err)
	}
	if err := basics(t.TempDir()); err == nil || !strings.Contains(err.Error(), "/dev/null: no such file or directory: this looks like a chroot") || !strings.Contains(err.Error(), "mount --rbind /dev ROOT/dev") {
		t.Error(err)
	}
	root := t.TempDir()
	for _, file := range []string{"dev/null", "proc/self/exe", "sys/kernel"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o777), os.WriteFile(filepath.Join(root, file), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := basics(root); err == nil || !strings.Contains(err.Error(), "mount --bind ROOT ROOT") {
		t.Error(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	less := old
	less.Cur = addresses - 1
	if err := unix.Setrlimit(unix.RLIMIT_AS, &less); err != nil {
		t.Fatal(err)
	}
	err := Room(1)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "ulimit -v allows 1572863 KiB of address space, and this needs 1572864") {
		t.Error(err)
	}
}
