package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/foreign"
)

// Running reports whether a process of this machine is writing to dir, the directory of a run or a series. It
// holds the lock itself for a moment, so a run that starts in that moment is refused.
func Running(dir string) (bool, error) {
	for _, name := range []string{runsFile, resultsFile} {
		f, err := foreign.OpenFile(filepath.Join(dir, name), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		f.Close() // and with it the lock
		if errors.Is(err, unix.EWOULDBLOCK) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// Lock keeps other processes out of a directory that holds several runs, until the file that it returns is closed, or this
// process ends.
func Lock(dir string) (*os.File, error) {
	f, err := foreign.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another process is writing to it: %w; wait until it ends, or use another -o", dir, err)
	}
	return f, nil
}

// lockFile is what Lock locks, because NFS cannot lock directories.
const lockFile = "lock"
