package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/record"
)

// Append records the results of trials, such as those of a round: a line each, in one write, flushed to
// the disk once. After an error none is recorded and nothing of their lines is left. A run killed meanwhile
// can have recorded the first ones.
func (d *Dir) Append(rs ...*record.Result) error {
	var lines bytes.Buffer
	for _, r := range rs {
		if err := record.Write(&lines, r); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
		if err := checkName(r.Trial); err != nil {
			return fmt.Errorf("%s: trial: %w", d.path, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	for i, r := range rs {
		if d.done[r.Trial] || slices.ContainsFunc(rs[:i], func(other *record.Result) bool { return other.Trial == r.Trial }) {
			return fmt.Errorf("%s: trial %s is already recorded", d.path, r.Trial)
		}
	}
	if len(rs) == 0 {
		return nil
	}
	if err := d.intact(); err != nil {
		d.broken = err
		return err
	}
	if err := d.append(lines.Bytes()); err != nil {
		return err
	}
	d.size += int64(lines.Len())
	for _, r := range rs {
		d.done[r.Trial] = true
	}
	return nil
}

func (d *Dir) append(line []byte) error {
	n, err := d.write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = d.sync()
	}
	if err == nil {
		return nil
	}
	// A line that is possibly not on the disk counts as not written.
	err = fmt.Errorf("%s: the trial is not recorded: %w; %s, then %w", d.results.Name(), err, Remedy(err), Resume{d.path})
	if cutErr := errors.Join(d.results.Truncate(d.size), d.sync()); cutErr != nil {
		err = errors.Join(err, fmt.Errorf("%s: cannot remove the incomplete last line before --resume: %w", d.results.Name(), cutErr))
		d.broken = err
	}
	return err
}

// ErrGone means that the directory of a run is no longer the one in which it began.
var ErrGone = errors.New("the results directory was removed or replaced during the run, or its results.jsonl was shortened; nothing more is recorded")

// intact returns ErrGone unless the path still leads to results, with all that the run has written.
func (d *Dir) intact() error {
	mine, err := d.results.Stat()
	if err != nil {
		return nil // writing will say what is wrong
	}
	if at, err := os.Stat(filepath.Join(d.path, resultsFile)); err != nil || !os.SameFile(at, mine) || mine.Size() < d.size {
		return fmt.Errorf("%s: %w", d.path, ErrGone)
	}
	return nil
}

// OrGone returns why a file could not be written or read: ErrGone, or else err.
func (d *Dir) OrGone(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if gone := d.intact(); err != nil && gone != nil {
		return gone
	}
	return err
}

func (d *Dir) notKept(err error) error {
	return d.OrGone(fmt.Errorf("%s: %w; %s, then %w", d.path, err, Remedy(err), Resume{d.path}))
}

// Remedy is what helps where a file cannot be written.
func Remedy(err error) string {
	switch {
	case errors.Is(err, unix.EFBIG):
		return "raise the limit of a file's size (ulimit -f)"
	case errors.Is(err, unix.EIO):
		return "check the device below it"
	}
	return "make room"
}

// Logs creates the directory for the logs of a network's services, and returns a path that leads to it until Close,
// even if a directory above it is replaced.
func (d *Dir) Logs(network string) (string, error) {
	if err := checkName(network); err != nil {
		return "", fmt.Errorf("%s: logs of network %q: %w", d.path, network, err)
	}
	dir := filepath.Join(logsDir, network)
	if err := d.root.MkdirAll(dir, 0o777); err != nil {
		return "", d.notKept(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logs[network] == nil {
		f, err := d.root.Open(dir)
		if err != nil {
			return "", fmt.Errorf("%s: logs of network %q: %w", d.path, network, err)
		}
		d.logs[network] = f
	}
	return fmt.Sprintf("/proc/self/fd/%d", d.logs[network].Fd()), nil
}

// File writes study.yaml, a report, hosts/<host>.json or plans/<network>.jsonl: name is a file
// name, optionally below hosts or plans. See WriteFile.
func (d *Dir) File(name string, b []byte) error {
	folder, base, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		folder, base = "", name
	case folder != "hosts" && folder != "plans":
		return fmt.Errorf("%s: file %q: want a folder hosts or plans", d.path, name)
	}
	if err := checkName(base); err != nil {
		return fmt.Errorf("%s: file: %w", d.path, err)
	}
	if !ok && (base == resultsFile || base == cutFile || base == logFile || base == rawDir || base == "hosts" || base == "plans") {
		return fmt.Errorf("%s: file %q: want a file that is written as a whole", d.path, name)
	}
	var err error
	if folder != "" {
		err = d.root.MkdirAll(folder, 0o777)
	}
	if err == nil {
		err = replace(d.root, filepath.Join(folder, base), b)
	}
	if err != nil {
		return d.OrGone(fmt.Errorf("%s: %w", d.path, err))
	}
	return nil
}

// Describe writes hosts/NAME.json. If the file is there, from an earlier part of the run, and not the same, it
// stays, and the new one is NAME-2.json, and so on: each part keeps the facts under which it ran. kept names
// the file.
func (d *Dir) Describe(name string, facts any, same func(before []byte) bool) (kept string, err error) {
	for n := 1; ; n++ {
		if kept = "hosts/" + name + ".json"; n > 1 {
			kept = fmt.Sprintf("hosts/%s-%d.json", name, n)
		}
		b, err := d.ReadFile(kept)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return kept, d.JSON(kept, facts)
		case err != nil || same(b):
			return kept, err
		}
	}
}

func (d *Dir) JSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return d.File(name, append(b, '\n'))
}

// WriteFile replaces a file atomically: readers of path see either the old or the new bytes, even
// after a power cut. Each path can have only one writer at a time.
func WriteFile(path string, b []byte) error {
	return Stream(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// Stream is WriteFile of bytes that need not be in memory.
func Stream(path string, write func(io.Writer) error) error {
	root, err := foreign.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(stream(root, filepath.Base(path), write), root.Close())
}

// tempEnd ends the names of files that are being written, which begin with a dot.
const tempEnd = ".tmp"

// replace is WriteFile below root, and stream is Stream.
func replace(root *os.Root, name string, b []byte) error {
	return stream(root, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func stream(root *os.Root, name string, write func(io.Writer) error) error {
	dir, base := filepath.Split(name)
	temp := filepath.Join(dir, "."+base+tempEnd)
	f, err := fresh(root, temp)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	at, err := root.Open(filepath.Join(".", dir))
	if err != nil {
		return err
	}
	return errors.Join(at.Sync(), at.Close())
}

// fresh creates a file that did not exist. What a killed run, or someone else, has left under the name goes.
func fresh(root *os.Root, name string) (*os.File, error) {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// own opens a file to write to its end. It refuses what someone else can have put in its place to redirect
// the writer: links of both kinds, devices and pipes.
func own(root *os.Root, name string, flag int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file (%v)", filepath.Join(root.Name(), name), info.Mode().Type())
	}
	f, err := root.OpenFile(name, flag|unix.O_NONBLOCK, 0o666) // a pipe would wait for its reader
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 1 {
		f.Close()
		return nil, cmp.Or(err, fmt.Errorf("%s: has %d names, so that writing to it would change another file", f.Name(), stat.Nlink))
	}
	return f, nil
}

// syncDir makes the names in dir survive a power cut.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// maxName is NAME_MAX less what WriteFile adds (include/uapi/linux/limits.h).
const maxName = 255 - len(".") - len(tempEnd)

// checkName accepts names that are a single visible file on every file system.
func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("empty name")
	case len(s) > maxName:
		return fmt.Errorf("name %.20q… has %d bytes, more than %d", s, len(s), maxName)
	case s[0] == '.':
		return fmt.Errorf("name %q begins with a dot", s)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return fmt.Errorf("name %q: %q cannot be in a file name", s, r)
		}
	}
	return nil
}
