package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		of    target.Ports
		usual int
		want  []uint16
	}{
		{target.Ports{}, enginePort + 1, []uint16{5204}},
		{target.Ports{}, clientsPort, []uint16{7001}},
		{target.Ports{First: 40000, Last: 40003}, toolPort, []uint16{40000, 40001, 40002, 40003}},
		{target.Ports{First: 40000, Last: 40003}, enginePort, []uint16{40002, 40003, 40000, 40001}},
		{target.Ports{First: 40000, Last: 40003}, enginePort + 3, []uint16{40001, 40002, 40003, 40000}},
		{target.Ports{First: 40000, Last: 40003}, clientsPort, []uint16{40003, 40000, 40001, 40002}},
		{target.Ports{First: 40000, Last: 40003}, clientsPort + 5, []uint16{40002, 40003, 40000, 40001}},
		{target.Ports{First: 65535, Last: 65535}, loadPort, []uint16{65535}},
		{target.Ports{First: 2, Last: 1}, loadPort, nil},
	} {
		if got := ports(&target.Site{Ports: c.of}, c.usual); !slices.Equal(got, c.want) {
			t.Errorf("%d in %+v: %v, want %v", c.usual, c.of, got, c.want)
		}
	}
	if n := len(ports(&target.Site{Ports: target.Ports{First: 1, Last: 65535}}, loadPort)); n != mostPorts {
		t.Errorf("%d of all ports are tried, want %d", n, mostPorts)
	}
}

// A tool's second port is in the range of the site, or there is none.
func TestDataPort(t *testing.T) {
	s, _, srv, _ := setup()
	node := s.Site.Nodes[s.Server.Node]
	if port, err := dataPort(s.Site, node, 5201); port != 0 || err != nil {
		t.Errorf("in the lab: %d, %v", port, err)
	}
	s.Site.Ports, srv.port = target.Ports{First: 40000, Last: 40001}, 40001
	if port, err := dataPort(s.Site, node, 40001); port != 40000 || err != nil {
		t.Errorf("%d, %v, want 40000", port, err)
	}
	if port, err := dataPort(s.Site, node, 40000); err == nil || !strings.Contains(err.Error(), "40000 to 40001; name another or a wider range") {
		t.Errorf("no port is free: %d, %v", port, err)
	}
}

// occupied runs a server that fails on the given ports as ours and others do, and records the ports tried.
func occupied(tried *[]string, taken ...string) func(context.Context, []string, io.Writer, io.Writer) error {
	return func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
		at := argv[3]
		*tried = append(*tried, at)
		for _, x := range taken {
			if strings.HasSuffix(at, ":"+x) {
				fmt.Fprintln(stderr, "weir: engine: listen "+at+": address already in use: another program is listening there")
				return errors.New("exit status 3")
			}
		}
		return serve(ctx, argv, stdout, stderr)
	}
}

// The engine's server skips ports that others have, and listens on the end's address alone; its
// client calls what clients call.
func TestEnginesFindAPort(t *testing.T) {
	var tried []string
	s, cli, srv, _ := setup()
	s.Site.Ports = target.Ports{First: 40000, Last: 40004}
	s.Server.Call, s.Server.Ports = netip.MustParseAddr("203.0.113.9"), map[uint16]uint16{40000: 31234}
	srv.port = 40002 // listens already, as its socket tables show
	srv.run = occupied(&tried, "40003", "40004")
	e, err := StartEngines(t.Context(), s.Site, s.Client, s.Server, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"198.18.0.2:40003", "198.18.0.2:40004", "198.18.0.2:40000"}; !slices.Equal(tried, want) {
		t.Errorf("tried %v, want %v", tried, want)
	}
	var order string
	cli.run = func(_ context.Context, argv []string, stdout, _ io.Writer) error {
		order = argv[0]
		fmt.Fprintln(stdout, `{"event":"result","rtt":0.001}`)
		return nil
	}
	if _, err := e.Reach(t.Context(), 1500, time.Second); err != nil || !strings.Contains(order, `"203.0.113.9:31234"`) {
		t.Errorf("order %s, %v", order, err)
	}
	_ = e.Stop()

	srv.run = occupied(&tried, "40000", "40001", "40003", "40004")
	_, err = StartEngines(t.Context(), s.Site, s.Client, s.Server, 0)
	for _, want := range []string{"engine on h2", "no port for a server on h2", "40000 to 40004", "--port FIRST-LAST"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("all are taken: %v, want %q", err, want)
		}
	}
	tried = nil
	srv.run = func(_ context.Context, argv []string, _, stderr io.Writer) error {
		tried = append(tried, argv[3])
		fmt.Fprintln(stderr, "permission denied")
		return errors.New("exit status 3")
	}
	if _, err = StartEngines(t.Context(), s.Site, s.Client, s.Server, 0); err == nil || len(tried) != 1 {
		t.Errorf("another failure: %v, tried %v", err, tried)
	}
}

// A paired tool says where its server listens and what its client calls, and on which second port.
type paired struct{ tool }

func (paired) Info() probe.Info { return probe.Info{SecondPort: true, Short: "paired"} }

