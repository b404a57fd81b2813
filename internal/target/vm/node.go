package vm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
)

var _ target.Node = (*Node)(nil)

// A Node is a guest with the processor time and clock of its host.
type Node struct {
	*agent.Node
	// About describes the guest for results.
	About map[string]string
	host  *target.Host
	outer *Node // the guest of a container; nil for a guest
}

// Connect returns the guest called name on host, once ready, through the socket of ServePod.
func Connect(ctx context.Context, name, socket string, host *target.Host) (*Node, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("guest %s: %w", name, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	m, err := next(conn)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err == nil && !m.Ready {
		err = errors.New(m.Failed)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("guest %s: %w", name, err)
	}
	n, err := agent.Dial(ctx, name, conn, os.Environ())
	if err != nil {
		return nil, fmt.Errorf("guest %w", err)
	}
	return &Node{n, m.About, host, nil}, nil
}

// Dial makes g a node called name on host. Call it once.
func (g *Guest) Dial(ctx context.Context, name string, host *target.Host) (*Node, error) {
	n, err := agent.Dial(ctx, name, g.conn, os.Environ())
	return &Node{n, nil, host, nil}, err
}

// Inside returns the container called name, a network namespace that a step has made in the guest: an
// agent there, whose stream is the standard input and output of a program of the guest's agent.
func (n *Node) Inside(ctx context.Context, name string) (*Node, error) {
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	var said bytes.Buffer
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		cmd := target.Cmd{Argv: []string{"weir", "guest", "container", name}, Stdin: in, Stdout: out, Stderr: &said}
		err := caught.Error(func() error { return n.Run(life, cmd) })
		if s := strings.TrimSpace(said.String()); err != nil && s != "" {
			err = fmt.Errorf("%w: %s", err, s)
		}
		in.CloseWithError(io.EOF)
		out.CloseWithError(cmp.Or(err, io.EOF))
		end()
	}()
	conn := &stream{answers, orders}
	a, err := agent.Dial(ctx, name, conn, os.Environ())
	if err != nil {
		end()
		return nil, fmt.Errorf("container in guest %s: %w", n.Name(), err)
	}
	return &Node{a, nil, n.host, n}, nil
}

// A stream is both directions of a program's standard input and output.
type stream struct {
	io.Reader
	io.WriteCloser
}

// Step applies a step in the node; the guest's agent acts for its containers.
func (n *Node) Step(ctx context.Context, s plan.Step) error {
	if n.outer != nil {
		return n.outer.Step(ctx, s)
	}
	return n.Node.Step(ctx, s)
}

// Check returns an error when a state of the node does not hold.
func (n *Node) Check(ctx context.Context, s plan.State) error {
	if n.outer != nil {
		return n.outer.Check(ctx, s)
	}
	return n.Node.Check(ctx, s)
}

// Host returns the machine that runs the guest.
func (n *Node) Host() *target.Host { return n.host }

// CPUs returns none: a guest's processors are QEMU threads, placed by the host's scheduler.
func (n *Node) CPUs() []int { return nil }

// Run runs c in the guest. The host samples at its marks.
func (n *Node) Run(ctx context.Context, c target.Cmd) error {
	if len(c.CPUs) > 0 {
		return fmt.Errorf("%s: %s: cannot pin programs in a guest to CPUs %v", n.Name(), c.Argv[0], c.CPUs)
	}
	c.Stdout, c.Mark = c.Mark.Writer(ctx, n.host, c.Stdout), nil
	return n.Node.Run(ctx, c)
}

// A message is a line of JSON between a guest, or ServePod, and its user, before the agent's.
type message struct {
	Root   *root             `json:"root,omitempty"`  // to the guest, first
	Ready  bool              `json:"ready,omitempty"` // the agent can be greeted
	About  map[string]string `json:"about,omitempty"`
	Failed string            `json:"failed,omitempty"` // why the guest is not ready
}

// errGone means that a guest's connection has ended.
var errGone = errors.New("the virtual machine ended")

// next reads one message. Nothing follows it, so the reader buffers nothing else.
func next(conn io.Reader) (m message, err error) {
	if err = agent.NewReader(conn).Read(&m); err != nil && !errors.Is(err, agent.ErrMessage) {
		err = errGone
	}
	return m, err
}
