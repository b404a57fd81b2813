// Package store is the results directory of a run:
//
//	study.yaml           the study, resolved
//	probes.json          the descriptions of its probes
//	blocks.json, again.json, capacity.json  decisions and measurements made once per run
//	others.json          programs outside the run that used the machine
//	machines.json        the machines that a target found, with their zones, in the order of hosts
//	profiles.jsonl       one line per profile trial, like those of results.jsonl, which they are not part of
//	begun.json           the version of weir that began the run, and what it began: a hash of study.yaml
//	hosts/<host>.json    facts of each host; <host>-2.json if it, or weir, was another one when the run was resumed
//	plans/<network>.jsonl  the steps that built each network
//	results.jsonl        one line per trial, in the order of time; of a trial that was skipped or failed and
//	                     tried again, the last one counts
//	raw/<trial>/<file>   bytes that the tools of a trial printed, counters, and inside.jsonl: CPUs, threads and
//	                     devices inside its window (sample.Series)
//	raw/<trial>.zip      the same, as <trial>/<file>, of all trials that ran at once; <trial> is the first one
//	logs/<network>/<host>-<service>.log  output of the daemons of a network
//	tests/<statement>/   results directory of a run that can refute a statement about this run
//	tests/verdicts.json  what those runs say
//	report.html, report.md, weir.log
//	results.jsonl.cut    incomplete lines that a killed run left, if any
//	imported.json        the files of other tools that the results come from, if no run measured them
//
// A series of runs is a directory with runs.json, its plan, and a results directory 001, 002, … per
// run.
//
// A run that is killed at any moment leaves a directory that Read reads and Open continues. The
// package must not know what the files mean, except for the lines of results.jsonl.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

const (
	studyFile  = "study.yaml"
	probesFile = "probes.json"
	othersFile = "others.json"
	// BegunFile says what the run began with.
	BegunFile = "begun.json"
	// MachinesFile names the machines that a target found, in the order of hosts.
	MachinesFile = "machines.json"
	resultsFile  = "results.jsonl"
	importFile   = "imported.json"
	// ProfilesFile holds the results of the trials that were profiled.
	ProfilesFile = "profiles.jsonl"
	cutFile      = "results.jsonl.cut"
	logFile      = "weir.log"
	rawDir       = "raw"
	logsDir      = "logs"
)

// A Dir is a results directory that a run writes to. It excludes other runs until Close. Its
// methods are safe for concurrent use.
type Dir struct {
	Log io.Writer

	path    string   // for messages, and to find out whether it still leads to root
	root    *os.Root // all files are opened below it: no symbolic link leads outside
	results *os.File // locked; positioned at the end by O_APPEND
	log     *os.File
	logs    map[string]*os.File // directories, by network

	mu     sync.Mutex
	size   int64 // of the complete lines in results
	done   map[string]bool
	broken error // results holds a partial line that could not be removed

	write func([]byte) (int, error) // results.Write; tests fill the disk here
	sync  func() error              // results.Sync
}

// Create makes the directory dir for a new run, or uses an empty one. A directory that a run left
// before its first trial counts as empty. Create fails at once if dir cannot be written or locked.
func Create(dir string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("%s: cannot hold results: %w; use another -o", dir, err)
	}
	if err := vacant(dir); err != nil {
		return nil, err
	}
	d, err := open(dir, os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = vacant(dir) // another run can have come and gone before the lock
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// A Resume is the part of an error that says how the run in Dir continues.
type Resume struct{ Dir string }

func (r Resume) Error() string { return "continue with --resume " + plan.ShellWord(r.Dir) }

func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w; use another -o", dir, err)
	}
	var foreign []string
	for _, e := range entries {
		name := e.Name()
		if base, ok := strings.CutSuffix(name, tempEnd); ok { // a file that a killed run was writing
			name = strings.TrimPrefix(base, ".")
		}
		switch name {
		case resultsFile, rawDir, cutFile:
			info, err := e.Info()
			if err != nil {
				return fmt.Errorf("%s: %w", dir, err)
			}
			if name != resultsFile || info.Size() > 0 {
				return fmt.Errorf("%s already holds results; %w, or use another -o", dir, Resume{dir})
			}
		case studyFile, probesFile, BegunFile, MachinesFile, logFile, logsDir, "hosts", "plans":
			if _, err := os.Stat(filepath.Join(dir, resultsFile)); err != nil {
				foreign = append(foreign, name)
			}
		default:
			foreign = append(foreign, name)
		}
	}
	if len(foreign) > 0 {
		more := ""
		if len(foreign) > 3 {
			foreign, more = foreign[:3], " …"
		}
		return fmt.Errorf("%s is not empty (%s%s) and holds no results; use another -o", dir, strings.Join(foreign, ", "), more)
	}
	return nil
}