func (paired) Commands(w probe.Window) (server, client []string) {
	return []string{"iperf9", "server", "at", w.Server.String(), fmt.Sprint(w.DataPort)}, []string{"iperf9", "client", w.Call.String(), fmt.Sprint(w.DataPort)}
}

// Foreign tools get ports of the site, free ones, and both addresses.
func TestToolsFindPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, srv, _ := setup()
		s.Probe, s.Site.Ports = paired{}, target.Ports{First: 40000, Last: 40003}
		s.Server.Ports = map[uint16]uint16{40001: 31234}
		var called []string
		srv.port = 40000
		srv.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
			if argv[3] == "198.18.0.2:40001" {
				srv.mu.Lock()
				srv.port = 40001
				srv.mu.Unlock()
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		cli.run = func(_ context.Context, argv []string, stdout, _ io.Writer) error {
			called = argv
			time.Sleep(1001 * time.Millisecond)
			srv.add(0, 1000, 0)
			fmt.Fprintln(stdout, rate)
			return nil
		}
		r, err := Run(t.Context(), s)
		if err != nil || r.Status != record.OK {
			t.Fatalf("%s: %s, %v", r.Status, r.Reason, err)
		}
		if want := []string{"iperf9", "client", "198.18.0.2:31234", "40003"}; !slices.Equal(called, want) {
			t.Errorf("called %v, want %v", called, want)
		}
	})
}

func TestCanMeasure(t *testing.T) {
	call := plan.End{Label: plan.Pod, Node: "p", Addr: netip.MustParseAddr("10.0.0.1"), Call: netip.MustParseAddr("10.96.0.1")}
	mapped := plan.End{Label: plan.Pod, Node: "p", Addr: netip.MustParseAddr("10.0.0.1"), Ports: map[uint16]uint16{1: 2}}
	one := &target.Site{Ports: target.Ports{First: 7, Last: 7}}
	for _, c := range []struct {
		p    probe.Probe
		site *target.Site
		end  plan.End
		want string
	}{
		{probe.Netperf{}, &target.Site{}, plan.End{}, ""},
		{probe.UDPRR{}, &target.Site{}, plan.End{}, ""},
		{probe.Iperf3{UDP: true}, &target.Site{}, call, ""},
		{probe.TCPStream{}, one, mapped, ""},
		{probe.Netperf{}, &target.Site{}, call, "needs a second port"},
		{probe.NetperfRR{}, &target.Site{}, mapped, "needs a second port"},
		{probe.Nuttcp{}, &target.Site{}, call, "needs a second port"},
		{probe.Qperf{}, one, plan.End{}, "needs two ports, and the range is 7 to 7"},
		{probe.Ping{}, &target.Site{}, call, "10.96.0.1"},
		{probe.Fping{}, &target.Site{}, mapped, "sends ICMP"},
		{probe.MPI{}, &target.Site{}, call, "at their own addresses"},
	} {
		err := CanMeasure(c.p, c.site, plan.Path{}, c.end)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T to %+v: %v, want %q", c.p, c.end, err, c.want)
		}
	}
	for p, refused := range map[probe.Probe]bool{probe.UDPRR{}: true, probe.DNSRR{}: true, probe.Fping{}: true, probe.DNSRR{TCP: true}: false, probe.HTTPRR{}: false, probe.Iperf3{}: false} {
		err := CanMeasure(p, &target.Site{}, plan.Path{TCPOnly: true}, plan.End{})
		if errors.Is(err, ErrCannot) != refused || refused && !strings.Contains(err.Error(), "carry TCP alone") {
			t.Errorf("%T past proxies: %v", p, err)
		}
	}
}

// An error of reach names the protocol, the port, both addresses and the remedy.
func TestBlocked(t *testing.T) {
	s, cli, _, _ := setup()
	s.Site.Ports = target.Ports{First: 40000, Last: 40004}
	s.Server.Call = netip.MustParseAddr("203.0.113.9")
	e, err := StartEngines(t.Context(), s.Site, s.Client, s.Server, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Stop() }()
	for blocked, want := range map[string][]string{
		`,"blocked":{"protocol":"tcp"}`:          {"TCP does not get from", "h1 (198.18.0.1)", "port 40002 of", "h2 (203.0.113.9, which listens at 198.18.0.2)", "open ports 40000-40004, TCP and UDP, from 198.18.0.1 to 203.0.113.9", "--port", "why"},
		`,"blocked":{"protocol":"udp"}`:          {"UDP does not get from", "why"},
		`,"blocked":{"carries":1450,"not":1451}`: {"packets above 1450 bytes do not pass between", "a smaller MTU, or something drops them", "set the MTU of eth0 on h1 and of eth0 on h2, which takes 1500, to 1450 or less", "why"},
		"":                                       {"why"},
	} {
		cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
			fmt.Fprintf(stdout, "{\"event\":%q,\"error\":\"why\"%s}\n", event.KindError, blocked)
			return nil
		}
		_, err := e.Reach(t.Context(), 1500, time.Second)
		for _, text := range want {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", blocked, err, text)
			}
		}
	}
}
