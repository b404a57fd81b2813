package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/foreign"
)

// runsFile marks the directory of a series: complete runs of one study, in the subdirectories 001,
// 002, …
const runsFile = "runs.json"

// MaxRuns is the largest number of runs in a series.
const MaxRuns = 1000

// A Series is the content of runs.json: the plan of a series.
type Series struct {
	Runs  int           // 1 to MaxRuns
	Every time.Duration // from one start to the next; 0 means back to back
}

// seriesJSON is the form of a Series in the file. Its every is a string such as "10m0s".
type seriesJSON struct {
	Runs  int    `json:"runs"`
	Every string `json:"every"`
}

// RunDir returns the directory of run n of the series in dir, n from 1.
func RunDir(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("%03d", n)) }

// Runs returns the run directories that dir stands for: dir itself if it holds a run, or those of
// its runs that have started if it holds a series, in order.
func Runs(dir string) ([]string, error) {
	if holdsRun(dir) {
		return []string{dir}, nil
	}
	s, err := ReadSeries(dir)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s: not a results directory: it is a file", dir)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: not a results directory: it does not exist; weir run names its directory at the end", dir)
		}
		return nil, fmt.Errorf("%s: not a results directory: it holds neither a run (%s, %s) nor a series of runs (%s)", dir, studyFile, resultsFile, runsFile)
	case err != nil:
		return nil, err
	}
	var runs []string
	for n := range s.Runs {
		if run := RunDir(dir, n+1); holdsRun(run) {
			runs = append(runs, run)
		}
	}
	if runs == nil {
		return nil, fmt.Errorf("%s: none of its %d runs has started; remove the directory and start the series again", dir, s.Runs)
	}
	return runs, nil
}

func holdsRun(dir string) bool {
	for _, file := range []string{studyFile, resultsFile} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return true
		}
	}
	return false
}

// Begun returns when the run or the series in dir began: the time of the file that each has from its start. It returns
// false for a directory without results.
func Begun(dir string) (time.Time, bool) {
	for _, file := range []string{runsFile, studyFile, resultsFile} {
		if info, err := os.Lstat(filepath.Join(dir, file)); err == nil && info.Mode().IsRegular() {
			return info.ModTime(), true
		}
	}
	return time.Time{}, false
}

// ReadSeries reads the plan of the series in dir. Without one, the error is fs.ErrNotExist.
func ReadSeries(dir string) (s Series, err error) {
	file := filepath.Join(dir, runsFile)
	b, err := foreign.ReadFile(file, bounds.MaxFile)
	if err != nil {
		return s, err
	}
	var j seriesJSON
	if err := bounds.JSON(b, &j); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	s.Runs = j.Runs
	if s.Runs < 1 || s.Runs > MaxRuns {
		return s, fmt.Errorf("%s: invalid runs %d: want 1 to %d", file, s.Runs, MaxRuns)
	}
	if s.Every, err = time.ParseDuration(j.Every); err != nil || s.Every < 0 {
		return s, fmt.Errorf("%s: invalid every %q: want a duration such as 10m, or 0s", file, j.Every)
	}
	return s, nil
}

// CreateSeries makes dir, which must be new or empty, the directory of a series.
func CreateSeries(dir string, s Series) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("%s: cannot hold results: %w; use another -o", dir, err)
	}
	_, unplanned := os.Stat(filepath.Join(dir, runsFile))
	first := RunDir(dir, 1)
	if _, err := os.Stat(filepath.Join(first, studyFile)); err == nil && unplanned == nil {
		return fmt.Errorf("%s already holds a series of runs; %w, or use another -o", dir, Resume{dir})
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		switch name := e.Name(); {
		case name == runsFile, name == "."+runsFile+tempEnd, unplanned == nil && name == filepath.Base(first):
			// of a series that was killed before its first run began
		case err == nil:
			return fmt.Errorf("%s is not empty (%s); use another -o", dir, strconv.Quote(name))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w; use another -o", dir, err)
	}
	b, err := json.Marshal(seriesJSON{s.Runs, s.Every.String()})
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, runsFile), append(b, '\n'))
}

// A SeriesDir is the directory of a series while a process runs it. It excludes other processes
// until Close.
type SeriesDir struct {
	path string
	lock *os.File
}

// OpenSeries opens the directory of a series to start or continue it.
func OpenSeries(dir string) (*SeriesDir, error) {
	f, err := foreign.Open(filepath.Join(dir, runsFile), bounds.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: nothing to resume: %w", dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another process is running this series: %w; wait until it ends, or use another -o", dir, err)
	}
	return &SeriesDir{dir, f}, nil
}

// File writes a report of the series. See WriteFile.
func (d *SeriesDir) File(name string, b []byte) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%s: file: %w", d.path, err)
	}
	return d.OrGone(WriteFile(filepath.Join(d.path, name), b))
}

// OrGone returns why a file of the series could not be written or read: ErrGone, or else err.
func (d *SeriesDir) OrGone(err error) error {
	mine, unknown := d.lock.Stat()
	if at, gone := os.Stat(filepath.Join(d.path, runsFile)); err != nil && unknown == nil && (gone != nil || !os.SameFile(at, mine)) {
		return fmt.Errorf("%s: %w", d.path, ErrGone)
	}
	return err
}

func (d *SeriesDir) Close() error { return d.lock.Close() } // the lock goes with the file
