package store

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/weir-bench/weir/internal/foreign"
)

// Raw stores bytes of a trial in raw/<trial>/<name>. Call it before parsing the bytes and before
// Append. It does not sync, which would take longer than a short trial: a killed run loses nothing,
// but a power cut can lose the last seconds of raw bytes.
func (d *Dir) Raw(trial, name string, b []byte) error {
	if err := d.checkRaw(trial, name); err != nil {
		return err
	}
	dir := filepath.Join(rawDir, trial)
	err := d.root.MkdirAll(dir, 0o777)
	if err == nil {
		err = d.create(filepath.Join(dir, name), b)
	}
	if err != nil {
		return d.notKept(err)
	}
	return nil
}

func (d *Dir) create(name string, b []byte) error {
	f, err := fresh(d.root, name)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

func (d *Dir) checkRaw(trial, name string) error {
	for _, s := range []string{trial, name} {
		if err := checkName(s); err != nil {
			return fmt.Errorf("%s: raw bytes of trial %q: %w", d.path, trial, err)
		}
	}
	return nil
}

// A Round holds the raw bytes of trials that run at once until Close writes them as one file: with
// hundreds of hosts, a directory per trial would be a million of them. Its methods are safe for
// concurrent use.
type Round struct {
	dir  *Dir
	file string // below the directory

	mu    sync.Mutex
	files []rawFile // in the order of Raw
}

// A rawFile is an entry of a Round: <trial>/<file>.
type rawFile struct {
	name string
	b    []byte
}

// Round begins a round. first is its first trial, which names its file.
func (d *Dir) Round(first string) (*Round, error) {
	if err := d.checkRaw(first, first+roundExt); err != nil {
		return nil, err
	}
	return &Round{dir: d, file: filepath.Join(rawDir, first+roundExt)}, nil
}

const roundExt = ".zip"

// Raw keeps bytes of a trial, which must not change before Close. It compresses and writes nothing,
// because other trials of the round can still be running.
func (r *Round) Raw(trial, name string, b []byte) error {
	if err := r.dir.checkRaw(trial, name); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, rawFile{trial + "/" + name, b})
	return nil
}

// Close writes the file, atomically. Call it before Append. Entries that an earlier attempt at the
// round left stay, unless their trials ran again: a killed run may have recorded some trials.
func (r *Round) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.files) == 0 {
		return nil
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := r.keepEarlier(w); err != nil {
		return err
	}
	for _, f := range r.files {
		entry, err := w.Create(f.name)
		if err == nil {
			_, err = entry.Write(f.b)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.file, err) // only for impossible sizes: it writes to memory
		}
	}
	err := w.Close()
	if err == nil {
		err = r.dir.root.MkdirAll(rawDir, 0o777)
	}
	if err == nil {
		err = replace(r.dir.root, r.file, out.Bytes())
	}
	if err != nil {
		return r.dir.notKept(err)
	}
	return nil
}

// keepEarlier copies the entries of other trials from an earlier file.
func (r *Round) keepEarlier(w *zip.Writer) error {
	b, err := r.dir.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var earlier *zip.Reader
	if err == nil {
		earlier, err = zip.NewReader(bytes.NewReader(b), int64(len(b)))
	}
	if err != nil {
		return fmt.Errorf("%s: raw bytes of an earlier attempt: %w; move the file away, then %w", filepath.Join(r.dir.path, r.file), err, Resume{r.dir.path})
	}
	again := map[string]bool{}
	for _, f := range r.files {
		again[trialOf(f.name)] = true
	}
	for _, f := range earlier.File {
		if again[trialOf(f.Name)] {
			continue
		}
		if err := w.Copy(f); err != nil {
			return fmt.Errorf("%s: raw bytes of an earlier attempt: %w", r.file, err)
		}
	}
	return nil
}

func trialOf(entry string) string {
	trial, _, _ := strings.Cut(entry, "/")
	return trial
}

// Raw files of a trial that reports read: what it sampled inside its window, what it observed besides its
// result, and the settings that held.
const (
	InsideFile   = "inside.jsonl"
	EvidenceFile = "evidence.json"
	SettingsFile = "settings.json"
)

// Directories can come from elsewhere: maxRaw bounds a raw file, also inside a round's file, and maxResults
// the file of all results, in bytes.
const (
	maxRaw     = 1 << 30
	maxResults = 16 << 30
)

// A RawDir reads raw files of a results directory. It is not safe for concurrent use.
type RawDir struct {
	path   string
	rounds map[string]string // file by trial; nil before the first look
	open   *zip.Reader       // the last one, because trials of a round follow each other
	opened string            // its name
	file   *os.File          // its file
	read   bytes.Buffer      // the last file
}

// OpenRaw returns a reader of the raw files of the results in dir. It opens nothing yet.
func OpenRaw(dir string) *RawDir { return &RawDir{path: filepath.Join(dir, rawDir)} }

// Read returns the raw file name of a trial; nil without one. The bytes are valid until the next Read.
func (d *RawDir) Read(trial, name string) ([]byte, error) {
	for _, s := range []string{trial, name} {
		if err := checkName(s); err != nil { // a results file can come from elsewhere
			return nil, fmt.Errorf("%s: trial: %w", d.path, err)
		}
	}
	d.read.Reset()
	d.read.Grow(bytes.MinRead) // an empty file is not nil
	err := foreign.ReadInto(&d.read, filepath.Join(d.path, trial, name), maxRaw)
	if !errors.Is(err, fs.ErrNotExist) {
		return d.read.Bytes(), err
	}
	if d.rounds == nil {
		if err := d.index(); err != nil {
			return nil, err
		}
	}
	file := d.rounds[trial]
	if file == "" {
		return nil, nil
	}
	if err := d.turnTo(file); err != nil {
		return nil, err
	}
	f, err := d.open.Open(trial + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	_, err = d.read.ReadFrom(io.LimitReader(f, maxRaw))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %s of trial %s: %w", file, name, trial, err)
	}
	return d.read.Bytes(), nil
}

// index finds the trials of all rounds in the directories at the ends of their files. It reports a file
// that cannot be read once, and finds the others.
func (d *RawDir) index() (err error) {
	d.rounds = map[string]string{}
	entries, _ := os.ReadDir(d.path) // a run without raw files has no directory
	for _, e := range entries {
		file := filepath.Join(d.path, e.Name())
		if filepath.Ext(file) != roundExt {
			continue
		}
		if bad := d.turnTo(file); bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		for _, f := range d.open.File {
			d.rounds[trialOf(f.Name)] = file
		}
	}
	return err
}

func (d *RawDir) turnTo(file string) error {
	if d.opened == file {
		return nil
	}
	if err := d.Close(); err != nil {
		return err
	}
	f, err := foreign.Open(file, maxResults)
	if err != nil {
		return fmt.Errorf("raw bytes of a round: %w", err)
	}
	info, err := f.Stat()
	var z *zip.Reader
	if err == nil {
		z, err = zip.NewReader(f, info.Size())
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("%s: raw bytes of a round: %w", file, err)
	}
	d.open, d.opened, d.file = z, file, f
	return nil
}

// Close closes the file that Read opened last, if any.
func (d *RawDir) Close() error {
	if d.open == nil {
		return nil
	}
	err := d.file.Close()
	d.open, d.opened, d.file = nil, "", nil
	return err
}
