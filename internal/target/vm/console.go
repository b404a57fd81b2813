package vm

import (
	"bytes"
	"strings"
	"sync"

	"github.com/weir-bench/weir/internal/foreign"
)

// tailLines is the number of console lines kept: a kernel panic prints 35, with its reason.
const tailLines = 40

// A tail keeps the last lines written to it.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  []byte // incomplete line
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(append(t.part, b...), []byte("\n"))
	last := lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		t.add(line)
	}
	t.part = last[max(0, len(last)-4096):] // a console can print an endless line
	return len(b), nil
}

func (t *tail) add(line []byte) {
	s := foreign.Text(strings.TrimSpace(string(line))) // firmware draws on consoles
	if s == "" {
		return
	}
	if t.lines = append(t.lines, s); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// String includes an unfinished last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(t.part)
	t.part = nil
	return strings.Join(t.lines, "\n")
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
