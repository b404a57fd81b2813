// Package foreign takes in what others wrote: files of an ordinary type and a bounded size, and text that
// is safe to print. It must not know what files or text mean.
package foreign

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// ReadFile reads a regular file of at most limit bytes. A device or a pipe, which can have no end, is an
// error, and so is a longer file. It never waits for another program.
func ReadFile(name string, limit int64) ([]byte, error) {
	var b bytes.Buffer
	err := ReadInto(&b, name, limit)
	return b.Bytes(), err
}

// ReadInto is ReadFile into a buffer, after what it holds, for readers of many files.
func ReadInto(b *bytes.Buffer, name string, limit int64) error {
	f, err := Open(name, limit)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := b.ReadFrom(io.LimitReader(f, limit+1)) // it can grow meanwhile
	if err == nil && n > limit {
		err = fmt.Errorf("%s: longer than %d bytes", name, limit)
	}
	return err
}

// Open opens a file as ReadFile does. The caller bounds what it keeps of a file that grows.
func Open(name string, limit int64) (*os.File, error) {
	f, err := OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := Check(f, limit); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFrom is ReadFile within root, which no symbolic link leaves.
func ReadFrom(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := Check(f, limit); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Check returns an error unless an open file is a regular one of at most limit bytes.
func Check(f *os.File, limit int64) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: f.Name(), Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file (%v); copy its content into one", filepath.Clean(f.Name()), info.Mode().Type())
	case info.Size() > limit:
		return fmt.Errorf("%s: %d bytes, more than %d", f.Name(), info.Size(), limit)
	}
	return nil
}

// Text makes characters visible that would act on a terminal or reorder its text instead of being seen:
// control characters except tab and newline, overrides of the writing direction, and bytes that are not
// UTF-8. They become escapes such as \x1b, as in Go. Lines can end in CRLF.
func Text(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n") // as other systems and terminals end lines
	if !strings.ContainsFunc(s, acts) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !acts(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func acts(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}
