package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/hostns"
)

// A logFile takes what a program prints.
type logFile struct {
	*os.File
	from int64 // offset of its own output: a resumed run appends to the earlier log
}

// openLog opens the log of a program in p once: a later look at its name could find another file.
func (l *lab) openLog(p *place, program string) (*logFile, error) {
	name := filepath.Join(l.logs, p.name+"-"+program+".log")
	if l.logs == "" {
		name = fmt.Sprintf("/proc/%d/root%s/%s.log", p.host.PID(), hostns.Dir, program)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &stat); err == nil && (stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink != 1) {
		err = errors.New("not a regular file with a single name; remove it")
	}
	from := int64(0)
	if err == nil {
		from, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return &logFile{f, from}, nil
}

// logged returns the last most bytes of the log, or all of it if most is 0.
func (f *logFile) logged(most int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := f.from
	if most > 0 {
		from = max(from, info.Size()-most)
	}
	return io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
}

// Limits on the part of a log that an error quotes.
const (
	tailBytes = 2000
	tailLines = 5
)

func (f *logFile) tail() string {
	b, err := f.logged(tailBytes)
	if err != nil {
		return fmt.Sprintf(" (cannot read its log: %v)", err)
	}
	return quoted(string(b))
}

// quoted returns the last lines of a program's output for an error.
func quoted(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-tailLines):], "; ")
}
