// Package agent puts a node at the far end of a byte stream: Serve answers there, Dial returns a
// target.Node at the near end. A new kind of target only needs a way to open the stream.
//
// The protocol is lines of JSON, see message. An agent that stops answering, reading or ending
// lines costs the coordinator a bounded time and memory. The stream must neither lose nor reorder
// bytes, and must end when the other side is gone. A transport that promises less (kubectl exec, a
// link without keep-alive) adds frames with checksums and heartbeats below Serve and Dial.
//
// The package must not know what the stream runs over, or what is measured.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
)

// An Actor changes and checks the agent's node. The agent's process provides it.
type Actor interface {
	Step(context.Context, plan.Step) error
	Check(plan.State) error
	Close() error
}

// An agent is the far side of a connection.
type agent struct {
	out   *sender
	host  *target.Host
	actor func(node string) (Actor, error)
	life  context.Context // of the connection

	mu       sync.Mutex
	programs map[int]*running
	all      sync.WaitGroup // of requests

	acting sync.Mutex // serializes steps
	node   string
	act    Actor          // nil until the first step or state
	undo   []plan.Command // of events that happen now
}

type running struct {
	pid int
	in  *inbox // its standard input
}

// Serve answers requests on conn until it ends, then ends all programs. actor returns the Actor of
// the node that the coordinator names; nil refuses steps. The error is nil when the coordinator has
// closed the connection.
//
// To reap them, this process becomes the parent of its orphaned descendants.
func Serve(conn io.ReadWriter, actor func(node string) (Actor, error)) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	torn := make(chan os.Signal, 1) // else a write to a closed pipe ends this process but not its programs
	signal.Notify(torn, syscall.SIGPIPE)
	defer signal.Stop(torn)
	life, end := context.WithCancel(context.Background())
	a := &agent{out: &sender{conn: conn}, host: local.Host(), actor: actor, life: life, programs: map[int]*running{}}
	defer a.end(end)
	for requests := NewReader(conn); ; {
		var m message
		if err := requests.Read(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read requests: %w", err)
		}
		a.serve(m)
	}
}

// end ends all programs and returns when they are gone.
func (a *agent) end(end func()) {
	end()
	a.mu.Lock()
	for _, p := range a.programs {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // it can have ended
		p.in.end(io.EOF)                          // ends one that has become root, which this process cannot kill
	}
	a.mu.Unlock()
	a.all.Wait()
	a.undone()
	if a.act != nil {
		_ = a.act.Close() // the coordinator is gone
	}
}

func (a *agent) serve(m message) {
	a.mu.Lock()
	p := a.programs[m.ID]
	a.mu.Unlock()
	switch {
	case m.Run != nil:
		if err := a.start(m.ID, *m.Run); err != nil {
			a.out.reply(m.ID, answer{}, err)
		}
	case m.Signal != 0 || m.In != nil || m.EOF:
		switch {
		case p == nil: // it has ended
		case m.Signal != 0:
			_ = syscall.Kill(-p.pid, m.Signal) // it can have ended
		default:
			p.in.put(m)
		}
	case m.Hello != nil: // before any other request
		r, err := a.greet(*m.Hello)
		a.out.reply(m.ID, r, err)
	default:
		a.all.Go(func() {
			var r answer
			err := caught.Error(func() (err error) { r, err = a.answer(m); return err })
			a.out.reply(m.ID, r, err)
		})
	}
}

func (a *agent) greet(h hello) (answer, error) {
	a.node = h.Name
	if h.Env != nil {
		os.Clearenv()
	}
	for _, entry := range h.Env {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return answer{}, fmt.Errorf("environment %s: %w", name, err)
		}
	}
	return answer{Host: a.host.ID, CPUs: local.CPUs(), About: about()}, nil
}

