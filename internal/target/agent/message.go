package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
)

// A message is one line of JSON. The coordinator sends requests, the agent answers. Both sides send
// at any time, and ID connects an answer to its request.
type message struct {
	ID int `json:"id"` // chosen by the coordinator

	// Requests. Hello comes first: the agent is silent until then, because output before someone
	// listens could be lost. After Run, any number of In, EOF and Signal can follow with its ID.
	Hello  *hello          `json:"hello,omitempty"`
	Run    *command        `json:"run,omitempty"`
	In     []byte          `json:"in,omitempty"` // standard input
	EOF    bool            `json:"eof,omitempty"`
	Signal syscall.Signal  `json:"signal,omitempty"` // sent to the program's process group
	Read   string          `json:"read,omitempty"`   // a file, without the leading slash
	Sample []string        `json:"sample,omitempty"` // sources of package sample
	Asked  *settings       `json:"settings,omitempty"`
	Facts  bool            `json:"facts,omitempty"`
	Tool   *facts.ToolInfo `json:"tool,omitempty"`  // a program to find
	Step   *plan.Step      `json:"step,omitempty"`  // to apply
	State  *plan.State     `json:"state,omitempty"` // to check
	Links  bool            `json:"links,omitempty"`
	Toward netip.Addr      `json:"toward,omitzero"` // to find the source address and device for it

	// Answers. A program sends Out, Err and Readings, then Exit; every other request gets one
	// Answer. Failed replaces Exit and Answer.
	Out     []byte              `json:"out,omitempty"`
	Err     []byte              `json:"err,omitempty"`
	Reading *target.Reading     `json:"reading,omitempty"`
	Exit    *syscall.WaitStatus `json:"exit,omitempty"`
	Why     string              `json:"why,omitempty"` // what is known of an Exit besides its status
	Answer  *answer             `json:"answer,omitempty"`
	Failed  string              `json:"failed,omitempty"`
	Errno   syscall.Errno       `json:"errno,omitempty"` // of Failed, if the kernel gave one

	size int // of the line that was read, bytes
}

type hello struct {
	Name string `json:"name"` // of the agent's node
	// Env replaces the agent's environment, as a guest that shares its host's files needs; nil
	// keeps it.
	Env words `json:"env,omitempty"`
}

// settings are what target.Node.Settings asks for.
type settings struct {
	Devs []string     `json:"devs"`
	Far  []netip.Addr `json:"far"`
}

// A command is a program for an agent to run.
type command struct {
	Argv    words    `json:"argv"`              // see target.Cmd
	Env     words    `json:"env,omitempty"`     // added to the agent's
	Dir     string   `json:"dir,omitempty"`     // absolute; "" is "/"
	CPUs    []int    `json:"cpus,omitempty"`    // none: any
	Marks   []string `json:"marks,omitempty"`   // see target.Mark
	Sources []string `json:"sources,omitempty"` // see target.Mark
	Stdin   bool     `json:"stdin,omitempty"`   // has standard input
}

// words are strings of any bytes, which a string of JSON cannot hold.
type words []string

func (w words) MarshalJSON() ([]byte, error) {
	raw := make([][]byte, len(w))
	for i, s := range w {
		raw[i] = []byte(s)
	}
	return json.Marshal(raw)
}

func (w *words) UnmarshalJSON(b []byte) error {
	var raw [][]byte
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*w = nil
	for _, s := range raw {
		*w = append(*w, string(s))
	}
	return nil
}

// An answer holds the requested data.
type answer struct {
	Host    string         `json:"host,omitempty"` // target.Host.ID; to hello
	CPUs    []int          `json:"cpus,omitempty"` // answers Hello, as Host and About do
	About   About          `json:"about,omitzero"`
	File    []byte         `json:"file,omitempty"`
	Reading target.Reading `json:"reading,omitzero"`
	Place   evidence.Node  `json:"place,omitzero"` // answers Asked
	Facts   facts.Facts    `json:"facts,omitzero"`
	Path    string         `json:"path,omitempty"` // of a tool
	Version string         `json:"version,omitempty"`
	Problem string         `json:"problem,omitempty"` // why the version is unknown
	Links   []Link         `json:"links,omitempty"`
	From    netip.Addr     `json:"from,omitzero"` // answers Toward, as Dev does
	Dev     string         `json:"dev,omitempty"`
}

// A Link is a network device.
type Link = local.Link

// An About is what an agent reports about itself and its surroundings.
type About struct {
	Machine  string `json:"machine,omitempty"`  // architecture, as `uname -m` prints it
	Hostname string `json:"hostname,omitempty"` // as `uname -n` prints it
	// SSHConnection is the agent's environment variable SSH_CONNECTION, as sshd(8) sets it: the
	// client's address and port, then the machine's; "" without sshd.
	SSHConnection string `json:"sshConnection,omitempty"`
	// Network identifies the agent's network namespace on its machine, as in "net:[4026531840]". Two
	// agents with the same Host.ID and Network are in one place.
	Network string `json:"network,omitempty"`
}

