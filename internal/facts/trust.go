package facts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/weir-bench/weir/internal/rootless"
)

// For root, OwnPath splits path, a list of directories, into those that it keeps and those in which another user
// can put a program. Other users' paths stay as they are: a program that they run can do nothing that they cannot.
func OwnPath(path string) (kept string, foreign []string) {
	dirs, foreign := safeDirs(filepath.SplitList(path))
	if len(foreign) == 0 {
		return path, nil
	}
	return strings.Join(dirs, string(filepath.ListSeparator)), foreign
}

// safeDirs splits directories into those from which this process can run programs and those that another user can
// change. A directory that does not exist is in neither: it has no programs.
func safeDirs(dirs []string) (safe, foreign []string) {
	if os.Geteuid() != 0 || rootless.Unprivileged() {
		return dirs, nil
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if trusted(dir, "0", os.Getenv("SUDO_UID")) {
			safe = append(safe, dir)
		} else {
			foreign = append(foreign, dir)
		}
	}
	return safe, foreign
}

// trusted reports whether only users can change what a path leads to. It and all directories above, and those of the
// links on the way, belong to users; other users can write to none, or in /tmp and its like (S_ISVTX) only to what
// is theirs. Members of a directory's group are trusted: Debian's /usr/local/bin has one.
func trusted(path string, users ...string) bool {
	if !filepath.IsAbs(path) {
		return false // it depends on the directory in which root happens to be
	}
	for at, above := filepath.Clean(path), false; ; at, above = filepath.Dir(at), true {
		var stat syscall.Stat_t
		if syscall.Lstat(at, &stat) != nil || !slices.Contains(users, strconv.Itoa(int(stat.Uid))) {
			return false
		}
		if stat.Mode&syscall.S_IFMT == syscall.S_IFLNK {
			dir, err := filepath.EvalSymlinks(filepath.Dir(at))
			to, linkErr := os.Readlink(at)
			if !filepath.IsAbs(to) {
				to = filepath.Join(dir, to)
			}
			_, loop := filepath.EvalSymlinks(at)
			if errors.Join(err, linkErr, loop) != nil || !trusted(to, users...) { // one link at a time: it can lead to another user's
				return false
			}
		} else if stat.Mode&0o002 != 0 && !(above && stat.Mode&syscall.S_ISVTX != 0) {
			return false
		}
		if at == "/" {
			return true
		}
	}
}

// refused says that root does not run a program.
type refused struct{ path string }

func (r *refused) Error() string {
	return r.path + ": root does not run it: another user owns it, can change it, or can change what leads to it; chown root it and what is above, or run weir as that user"
}

// Safe returns an error if this process is root and another user can change the program in path: the file that runs in
// the end, the links that lead to it, and all directories above.
func Safe(path string) error {
	if os.Geteuid() != 0 || rootless.Unprivileged() {
		return nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if !trusted(abs, "0", os.Getenv("SUDO_UID")) {
		return &refused{path}
	}
	return nil
}

// LookPath is exec.LookPath for programs that are Safe.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		err = Safe(path)
	}
	if err != nil {
		return "", err
	}
	return path, nil
}

// own reports whether only this user, or the one who called sudo(8), can put programs into a directory. HOME
// can be another user's, whose programs this one must not run.
func own(dir string) bool {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return false
	}
	by := strconv.Itoa(int(stat.Uid))
	safe, _ := safeDirs([]string{dir})
	return len(safe) == 1 && stat.Mode&0o002 == 0 && (by == strconv.Itoa(os.Geteuid()) || by == os.Getenv("SUDO_UID"))
}
