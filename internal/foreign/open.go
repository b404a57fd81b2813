package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxLinks is the most links that lead from one to the next, as in the kernel (include/linux/namei.h, MAXSYMLINKS).
const maxLinks = 40

// OpenFile is os.OpenFile that never waits for the other end of a pipe, and follows no link that another user made: who
// can plant one where root or a colleague reads and writes chooses what is read and overwritten. Links of this user, of
// root and of whoever called sudo(8) lead on. To what is written, this also holds for all directories above.
func OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		if err := led(filepath.Dir(name)); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	at := name
	for range maxLinks {
		f, err := open(at, flag|unix.O_NOFOLLOW, perm, name)
		if !errors.Is(err, unix.ELOOP) {
			return f, err
		}
		to, kernel, err := readLink(at)
		switch {
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		case kernel: // such as /proc/self/fd/0, which does not name a file
			return open(at, flag, perm, name)
		case to == "": // replaced meanwhile
			continue
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ELOOP}
}

// OpenRoot is os.OpenRoot of a directory to write in, to which no link of another user leads.
func OpenRoot(dir string) (*os.Root, error) {
	if err := led(dir); err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.OpenRoot(dir)
}

// led returns an error if the path to a directory passes through a link that another user made. A missing path is not an error.
func led(dir string) error {
	if _, err := filepath.EvalSymlinks(dir); err != nil {
		return nil
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		to, _, err := readLink(at)
		if err == nil && to != "" && !filepath.IsAbs(to) {
			var above string
			above, err = filepath.EvalSymlinks(filepath.Dir(at))
			to = filepath.Join(above, to)
		}
		if err == nil && to != "" {
			err = led(to)
		}
		if err != nil || at == filepath.Dir(at) {
			return err
		}
	}
}

// open opens the file at a path for a caller who knows it by another name.
func open(at string, flag int, perm fs.FileMode, name string) (*os.File, error) {
	for {
		fd, err := unix.Open(at, flag|unix.O_NONBLOCK|unix.O_CLOEXEC, uint32(perm.Perm()))
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// readLink returns where the link at a path leads, "" if there is no link any more, and whether it is the kernel's. What
// it judges and what it reads is one link, also if somebody replaces it meanwhile.
func readLink(at string) (to string, kernel bool, err error) {
	fd, err := unix.Open(at, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	var system unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &stat), unix.Fstatfs(fd, &system)); err != nil {
		return "", false, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", false, nil
	}
	if system.Type == unix.PROC_SUPER_MAGIC {
		return "", true, nil
	}
	if !trusts(stat.Uid) {
		return "", false, fmt.Errorf("a link that another user made (uid %d); name the file itself", stat.Uid)
	}
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", b)
	return string(b[:max(n, 0)]), false, err
}

// trusts reports whether the links of a user are followed.
func trusts(uid uint32) bool {
	return mapped() || slices.Contains([]string{strconv.Itoa(os.Geteuid()), "0", os.Getenv("SUDO_UID")}, strconv.Itoa(int(uid)))
}

// mapped reports whether this process is in a user namespace, where most users are one: whose a link is cannot be seen,
// and root there can do nothing that its user cannot.
var mapped = sync.OnceValue(func() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !slices.Equal(strings.Fields(string(b)), []string{"0", "0", "4294967295"})
})

// Write writes to what is there already and stays: a device, a pipe with a reader, or the file that a link of this user
// leads to.
func Write(name string, b []byte) (err error) {
	f, err := OpenFile(name, os.O_WRONLY|os.O_TRUNC|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(b)
	return err
}
