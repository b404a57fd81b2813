package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-bench/weir/internal/hostns"
)

// openLog creates the log file of d.
func (l *lab) openLog(p *place, d *service) (f *os.File, err error) {
	if l.logs == "" {
		d.log = fmt.Sprintf("/proc/%d/root%s/%s.log", p.host.PID(), hostns.Dir, d.Name)
	} else {
		d.log = filepath.Join(l.logs, d.in+"-"+d.Name+".log")
	}
	f, err = os.OpenFile(d.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err == nil {
		d.from, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("log of service %s: %w", d.Name, err)
	}
	return f, nil
}

// logged returns the log of d: its last most bytes, or all of it if most is 0.
func (d *service) logged(most int64) ([]byte, error) {
	f, err := os.Open(d.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	from := d.from
	if most > 0 {
		from = max(from, size-most)
	}
	return io.ReadAll(io.NewSectionReader(f, from, size-from))
}

// An error quotes this much of a log.
const (
	tailBytes = 2000
	tailLines = 5
)

// tail returns the last lines of the log, as quoted does.
func (d *service) tail() string {
	b, err := d.logged(tailBytes)
	if err != nil {
		return fmt.Sprintf(" (cannot read its log: %v)", err)
	}
	return quoted(string(b))
}

// quoted returns the last lines of a program's output, for the end of an error.
func quoted(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-tailLines):], "; ")
}
