package targettest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/target/vm"
	"github.com/weir-bench/weir/internal/topo"
)

// The test binary stands in for weir and for kubectl.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		os.Exit(fakekube.Main(os.Args[1:]))
	}
	nstest.Main(m, func(args []string) int {
		switch args[0] {
		case "guest":
			vm.Init(nil)
		case "host":
			if err := hostns.Main(args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		case "--version":
			return 0
		case "agent":
			if len(args) == 1 {
				break // the toy's
			}
			if err := remote.Serve(os.Stdin, os.Stdout, args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
		return weir(args)
	})
}

// A new target adds a line here.
func TestContract(t *testing.T) {
	nstest.Need(t)
	for name, open := range map[string]func(*testing.T) subject{
		"lab":              inLab(),
		"lab with daemons": inLab(plan.Step{In: "a", File: &plan.File{Name: "conf"}}),
		"agent":            behindPipe,
		"frames":           behindFrames(0),
		"frames, far away": behindFrames(100 * time.Millisecond),
		"pushed program":   pushed,
		"toy":              onLoopback,
		"kubernetes":       inPod,
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "frames" {
				t.Skip("slow: run without -short")
			}
			contract(t, open)
		})
	}
	for name, machines := range map[string]func(*testing.T) func(*testing.T) subject{"guest": inGuest, "ssh": overSSH, "ssh without servers": withoutServers} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("slow: run without -short")
			}
			contract(t, machines(t))
		})
	}
}

func onLoopback(t *testing.T) subject {
	site, err := toy{}.Open(t.Context(), topo.Topology{Hosts: []topo.Host{{Name: "h1"}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return subject{site, "h1", nil}
}

// inLab opens two places with a wire between them and applies more steps.
func inLab(more ...plan.Step) func(*testing.T) subject {
	steps := append([]plan.Step{
		{In: "a", Link: &plan.Link{Name: "e0", Kind: "veth", MTU: 1500, Peer: "e0", PeerIn: "b"}},
		{In: "a", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.1/24")}},
		{In: "b", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.2/24")}},
	}, more...)
	return func(t *testing.T) subject {
		site, err := lab.Open(t.Context(), []string{"a", "b"}, "")
		if err == nil {
			err = site.Apply(t.Context(), steps)
		}
		if err != nil {
			t.Fatal(err)
		}
		return subject{site, "a", nil}
	}
}

// behindPipe opens a node whose agent is this process.
func behindPipe(t *testing.T) subject {
	return behind(t, func(theirs net.Conn) error { return agent.Serve(theirs, nil) }, func(ours net.Conn) (*agent.Node, error) {
		return agent.Dial(t.Context(), "g", ours, nil)
	})
}

// behindFrames opens a node whose agent is this process, behind frames that each take delay to arrive.
func behindFrames(delay time.Duration) func(*testing.T) subject {
	return func(t *testing.T) subject {
		return behind(t, func(theirs net.Conn) error { return remote.Serve(theirs, theirs, "") }, func(ours net.Conn) (*agent.Node, error) {
			n, _, err := remote.Dial(t.Context(), "g", delayed(ours, delay), nil)
			return n, err
		})
	}
}

func behind(t *testing.T, serve func(net.Conn) error, dial func(net.Conn) (*agent.Node, error)) subject {
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(theirs) }()
	n, err := dial(ours)
	if err != nil {
		t.Fatal(err)
	}
	site := agent.NewSite(topo.Topology{}, n)
	site.Close = func() error {
		err := n.Close()
		if ended := <-ended; !errors.Is(ended, io.ErrClosedPipe) {
			err = errors.Join(err, ended)
		}
		return err
	}
	return subject{site, "g", func() { theirs.Close() }}
}

// A distant conn delivers everything late, in both directions.
type distant struct {
	io.Reader
	io.WriteCloser
	end func()
}

// delayed returns conn at a distance.
func delayed(conn io.ReadWriteCloser, delay time.Duration) io.ReadWriteCloser {
	if delay == 0 {
		return conn
	}
	in, fromFar := io.Pipe()
	toFar, out := io.Pipe()
	go late(fromFar, conn, delay)
	go late(conn, toFar, delay)
	return distant{in, out, func() { conn.Close(); in.Close() }}
}

func (d distant) Close() error {
	d.end()
	return d.WriteCloser.Close()
}

// late copies from one stream to another; each piece is delay late, however many are on their way.
func late(to io.WriteCloser, from io.Reader, delay time.Duration) {
	type piece struct {
		due time.Time
		b   []byte
	}
	way := make(chan piece, 1<<16)
	go func() {
		defer close(way)
		for b := make([]byte, 64<<10); ; {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			way <- piece{time.Now().Add(delay), bytes.Clone(b[:n])}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.b); err != nil {
			break
		}
	}
	to.Close()
}

// pushed opens a node whose agent is this program, which got there through a shell.
func pushed(t *testing.T) subject {
	pipe, err := remote.Start([]string{"sh", "-c", "echo Welcome!; echo warning >&2; " + remote.Script}, []string{"XDG_RUNTIME_DIR=", "TMPDIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := remote.Dial(t.Context(), "g", pipe, &remote.Programs{})
	if err != nil {
		t.Fatal(err)
	}
	return subject{agent.NewSite(topo.Topology{}, n), "g", func() { pipe.Close() }}
}

// inGuest boots one guest for all tests, because that takes seconds. It is a node like any other,
// except that its processors and clock are this machine's.
func inGuest(t *testing.T) func(*testing.T) subject {
	for _, c := range vm.Checks() {
		if !c.OK && c.Fix == "" { // other checks only cost speed or devices
			t.Skip(c.Name, c.Detail)
		}
	}
	k, err := vm.FindKernel(vm.Places()...)
	if err != nil {
		t.Skip(err)
	}
	g, err := vm.Boot(t.Context(), vm.Machine{Kernel: k, CPUs: 2, Memory: 512 << 20, Write: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	n, err := g.Dial(t.Context(), "g", local.Host())
	if err != nil {
		t.Fatal(err)
	}
	site := agent.NewSite(topo.Topology{}, n.Node)
	site.Nodes = map[string]target.Node{"g": n}
	site.Close = func() error { return nil }
	return func(*testing.T) subject { return subject{site, "g", nil} }
}