// about describes this process. What the kernel does not report stays "".
func about() About {
	var u unix.Utsname
	_ = unix.Uname(&u) // it fails only for a bad pointer
	return About{unix.ByteSliceToString(u.Machine[:]), unix.ByteSliceToString(u.Nodename[:]), os.Getenv("SSH_CONNECTION"), local.Network()}
}

func (a *agent) answer(m message) (r answer, err error) {
	switch {
	case m.Read != "":
		r.File, err = readFile("/" + m.Read)
	case m.Sample != nil:
		r.Reading, err = a.host.Sample(a.life, m.Sample...)
	case m.Asked != nil:
		r.Place = local.Settings(m.Asked.Devs, m.Asked.Far)
	case m.Facts:
		r.Facts, err = a.host.Facts(a.life)
		r.Facts.Devices = local.Devices()
	case m.Tool != nil:
		r.Path, r.Version, err = a.host.Tool(a.life, *m.Tool)
		if r.Path != "" && err != nil {
			r.Problem, err = err.Error(), nil
		}
	case m.Links:
		r.Links, err = local.Links()
	case m.Toward.IsValid():
		r.From, r.Dev, err = local.Source(m.Toward)
	case m.Step != nil || m.State != nil:
		err = a.change(m)
	default:
		err = errors.New("the request is empty, or of a later version")
	}
	return r, err
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return b, err
}

func (a *agent) change(m message) (err error) {
	a.acting.Lock()
	defer a.acting.Unlock()
	if m.Step != nil && m.Step.Command != nil { // it changes what its user wants changed, as any program can
		return a.command(*m.Step.Command)
	}
	if a.actor == nil {
		return errors.New("this node cannot be changed")
	}
	if a.act == nil {
		if a.act, err = a.actor(a.node); err != nil {
			a.act = nil
			return err
		}
	}
	if m.State != nil {
		return a.act.Check(*m.State)
	}
	return a.act.Step(a.life, *m.Step)
}

// start starts a program in its own process group, which ends with it.
func (a *agent) start(id int, c command) error {
	if len(c.Argv) == 0 {
		return errors.New("the command names no program")
	}
	cmd, tag := local.Command(context.Background(), c.Argv, c.Env) // the coordinator sends signals
	cmd.Dir = cmp.Or(c.Dir, "/")
	var mark *target.Mark
	if len(c.Marks) > 0 {
		mark = &target.Mark{Lines: c.Marks, Sources: c.Sources, Take: func(r target.Reading) { _ = a.out.send(message{ID: id, Reading: &r}) }}
	}
	cmd.Stdout = mark.Writer(a.life, a.host, writer(func(b []byte) { _ = a.out.send(message{ID: id, Out: b}) }))
	cmd.Stderr = writer(func(b []byte) { _ = a.out.send(message{ID: id, Err: b}) })
	var stdin io.WriteCloser
	if c.Stdin {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	killed := rootless.Kills()
	if err := local.Start(cmd, c.CPUs); err != nil {
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
		err := cmd.Wait()
		tag.End(p.pid)
		a.mu.Lock()
		delete(a.programs, id)
		a.mu.Unlock()
		p.in.end(io.EOF)
		m := message{ID: id, Exit: new(lostStatus)}
		if cmd.ProcessState == nil { // something else in this process has waited for it
			m.Why = fmt.Sprintf("its exit status is not known: %v", err)
		} else {
			*m.Exit, _ = cmd.ProcessState.Sys().(syscall.WaitStatus) // always of this type on Linux
			m.Why = rootless.Starving(*m.Exit, killed)
		}
		_ = a.out.send(m)
	})
	return nil
}

// lostStatus stands for an exit status that is not known: 255.
const lostStatus syscall.WaitStatus = 255 << 8

func (p *running) feed(stdin io.WriteCloser) {
	defer stdin.Close()
	for range p.in.some {
		ms, ended := p.in.take()
		for _, m := range ms {
			if _, err := stdin.Write(m.In); err != nil || m.EOF {
				return // it no longer reads
			}
		}
		if ended != nil {
			return
		}
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
