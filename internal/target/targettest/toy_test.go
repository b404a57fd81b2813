package targettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A toy is a target whose hosts exist: processes on this machine that talk over the loopback
// device. It stands for machines behind SSH and is the worked example of a target in three parts,
// with tests.
type toy struct{}

// Open is the first part: it dials the agents and returns what it finds.
func (toy) Open(ctx context.Context, want topo.Topology, _ string) (*target.Site, error) {
	found := topo.Topology{Exists: true, MTU: 65536}
	var nodes []*agent.Node
	for i, h := range want.Hosts {
		addr := netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)})
		found.Hosts = append(found.Hosts, topo.Host{Name: h.Name, Dev: "lo", Addr: netip.PrefixFrom(addr, 8)})
		n, err := dial(ctx, h.Name)
		if err != nil {
			return nil, errors.Join(err, agent.NewSite(found, nodes...).Close())
		}
		nodes = append(nodes, n)
	}
	return agent.NewSite(found, nodes...), nil
}

// dial is the second part: it opens the pipe to an agent.
func dial(ctx context.Context, name string) (*agent.Node, error) {
	conn, err := start()
	if err != nil {
		return nil, err
	}
	return agent.Dial(ctx, name, conn, nil)
}

// start starts the agent. For SSH: `ssh HOST weir agent`.
func start() (io.ReadWriteCloser, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"weir", "agent"}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return pipe{out, in, cmd}, nil
}

// A pipe is a program's standard input and output. Closing it ends the program.
type pipe struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (p pipe) Close() error {
	defer time.AfterFunc(patience/2, func() { _ = p.cmd.Process.Kill() }).Stop() // a program that does not end by itself
	return errors.Join(p.WriteCloser.Close(), p.cmd.Wait())
}

// weir is the third part: the far side of the pipe.
func weir(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case args[0] == "agent":
		err = agent.Serve(struct {
			io.Reader
			io.Writer
		}{os.Stdin, os.Stdout}, func(string) (agent.Actor, error) { return actor{}, nil })
	case args[1] == "agent":
		err = engine.Agent(ctx, os.Stdin, os.Stdout, os.Stderr)
	default:
		err = engine.Main(ctx, args[1:], os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// An actor checks and never changes anything.
type actor struct{}

func (actor) Step(context.Context, plan.Step) error {
	return errors.New("this machine is not weir's to change")
}
func (actor) Close() error { return nil }

func (actor) Check(s plan.State) error {
	dev, err := net.InterfaceByName(s.Dev)
	if err == nil && dev.MTU != s.MTU {
		err = fmt.Errorf("MTU of %s is %d, expected %d", s.Dev, dev.MTU, s.MTU)
	}
	return err
}

func loopback(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
}

// An experiment needs only the interfaces of package target.
func TestToyMeasures(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	loopback(t)
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "toy", 1, 1, 0, 100*time.Millisecond
	s.Networks, s.Probes = []study.Use{{Name: "host", Kind: "host"}}, []study.Use{{Name: "tcp-stream", Kind: "tcp-stream"}}
	dir, err := store.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	want, err := topo.New(topo.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	err = experiment.Run(t.Context(), experiment.Config{Study: s.Resolve(), Dir: dir, Target: toy{},
		Networks: map[string]experiment.Network{"host": {Driver: network.Host{}, Topology: want}},
		Probe:    func(string, map[string]string) (probe.Probe, error) { return &probe.TCPStream{CC: "reno"}, nil }})
	rs, readErr := dir.Results()
	if err = errors.Join(err, readErr); err != nil || len(rs) != 1 || rs[0].Status != record.OK {
		t.Fatalf("%+v, %v", rs, err)
	}
	for _, name := range []record.Quantity{"throughput", "cpu.busy", "cpu.weir", "packet.size"} {
		// Other load on the machine, subtracted as idle, can exceed what a trial used.
		if v, ok := rs[0].Get(name); !ok || v.Value <= 0 && name != "cpu.busy" {
			t.Errorf("%s is %v", name, v)
		}
	}
	if p, err := dir.ReadFile("plans/host.jsonl"); err != nil || !bytes.HasPrefix(p, []byte(`{"end":`)) {
		t.Errorf("a plan for hosts that exist has steps: %v\n%s", err, p)
	}
}

// A target must stay small enough to understand: this one, with its tests.
func TestToyIsSmall(t *testing.T) {
	b, err := os.ReadFile("toy_test.go")
	if n := bytes.Count(b, []byte("\n")); err != nil || n >= 200 {
		t.Errorf("the example of a target has %d lines, want less than 200 (%v)", n, err)
	}
}
