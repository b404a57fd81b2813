package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/foreign"
)

const (
	maxBytes = 4 << 20  // of the file: some 400 runs of 20 cells. Beyond it, the older half is forgotten
	maxLine  = 64 << 10 // bytes
)

// Read returns the entries of a file, and how many of its lines it cannot read. A missing file is an
// empty history.
func Read(file string) (entries []Entry, bad int, _ error) {
	b, err := newest(file, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read the history: %w", err)
	}
	entries, bad = Parse(b)
	return entries, bad, nil
}

// newest returns the last lines of a file, of at most so many bytes together: something else can have filled it.
func newest(file string, most int64) ([]byte, error) {
	f, err := foreign.Open(file, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	whole := info.Size() <= most
	if !whole {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if !whole {
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	return b, err
}

// Parse reads lines and counts those that it cannot read. Empty lines do not count.
func Parse(b []byte) (entries []Entry, bad int) {
	for line := range bytes.Lines(b) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e Entry
		if len(line) > maxLine || json.Unmarshal(line, &e) != nil || e.check() != nil {
			bad++
			continue
		}
		entries = append(entries, e)
	}
	return entries, bad
}

// Append adds entries in one write, and forgets the oldest if the file becomes too large. Processes that append at
// the same time wait for each other; where the file system cannot lock, the write itself is atomic
// (O_APPEND, open(2)) and only forgetting can lose a run.
func Append(file string, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, e := range entries {
		if err := e.check(); err != nil {
			return fmt.Errorf("cannot remember %s: %w", e.Key(), err)
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil { // 0700: XDG
		return fmt.Errorf("cannot remember the run: %w", err)
	}
	if lock, err := os.Open(dir); err == nil { // the directory: forgetting replaces the file
		defer lock.Close()
		if err := wait(lock); err != nil {
			return fmt.Errorf("cannot remember the run: %s: %w", dir, err)
		}
	}
	if err := appendTo(file, b.Bytes()); err != nil {
		return fmt.Errorf("cannot remember the run: %w", err)
	}
	if err := forget(file); err != nil {
		return fmt.Errorf("cannot shorten the history: %w; delete %s", err, file)
	}
	return nil
}

// lockTime bounds the wait for others, who need milliseconds: one that was stopped can hold the lock for ever.
const lockTime = 2 * time.Second

var errHeld = fmt.Errorf("another process has locked it for more than %v", lockTime)

// wait locks a directory. A file system that cannot lock is as good as locked.
func wait(dir *os.File) error {
	for until := time.Now().Add(lockTime); ; time.Sleep(lockTime / 100) {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil
		}
		if time.Now().After(until) {
			return errHeld
		}
	}
}

func appendTo(file string, lines []byte) (err error) {
	f, err := foreign.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := foreign.Check(f, math.MaxInt64); err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := []byte{'\n'}
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			lines = append([]byte{'\n'}, lines...) // a writer was killed in the middle of a line
		}
	}
	_, err = f.Write(lines)
	return err
}

// forget shortens a file that is too large. Readers see the old file or the new one.
func forget(file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Size() <= maxBytes {
		return err
	}
	kept, err := newest(file, maxBytes/2)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".spread-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // in vain after the rename
	_, err = f.Write(kept)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