// Bounds on the memory that the other side can occupy, bytes.
const (
	maxMessage = 16 << 20
	maxFile    = maxMessage / 2 // base64 makes a file a third longer
	maxPlain   = 4 << 20        // of a message without a file or what a program says
)

// Bounds on what a message holds: a value that takes three bytes in it can take hundreds in memory.
const (
	maxValues  = 100_000 // and keys: the counters of a machine with 10,000 threads
	maxLinks   = 4096
	maxCPUs    = 8192 // of the kernel (NR_CPUS)
	maxMissing = 1024
)

// check returns an error for a message, of size bytes, that no agent sends.
func (m *message) check(size int) error {
	bound := func(what string, n, most int) error {
		if n > most {
			return fmt.Errorf("%d %s, more than %d", n, what, most)
		}
		return nil
	}
	var errs []error
	bulk := m.In != nil || m.Out != nil || m.Err != nil || m.Step != nil // a step can write a file
	if m.Reading != nil {
		errs = append(errs, bound("missing values", len(m.Reading.Missing), maxMissing))
	}
	if a := m.Answer; a != nil {
		bulk = bulk || a.File != nil
		errs = append(errs, bound("links", len(a.Links), maxLinks), bound("CPUs", len(a.CPUs), maxCPUs), bound("missing values", len(a.Reading.Missing), maxMissing))
	}
	if !bulk {
		errs = append(errs, bound("bytes without a file", size, maxPlain))
	}
	return errors.Join(errs...)
}

// ErrMessage means that the other side does not speak the protocol.
var ErrMessage = errors.New("the other side sent an invalid message")

// A Reader reads messages.
type Reader struct{ lines *bufio.Scanner }

// NewReader returns a reader of conn. It can buffer more of conn than it returns.
func NewReader(conn io.Reader) Reader {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxMessage)
	lines.Split(func(b []byte, _ bool) (int, []byte, error) { return bufio.ScanLines(b, false) }) // EOF does not end a line
	return Reader{lines}
}

// Read reads a message. It returns io.EOF even within a line, and wraps ErrMessage if invalid.
func (r Reader) Read(m any) error {
	for r.lines.Scan() {
		line := bytes.TrimSpace(r.lines.Bytes())
		if len(line) == 0 {
			continue
		}
		err := bounds.Values(line, maxValues)
		if err == nil {
			err = json.Unmarshal(line, m)
		}
		if one, ok := m.(*message); ok && err == nil {
			one.size = len(line)
			err = one.check(len(line))
		}
		if err != nil {
			return fmt.Errorf("%w: %w: %.80q", ErrMessage, err, line)
		}
		return nil
	}
	if errors.Is(r.lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: a line has more than %d bytes", ErrMessage, maxMessage)
	}
	return cmp.Or(r.lines.Err(), io.EOF)
}

// A sender is safe for concurrent use.
type sender struct {
	mu   sync.Mutex
	conn io.Writer
	// stuck ends the connection when it accepts nothing for answerTime; nil waits forever.
	stuck func()
}

// send sends m. Callers that end with the connection anyway can ignore the error.
func (s *sender) send(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck != nil {
		defer time.AfterFunc(answerTime, s.stuck).Stop()
	}
	return json.NewEncoder(s.conn).Encode(m)
}

func (s *sender) reply(id int, r answer, err error) {
	m := message{ID: id, Answer: &r}
	if err != nil {
		m = message{ID: id, Failed: err.Error()}
		errors.As(err, &m.Errno)
	}
	_ = s.send(m)
}

// An inbox queues messages. put never blocks: its goroutine reads for all callers.
type inbox struct {
	mu    sync.Mutex
	queue []message
	held  int           // size of queue, bytes
	ended error         // why no message follows
	some  chan struct{} // holds a value when take has something to return
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

// emptyMessage approximates the size of an empty message, bytes.
const emptyMessage = 512

// perByte is what a byte of a reading's counters can take once it is decoded, bytes.
const perByte = 16

// put returns the queue's size, bytes.
func (b *inbox) put(m message) (held int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, m)
	b.held += emptyMessage + len(m.In) + len(m.Out) + len(m.Err)
	if m.Reading != nil || m.Answer != nil {
		b.held += perByte * m.size
	}
	b.wake()
	return b.held
}

// end records why no more messages follow.
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

// take empties the queue and returns the reason if nothing follows.
func (b *inbox) take() (ms []message, ended error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ms, b.queue, b.held = b.queue, nil, 0
	return ms, b.ended
}
