package vm

import (
	"bytes"
	"strings"
	"sync"
	"syscall"
)

// A message is one line of JSON between a guest and its host.
type message struct {
	// ID is of the program or file that a message is about, chosen by the host; 0
	// is the guest itself.
	ID int `json:"id,omitempty"`
	// To the guest: its root, once and first; then programs, each with any number of
	// what follows it, and files to read.
	Root    *root          `json:"root,omitempty"`
	Command *Command       `json:"command,omitempty"`
	In      []byte         `json:"in,omitempty"` // standard input
	EOF     bool           `json:"eof,omitempty"`
	Signal  syscall.Signal `json:"signal,omitempty"` // for the program and what it started
	Read    string         `json:"read,omitempty"`   // path of a file, without the first slash
	// To the host: that the guest takes orders and what it is; what a program prints
	// and how it ended; a file; and why something could not be done.
	Ready  bool                `json:"ready,omitempty"`
	About  map[string]string   `json:"about,omitempty"`
	Out    []byte              `json:"out,omitempty"`
	Err    []byte              `json:"err,omitempty"`
	Exit   *syscall.WaitStatus `json:"exit,omitempty"`
	File   []byte              `json:"file,omitempty"`
	Done   bool                `json:"done,omitempty"` // with File, which may be empty
	Failed string              `json:"failed,omitempty"`
	Errno  syscall.Errno       `json:"errno,omitempty"` // of Failed, where there is one
}

// An inbox holds messages until somebody takes them. It never blocks who puts
// one in: that reads for all others, too.
type inbox struct {
	mu    sync.Mutex
	queue []message
	ended bool
	some  chan struct{} // one is in it when there is something to take
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

func (b *inbox) put(m message) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	b.wake()
}

// end says that no message will follow.
func (b *inbox) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.wake()
}

func (b *inbox) wake() {
	select {
	case b.some <- struct{}{}:
	default:
	}
}

// take returns what is there, and whether that was the last.
func (b *inbox) take() (ms []message, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ms, b.queue = b.queue, nil
	return ms, b.ended
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
