// Package outagetest plants outages in networks and looks for them in what the engine reports.
package outagetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/nstest"
)

// The test binary is also the ends of the engine, and a relay of datagrams between them.
func TestMain(m *testing.M) {
	nstest.Main(m, func(args []string) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err := fmt.Errorf("unknown command %q", args)
		switch args[0] {
		case "agent":
			err = engine.Agent(ctx, os.Stdin, os.Stdout, os.Stderr)
		case "serve":
			err = engine.Main(ctx, args, os.Stdin, os.Stdout)
		case "relay":
			err = relay(args[1], args[2])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

// relay forwards datagrams between its last client and a server, and prints when it did not for longer than 2 ms.
func relay(at, to string) error {
	near, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(at)))
	if err != nil {
		return err
	}
	far, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to)))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	clients := make(chan netip.AddrPort, 1)
	go func() {
		b := make([]byte, 1<<16)
		for client, last := <-clients, now(); ; last = now() {
			if n, err := far.Read(b); err == nil {
				tell(last)
				_, _ = near.WriteToUDPAddrPort(b[:n], client)
			}
			select {
			case client = <-clients:
			default:
			}
		}
	}()
	b := make([]byte, 1<<16)
	for last := now(); ; last = now() {
		n, client, err := near.ReadFromUDPAddrPort(b)
		if err != nil {
			return err
		}
		select {
		case clients <- client:
		default:
		}
		tell(last)
		_, _ = far.Write(b[:n])
	}
}

// tell prints when a relay did nothing for long: a stopped process goes on when it gets a CPU.
func tell(last int64) {
	if t := now(); t-last > int64(2*time.Millisecond) {
		fmt.Println(last, t)
	}
}

const (
	client = iota
	router
	server
)

var addresses = map[int]string{client: "10.1.0.1/24", router: "10.1.0.2/24", server: "10.2.0.1/24"}

const (
	farIP   = "10.2.0.2/24" // of the router, toward the server
	serving = "10.2.0.1:5202"
	relayed = "10.1.0.2:5203"
)

// A lab is a client and a server with a router between them.
type lab struct {
	spaces [3]*netns.Namespace
	nl     [3]*netlink.Handle
}

func newLab(t *testing.T) *lab {
	t.Helper()
	nstest.Need(t)
	l := new(lab)
	must(t, netns.Create(3, func(i int, ns *netns.Namespace) (err error) {
		l.spaces[i] = ns
		l.nl[i], err = netlink.NewHandleAt(vnetns.NsHandle(ns.FD()), unix.NETLINK_ROUTE)
		return err
	}))
	t.Cleanup(func() {
		for i := range l.spaces {
			l.nl[i].Close()
			l.spaces[i].Close()
		}
	})
	for dev, end := range map[string]int{"near": client, "far": server} {
		must(t, l.nl[router].LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: dev}, PeerName: "eth0", PeerNamespace: netlink.NsFd(l.spaces[end].FD())}))
		l.up(t, end, "eth0", addresses[end])
	}
	l.up(t, router, "near", addresses[router])
	l.up(t, router, "far", farIP)
	for end, via := range map[int]string{client: addresses[router], server: farIP} {
		gw, _, err := net.ParseCIDR(via)
		must(t, err)
		must(t, l.nl[end].RouteAdd(&netlink.Route{Gw: gw}))
	}
	l.knows(t, server, "eth0", router, "far", farIP)
	must(t, l.spaces[router].Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }))
	return l
}

func (l *lab) up(t *testing.T, in int, dev, address string) {
	t.Helper()
	link, err := l.nl[in].LinkByName(dev)
	must(t, err)
	a, err := netlink.ParseAddr(address)
	must(t, err)
	must(t, l.nl[in].AddrAdd(link, a))
	must(t, l.nl[in].LinkSetUp(link))
}

// knows gives a node the link-layer address of another, which it then need not ask for.
func (l *lab) knows(t *testing.T, in int, dev string, other int, far, address string) {
	t.Helper()
	link, err := l.nl[in].LinkByName(dev)
	must(t, err)
	peer, err := l.nl[other].LinkByName(far)
	must(t, err)
	ip, _, err := net.ParseCIDR(address)
	must(t, err)
	must(t, l.nl[in].NeighSet(&netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: ip, HardwareAddr: peer.Attrs().HardwareAddr}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A process of the test binary, with the lines that it prints.
type process struct {
	*exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// start starts a process in a namespace, which ends with the test.
func (l *lab) start(t *testing.T, in int, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command("/proc/self/exe")}
	p.Args = append([]string{"weir"}, args...)
	p.Stderr = os.Stderr
	var err error
	p.in, err = p.StdinPipe()
	must(t, err)
	out, err := p.StdoutPipe()
	must(t, err)
	p.lines = bufio.NewScanner(out)
	p.lines.Buffer(nil, 1<<20)
	must(t, l.spaces[in].Do(p.Start))
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

func (p *process) next(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("%v ended: %v", p.Args, p.lines.Err())
	}
	return p.lines.Text()
}

// run measures from the client while during does something to the path, which begins with the window.
func run[T any](t *testing.T, p *process, during func(), args ...string) (r T) {
	t.Helper()
	order, err := json.Marshal(append([]string{"run"}, args...))
	must(t, err)
	_, err = fmt.Fprintf(p.in, "%s\n", order)
	must(t, err)
	if line := p.next(t); line != event.MarkBegin {
		t.Fatalf("%s, want the begin", line)
	}
	during()
	if line := p.next(t); line != event.MarkEnd {
		t.Fatalf("%s, want the end", line)
	}
	line := p.next(t)
	must(t, event.Read([]byte(event.MarkBegin+"\n"+event.MarkEnd+"\n"+line), args[0], &r))
	return r
}

// now is CLOCK_MONOTONIC, ns.
func now() int64 {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &at) // it exists everywhere
	return at.Nano()
}
