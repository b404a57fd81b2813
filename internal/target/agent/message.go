package agent

import (
	"sync"
	"syscall"

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
	Run    *Command        `json:"run,omitempty"`
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

// A Command is a program that an agent runs.
type Command struct {
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
	Host    string          `json:"host,omitempty"` // target.Host.ID; to hello
	CPUs    []int           `json:"cpus,omitempty"` // likewise
	File    []byte          `json:"file,omitempty"`
	Reading *target.Reading `json:"reading,omitempty"`
	Facts   *facts.Facts    `json:"facts,omitempty"`
	Path    string          `json:"path,omitempty"` // of a tool
	Version string          `json:"version,omitempty"`
	Problem string          `json:"problem,omitempty"` // why the version is not known
}

// An inbox holds messages until someone takes them. Putting one in never blocks,
// because the goroutine that does so reads for all others, too.
type inbox struct {
	mu    sync.Mutex
	queue []message
	ended bool
	some  chan struct{} // holds a value when there is something to take
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

func (b *inbox) put(m message) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	b.wake()
}

// end announces that no message follows.
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

// take returns what is there, and whether nothing follows it.
func (b *inbox) take() (ms []message, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ms, b.queue = b.queue, nil
	return ms, b.ended
}
