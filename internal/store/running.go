package store

import (
	"errors"
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
