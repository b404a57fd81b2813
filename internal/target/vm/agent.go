package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A Command is a program that a guest runs.
type Command struct {
	Argv  []string `json:"argv"` // never given to a shell; the program "weir" is this program, others are named by their path
	Env   []string `json:"env"`
	Dir   string   `json:"dir"`             // absolute, a directory of the host
	Stdin bool     `json:"stdin,omitempty"` // it has one
}

// An agent is the guest's side: it runs programs and reads files for the host.
type agent struct {
	out *sender

	mu       sync.Mutex
	programs map[int]*running
	all      sync.WaitGroup // of programs
}

// A running program.
type running struct {
	pid int
	in  *inbox // of its standard input
}

func newAgent(out *sender) *agent { return &agent{out: out, programs: map[int]*running{}} }

// serve does what it is told until there is nothing more to read, and ends what
// runs then. The error says why.
func (a *agent) serve(in *json.Decoder) error {
	defer a.end()
	for {
		var m message
		if err := in.Decode(&m); errors.Is(err, io.EOF) {
			return errors.New("the host is gone")
		} else if err != nil {
			return fmt.Errorf("orders: %w", err)
		}
		a.mu.Lock()
		p := a.programs[m.ID]
		a.mu.Unlock()
		switch {
		case m.Command != nil:
			if err := a.start(m.ID, *m.Command); err != nil {
				a.out.fail(m.ID, err)
			}
		case m.Read != "":
			if b, err := os.ReadFile("/" + m.Read); err != nil {
				a.out.fail(m.ID, err)
			} else {
				a.out.send(message{ID: m.ID, File: b, Done: true})
			}
		case p == nil: // it has ended
		case m.Signal != 0:
			_ = syscall.Kill(-p.pid, m.Signal) // it may have ended
		default:
			p.in.put(m)
		}
	}
}

// end ends all programs and returns when they are gone.
func (a *agent) end() {
	a.mu.Lock()
	for _, p := range a.programs {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // it may have ended
	}
	a.mu.Unlock()
	a.all.Wait()
}

// drain is how long a program that has ended may have its output held open by
// what it started.
const drain = time.Second

// start starts a program, in a process group that is ended with it.
func (a *agent) start(id int, c Command) error {
	if len(c.Argv) == 0 {
		return errors.New("no program is named")
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	if c.Argv[0] == "weir" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
	}
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdout = writer(func(b []byte) { a.out.send(message{ID: id, Out: b}) })
	cmd.Stderr = writer(func(b []byte) { a.out.send(message{ID: id, Err: b}) })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = drain
	var stdin io.WriteCloser
	if c.Stdin {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &running{cmd.Process.Pid, newInbox()}
	a.mu.Lock()
	a.programs[id] = p
	a.mu.Unlock()
	if stdin != nil {
		go p.feed(stdin)
	}
	a.all.Go(func() {
		_ = cmd.Wait()                            // how it ended is in its state
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // what it started and left; none is the normal case
		a.mu.Lock()
		delete(a.programs, id)
		a.mu.Unlock()
		p.in.end()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus) // it always is
		a.out.send(message{ID: id, Exit: &status})
	})
	return nil
}

// feed gives the program what the host sends for it.
func (p *running) feed(stdin io.WriteCloser) {
	defer stdin.Close()
	for range p.in.some {
		ms, ended := p.in.take()
		for _, m := range ms {
			if _, err := stdin.Write(m.In); err != nil || m.EOF {
				return // it reads no more
			}
		}
		if ended {
			return
		}
	}
}

// A sender sends messages from several goroutines.
type sender struct {
	mu  sync.Mutex
	enc *json.Encoder
}

// send tells the host, or the console that the host does not listen.
func (s *sender) send(m message) {
	if err := s.try(m); err != nil {
		fmt.Fprintln(os.Stderr, "weir: tell the host:", err)
	}
}

func (s *sender) try(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enc.Encode(m)
}

// fail says why something could not be done.
func (s *sender) fail(id int, err error) {
	m := message{ID: id, Failed: err.Error()}
	errors.As(err, &m.Errno)
	s.send(m)
}

// A writer is a function that gets what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
