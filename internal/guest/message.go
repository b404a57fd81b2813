package guest

import (
	"bytes"
	"strings"
	"sync"
	"syscall"
)

// A message is one line of JSON between a guest and its host.
type message struct {
	// To the guest: one command, then any number of signals for it.
	Command *Command       `json:"command,omitempty"`
	Root    *root          `json:"root,omitempty"` // with the command
	Signal  syscall.Signal `json:"signal,omitempty"`
	// To the host: that it takes orders, what the command prints, and one of how
	// it ended and why it could not be run.
	Ready  bool   `json:"ready,omitempty"`
	Out    []byte `json:"out,omitempty"`
	Err    []byte `json:"err,omitempty"`
	Exit   *int   `json:"exit,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// tailLines is how much of a console is kept: the last words of a kernel that
// panics, with its reason, are 35 lines.
const tailLines = 40

// A tail keeps the last lines that were written to it.
type tail struct {
	mu    sync.Mutex
	lines []string
	part  []byte // of a line
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, b...)
	for {
		i := bytes.IndexByte(t.part, '\n')
		if i < 0 {
			break
		}
		t.add(t.part[:i])
		t.part = t.part[i+1:]
	}
	if over := len(t.part) - 4096; over > 0 { // a console that prints no line end
		t.part = t.part[over:]
	}
	return len(b), nil
}

func (t *tail) add(line []byte) {
	s := strings.TrimSpace(printable(line))
	if s == "" {
		return
	}
	if t.lines = append(t.lines, s); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

// printable leaves out what moves a cursor: firmware draws on consoles.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "?"))
}

// String returns the lines, the last one too that has no end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(t.part)
	t.part = nil
	return strings.Join(t.lines, "\n")
}
