package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/failure"
)

// The first SIGTERM ends a command also while it waits for its input, which no context knows.
func TestReaderEnds(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // a writer that never writes
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := start(t, nil, "import", "-o", filepath.Join(dir, "out"), pipe)
	eventually(t, "it reads", func() bool { return p.opens(pipe) })
	begun := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := p.statusWithin(t, patience); got != int(failure.Interrupted) {
		t.Errorf("status %d, stderr %s", got, p.stderr.String())
	}
	if took := time.Since(begun); took > 10*time.Second { // 1 s, on a machine that has the time
		t.Errorf("it took %v", took)
	}
}

// opens reports whether p has a file open.
func (p *process) opens(name string) bool {
	fds, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.Process.Pid), "fd", "*"))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == name {
			return true
		}
	}
	return false
}