// Open opens an earlier run's directory to continue it. It moves an incomplete last line to
// results.jsonl.cut. Other bad lines stay and are logged; their trials count as not done.
func Open(dir string) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(dir, studyFile)); err != nil {
		return nil, fmt.Errorf("%s: nothing to resume: %w", dir, err)
	}
	d, err := open(dir, 0)
	if err != nil {
		return nil, err
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), d.Close())
	}
	return d, nil
}

// open opens and locks results.jsonl; flag is 0 or O_CREATE.
func open(dir string, flag int) (*Dir, error) {
	root, err := foreign.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot hold results: %w; use another -o", dir, err)
	}
	results, err := own(root, resultsFile, os.O_RDWR|os.O_APPEND|flag)
	if err != nil {
		root.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: nothing to resume: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot hold results: %w; use another -o", dir, err)
	}
	// The lock is on the file, because NFS cannot lock directories. It ends with the process.
	if err := unix.Flock(int(results.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		results.Close()
		root.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another run is writing to it: %w; wait until it ends, or use another -o", dir, err)
		}
		return nil, fmt.Errorf("%s: cannot lock %s: %w", dir, resultsFile, err)
	}
	log, err := own(root, logFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		results.Close()
		root.Close()
		return nil, fmt.Errorf("%s: cannot hold results: %w; use another -o", dir, err)
	}
	return &Dir{Log: log, path: dir, root: root, results: results, log: log, logs: map[string]*os.File{}, done: map[string]bool{}, write: results.Write, sync: results.Sync}, nil
}

func (d *Dir) load() error {
	b, err := foreign.ReadFrom(d.root, resultsFile, maxResults)
	if err != nil {
		return err
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	results, problems, _ := readResults(bytes.NewReader(whole), d.results.Name(), func(r *record.Result) { r.Values = nil })
	for _, p := range problems {
		if errors.Is(p, record.ErrNewer) { // repeating all these trials would be wrong
			return p
		}
		fmt.Fprintf(d.Log, "%v\n", p)
	}
	if err := d.cut(b[len(whole):], int64(len(whole))); err != nil {
		return err
	}
	d.size = int64(len(whole))
	for _, r := range results {
		d.done[r.Trial] = true
	}
	return nil
}

// cut removes the incomplete last line rest, which begins at size.
func (d *Dir) cut(rest []byte, size int64) error {
	if len(rest) == 0 {
		return nil
	}
	f, err := own(d.root, cutFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	_, err = f.Write(append(slices.Clip(rest), '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(d.Log, "%s: moved an incomplete last line of %d bytes to %s\n", resultsFile, len(rest), cutFile)
	return errors.Join(d.results.Truncate(size), d.sync())
}

// Done returns the IDs of all recorded trials, whatever their status.
func (d *Dir) Done() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.done)
}

// Results reads the recorded results in file order, without those that Retry has given up: a run can have more
// of them than it keeps in memory. Callers must not change their maps and slices, which are shared.
func (d *Dir) Results() ([]record.Result, error) {
	d.mu.Lock()
	all, err := d.read()
	d.mu.Unlock()
	return all, d.OrGone(err)
}

func (d *Dir) read() ([]record.Result, error) {
	all, problems, _ := readResults(io.NewSectionReader(d.results, 0, d.size), d.results.Name(), whole)
	all = slices.DeleteFunc(all, func(r record.Result) bool { return !d.done[r.Trial] })
	if len(all) < len(d.done) { // bad lines are not done
		return nil, errors.Join(fmt.Errorf("%s: can read only %d of %d results that the run has recorded", d.results.Name(), len(all), len(d.done)), errors.Join(problems...))
	}
	return all, nil
}

// Retry makes the trials that were skipped or failed count as not done and returns their number: the cause
// can be gone. Their lines stay, and the results that follow replace them (see readResults).
func (d *Dir) Retry() (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.read()
	for _, r := range all {
		if again(r) {
			delete(d.done, r.Trial)
			n++
		}
	}
	return n, err
}

// again reports whether another line can replace that of r: nothing was measured.
func again(r record.Result) bool { return r.Status == record.Skipped || r.Status == record.Failed }

// Close releases the directory and its lock.
func (d *Dir) Close() error {
	for _, f := range d.logs {
		_ = f.Close() // it was only read
	}
	return errors.Join(d.log.Close(), d.results.Close(), d.root.Close()) // the lock goes with the file
}

func (d *Dir) ReadFile(name string) ([]byte, error) {
	return foreign.ReadFrom(d.root, name, maxRaw)
}
