package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	if err := d.append(lines.Bytes()); err != nil {
		return err
	}
	d.size += int64(lines.Len())
	for _, r := range rs {
		d.done[r.Trial] = true
		d.lines = append(d.lines, *r)
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
	err = fmt.Errorf("%s: the trial is not recorded: %w; make room, then continue with --resume %s", d.results.Name(), err, d.path)
	if cutErr := errors.Join(d.results.Truncate(d.size), d.sync()); cutErr != nil {
		err = errors.Join(err, fmt.Errorf("%s: cannot remove the incomplete last line before --resume: %w", d.results.Name(), cutErr))
		d.broken = err
	}
	return err
}

// Logs creates the directory for the logs of a network's services, and returns its path.
func (d *Dir) Logs(network string) (string, error) {
	if err := checkName(network); err != nil {
		return "", fmt.Errorf("%s: logs of network %q: %w", d.path, network, err)
	}
	dir := filepath.Join(d.path, logsDir, network)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("%s: %w", d.path, err)
	}
	return dir, nil
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
	if folder != "" {
		if err := os.MkdirAll(filepath.Join(d.path, folder), 0o777); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
	}
	return WriteFile(filepath.Join(d.path, folder, base), b)
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
	dir, base := filepath.Split(path)
	temp := filepath.Join(dir, "."+base+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
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
const maxName = 255 - len(".") - len(".tmp")

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
