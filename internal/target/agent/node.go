package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"sync"
	"syscall"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
)

var _ target.Node = (*Node)(nil)

// A Node is a target.Node served by an agent.
type Node struct {
	*client
	name  string
	cpus  []int
	host  *target.Host
	about About
}

// Dial greets the agent at the other end of conn. The node owns conn: Close and a failed Dial close
// it. env replaces the agent's environment; nil keeps it.
func Dial(ctx context.Context, name string, conn io.ReadWriteCloser, env []string) (*Node, error) {
	n := &Node{client: newClient(conn), name: name}
	met, err := n.ask(ctx, message{Hello: &hello{name, env}})
	if err == nil && met.Host == "" {
		err = errors.New("the agent does not name its host")
	}
	if err != nil {
		_ = n.close() // the failure above matters more
		return nil, fmt.Errorf("%s: greet the agent: %w", name, err)
	}
	n.cpus, n.about = met.CPUs, met.About
	n.host = &target.Host{
		ID: met.Host, FS: n.FS(), Sample: n.Sample,
		Facts: func(ctx context.Context) (facts.Facts, error) {
			a, err := n.ask(ctx, message{Facts: true})
			if err != nil {
				err = fmt.Errorf("%s: facts: %w", name, err)
			}
			return a.Facts, err
		},
		Tool: func(ctx context.Context, t facts.ToolInfo) (path, version string, err error) {
			a, err := n.ask(ctx, message{Tool: &t})
			if err == nil && a.Problem != "" {
				err = errors.New(a.Problem)
			}
			return a.Path, a.Version, err
		},
	}
	return n, nil
}

// About returns what the agent reported about itself when it was greeted.
func (n *Node) About() About { return n.about }

// Links lists the network devices of the node's network namespace in the order of their indices.
func (n *Node) Links(ctx context.Context) ([]Link, error) {
	a, err := n.ask(ctx, message{Links: true})
	if err != nil {
		err = fmt.Errorf("%s: %w", n.name, err)
	}
	return a.Links, err
}

// Source returns the address and the device that the node's kernel chooses for packets to an address.
func (n *Node) Source(ctx context.Context, to netip.Addr) (from netip.Addr, dev string, err error) {
	a, err := n.ask(ctx, message{Toward: to})
	if err != nil {
		err = fmt.Errorf("%s: %w", n.name, err)
	}
	return a.From, a.Dev, err
}

// Close ends the connection. The agent then ends all programs.
func (n *Node) Close() error { return n.close() }

// Lost returns why the connection ended, or nil while it is alive.
func (n *Node) Lost() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", n.name, n.err)
}

// Name returns the name passed to Dial.
func (n *Node) Name() string { return n.name }

// Host returns the agent's machine.
func (n *Node) Host() *target.Host { return n.host }

// CPUs lists the processors available to the agent's programs.
func (n *Node) CPUs() []int { return n.cpus }

// Sample takes a reading on the node.
func (n *Node) Sample(ctx context.Context, sources ...string) (target.Reading, error) {
	a, err := n.ask(ctx, message{Sample: sources})
	if err != nil {
		err = fmt.Errorf("%s: sample %v: %w", n.name, sources, err)
	}
	return a.Reading, err
}

// Settings reads the settings of the node, of its devices, and its path MTU toward far addresses.
func (n *Node) Settings(ctx context.Context, devs []string, far []netip.Addr) (evidence.Node, error) {
	a, err := n.ask(ctx, message{Asked: &settings{devs, far}})
	if err != nil {
		err = fmt.Errorf("%s: read settings: %w", n.name, err)
	}
	return a.Place, err
}

// Step applies one step of a plan.
func (n *Node) Step(ctx context.Context, s plan.Step) error {
	_, err := n.ask(ctx, message{Step: &s})
	return err
}

// Check returns an error when a state does not hold.
func (n *Node) Check(ctx context.Context, s plan.State) error {
	_, err := n.ask(ctx, message{State: &s})
	if errors.Is(err, target.ErrLost) {
		err = fmt.Errorf("%s: %w", n.name, err)
	}
	return err
}

// Run runs c on the node.
func (n *Node) Run(ctx context.Context, c target.Cmd) error {
	status, err := n.Exec(ctx, c, "", local.Patience)
	switch {
	case err == nil && status == 0:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		err = ended(status)
	}
	return fmt.Errorf("%s: %s: %w", n.name, c.Argv[0], err)
}

// ended is the status of a failed program, with the methods of exec.ExitError.
type ended syscall.WaitStatus

func (e ended) Error() string {
	if ws := syscall.WaitStatus(e); ws.Signaled() {
		return "signal: " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", e.ExitCode())
}

func (e ended) ExitCode() int { return syscall.WaitStatus(e).ExitStatus() }
func (e ended) Sys() any      { return syscall.WaitStatus(e) }

// explained is the status of a program with what else the agent knows of its end.
type explained struct {
	ended
	why string
}

func (e explained) Error() string { return e.ended.Error() + ": " + e.why }

func explainedBy(m message) error { return explained{ended(*m.Exit), m.Why} }

// NewSite returns a site of agents' nodes. Steps and states go to their node's agent, and Verify
// also returns an error for each lost connection: to the nodes of the states, or without states to any.
func NewSite(t topo.Topology, nodes ...*Node) *target.Site {
	byName := map[string]*Node{}
	s := &target.Site{Topology: t, Nodes: map[string]target.Node{}, Found: map[string]string{}}
	for _, n := range nodes {
		byName[n.name], s.Nodes[n.name] = n, n
	}
	order := func(ctx context.Context, in string, m message) error {
		n := byName[in]
		if n == nil {
			return fmt.Errorf("unknown node %q", in)
		}
		_, err := n.ask(ctx, m)
		return err
	}
	s.Apply = func(ctx context.Context, steps []plan.Step) error {
		for i, step := range steps {
			if err := order(ctx, step.In, message{Step: &step}); err != nil {
				return fmt.Errorf("step %d of %d, in %s: %w", i+1, len(steps), step.In, err)
			}
		}
		return nil
	}
	s.Verify = func(ctx context.Context, states []plan.State) error {
		var errs []error
		for _, n := range nodes {
			if of := func(s plan.State) bool { return s.In == n.name }; len(states) == 0 || slices.ContainsFunc(states, of) {
				errs = append(errs, n.Lost())
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		errs = make([]error, len(states))
		var all sync.WaitGroup // each answer takes a round trip
		for i, state := range states {
			all.Go(func() {
				errs[i] = caught.Error(func() error { return order(ctx, state.In, message{State: &state}) })
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}
	s.Close = func() error {
		var errs []error
		for _, n := range nodes {
			errs = append(errs, n.Close())
		}
		return errors.Join(errs...)
	}
	return s
}

// FS is the file tree that programs of the node see. Directories cannot be read.
func (n *Node) FS() fs.FS { return files{n.client} }

type files struct{ *client }

// Open reads the whole file for a consistent snapshot.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	a, err := f.ask(context.Background(), message{Read: name})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return target.File(path.Base(name), a.File), nil
}
