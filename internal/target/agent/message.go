package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// A message is one line of JSON. The coordinator asks, the agent answers; both
// sides send at any time, and ID says which request a message belongs to.
type message struct {
	ID int `json:"id"` // chosen by the coordinator

	// Requests. Hello is the first one: an agent is silent until it is greeted,
	// because what it said before someone listened could be lost. After Run any
	// number of In, EOF and Signal can follow with its ID.
	Hello  *hello          `json:"hello,omitempty"`
	Run    *command        `json:"run,omitempty"`
	In     []byte          `json:"in,omitempty"` // standard input
	EOF    bool            `json:"eof,omitempty"`
	Signal syscall.Signal  `json:"signal,omitempty"` // for the program and its process group
	Read   string          `json:"read,omitempty"`   // a file, without the leading slash
	Sample []string        `json:"sample,omitempty"` // sources of package sample
	Facts  bool            `json:"facts,omitempty"`
	Tool   *facts.ToolInfo `json:"tool,omitempty"`  // a program to find
	Step   *plan.Step      `json:"step,omitempty"`  // to apply
	State  *plan.State     `json:"state,omitempty"` // to check

	// Answers. A program sends Out, Err and readings at its marks, and then Exit;
	// every other request gets one Answer. Failed replaces either.
	Out     []byte              `json:"out,omitempty"`
	Err     []byte              `json:"err,omitempty"`
	Reading *target.Reading     `json:"reading,omitempty"`
	Exit    *syscall.WaitStatus `json:"exit,omitempty"`
	Answer  *answer             `json:"answer,omitempty"`
	Failed  string              `json:"failed,omitempty"`
	Errno   syscall.Errno       `json:"errno,omitempty"` // of Failed, where the kernel gave one
}

// hello greets an agent.
type hello struct {
	Name string `json:"name"` // of the node that it is
	// Env replaces the agent's environment; nil leaves it. A virtual machine that
	// shares the files of its host shares its environment, too.
	Env []string `json:"env,omitempty"`
}

// A command is a program that an agent runs.
type command struct {
	Argv    []string `json:"argv"`              // see target.Cmd
	Env     []string `json:"env,omitempty"`     // added to the agent's
	Dir     string   `json:"dir,omitempty"`     // absolute; "" is "/"
	CPUs    []int    `json:"cpus,omitempty"`    // none: any
	Marks   []string `json:"marks,omitempty"`   // see target.Mark
	Sources []string `json:"sources,omitempty"` // likewise
	Stdin   bool     `json:"stdin,omitempty"`   // it has one
}

// An answer holds what was asked for.
type answer struct {
	Host    string         `json:"host,omitempty"` // target.Host.ID; to hello
	CPUs    []int          `json:"cpus,omitempty"` // likewise
	File    []byte         `json:"file,omitempty"`
	Reading target.Reading `json:"reading,omitzero"`
	Facts   facts.Facts    `json:"facts,omitzero"`
	Path    string         `json:"path,omitempty"` // of a tool
	Version string         `json:"version,omitempty"`
	Problem string         `json:"problem,omitempty"` // why the version is not known
}

// Bounds on what the other side can make this one hold, bytes.
const (
	maxMessage = 16 << 20
	maxFile    = maxMessage / 2 // base64 makes a file a third longer
)

// ErrMessage reports that the other side does not speak the protocol.
var ErrMessage = errors.New("it sent something that is not a message")

// A Reader reads messages: lines of JSON.
type Reader struct{ lines *bufio.Scanner }

// NewReader returns a reader of conn. It can read more of conn than it returns.
func NewReader(conn io.Reader) Reader {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxMessage)
	lines.Split(func(b []byte, _ bool) (int, []byte, error) { return bufio.ScanLines(b, false) }) // the end is not the end of a line
	return Reader{lines}
}

// Read reads the next message into m. It returns io.EOF at the end, also in the middle
// of a line, and wraps ErrMessage where there is none.
func (r Reader) Read(m any) error {
	for r.lines.Scan() {
		line := bytes.TrimSpace(r.lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, m); err != nil {
			return fmt.Errorf("%w: %w: %.80q", ErrMessage, err, line)
		}
		return nil
	}
	if errors.Is(r.lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: a line has more than %d bytes", ErrMessage, maxMessage)
	}
	return cmp.Or(r.lines.Err(), io.EOF)
}

// A sender sends messages from several goroutines.
type sender struct {
	mu   sync.Mutex
	conn io.Writer
	// stuck ends the connection when the other side accepts nothing for answerTime;
	// nil waits for ever.
	stuck func()
}

// send sends m. Who can ignore its error ends with the connection anyway.
func (s *sender) send(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck != nil {
		defer time.AfterFunc(answerTime, s.stuck).Stop()
	}
	return json.NewEncoder(s.conn).Encode(m)
}

// reply answers a request.
func (s *sender) reply(id int, r answer, err error) {
	m := message{ID: id, Answer: &r}
	if err != nil {
		m = message{ID: id, Failed: err.Error()}
		errors.As(err, &m.Errno)
	}
	_ = s.send(m)
}

// An inbox holds messages until someone takes them. Putting one in never blocks,
// because the goroutine that does so reads for all others, too.
type inbox struct {
	mu    sync.Mutex
	queue []message
	held  int           // size of queue, bytes
	ended error         // why no message follows
	some  chan struct{} // holds a value when there is something to take
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

// emptyMessage is roughly what a message without content takes, bytes.
const emptyMessage = 512

// put returns how much is held then, bytes.
func (b *inbox) put(m message) (held int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, m)
	b.held += emptyMessage + len(m.In) + len(m.Out) + len(m.Err)
	b.wake()
	return b.held
}

// end announces that no message follows, and why.
func (b *inbox) end(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = why
	b.wake()
}

func (b *inbox) wake() {
	select {
	case b.some <- struct{}{}:
	default:
	}
}

// take returns what is there, and why nothing follows it, if so.
func (b *inbox) take() (ms []message, ended error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ms, b.queue, b.held = b.queue, nil, 0
	return ms, b.ended
}
