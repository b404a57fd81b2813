package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/distance"
	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/relay"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

func TestMain(m *testing.M) {
	labtest.Main(m, map[string]func(context.Context, []string) error{
		"distance":   func(ctx context.Context, _ []string) error { return distance.Run(ctx, os.Stdout) },
		"relay":      runRelay,
		"garbage":    func(_ context.Context, args []string) error { return garbage(args[0], args[1]) },
		"incomplete": func(_ context.Context, args []string) error { return incomplete(netip.MustParseAddr(args[0])) },
	})
}

// runRelay is `weir relay`, which package cli parses.
func runRelay(ctx context.Context, args []string) error {
	c := relay.Config{Dev: args[0]}
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case "--neighbour":
			i++
			n, err := relay.ParseNeighbor(args[i])
			if err != nil {
				return err
			}
			c.Neighbors = append(c.Neighbors, n)
		case "--encrypt":
			c.Encrypt = true
		case "--wait":
			i++
			d, err := time.ParseDuration(args[i])
			if err != nil {
				return err
			}
			c.Wait = d
		}
	}
	count, err := relay.Run(ctx, c, os.Stdout)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(count)
	}
	return err
}

// garbage sends invalid datagrams from a relay's address, and then a hello. The answer to the hello
// shows that the relay has read everything before it.
func garbage(local, remote string) error {
	conn, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(local)), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(remote)))
	if err != nil {
		return err
	}
	defer conn.Close()
	const hello, answer = 0x11, 0x12
	for _, b := range [][]byte{{}, {0}, []byte("hello"), {0x13}, {0x13, 0, 14}, {0x14, 1, 2, 3}, bytes.Repeat([]byte{0x13}, 1000),
		append([]byte{hello}, make([]byte, 64)...)} {
		if _, err := conn.Write(b); err != nil {
			return err
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	b := make([]byte, 100)
	for b[0] != answer { // the relay's own hello can come first
		if _, err := conn.Read(b); err != nil {
			return err
		}
	}
	return nil
}

// need skips a test where nobody but root may open the device of relays.
func need(t *testing.T) {
	t.Helper()
	nstest.Need(t)
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	tun.Close()
}

// up builds the network of n and starts engines at its ends; both stop with the test.
func up(t *testing.T, n network.Relay, s topo.Spec) trial.Setup {
	t.Helper()
	need(t)
	tp, p := labtest.Plan(t, n, s)
	return labtest.Up(t, tp, p, "")
}

// Full-size packets pass lines of two to four hosts, in the clear and sealed, and the trial's own
// checks confirm that they took the planned path: bytes on every device, no fragments.
func TestRelay(t *testing.T) {
	for _, c := range []struct {
		name string
		n    network.Relay
		s    topo.Spec
	}{
		{"two hosts", network.Relay{Hops: 1, Port: 6783}, topo.Spec{}},
		{"four hosts", network.Relay{Hops: 3, Port: 6783}, topo.Spec{MTU: 9000}},
		{"four hosts, sealed", network.Relay{Hops: 3, Port: 6783, Encrypt: true}, topo.Spec{IPv6: true, PodsIPv6: true}},
		{"three hosts, far", network.Relay{Hops: 2, Port: 6783, Delay: network.Delays{300 * time.Microsecond, 2 * time.Millisecond}}, topo.Spec{}},
		{"three hosts, far, sealed", network.Relay{Hops: 2, Port: 6783, Encrypt: true, Delay: network.Delays{time.Millisecond}}, topo.Spec{}},
		{"two hosts, waiting", network.Relay{Hops: 1, Port: 6783, Wait: 200 * time.Microsecond}, topo.Spec{Pods: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "two hosts" {
				t.Skip("slow: run without -short")
			}
			built := up(t, c.n, c.s)
			built.Duration = 100 * time.Millisecond
			labtest.Reach(t, built)
			for _, pr := range []probe.Probe{&probe.TCPStream{}, &probe.UDPRR{}, &probe.UDPStream{}} {
				r := labtest.Run(t, built, pr)
				if r.Status != record.OK {
					t.Errorf("%T: %v: %s", pr, r.Status, r.Reason)
				}
				if rtt, ok := r.Get("rtt"); ok && rtt.Value < 2*length(c.n).Seconds()*(1-1e-3) { // the histogram has three digits
					t.Errorf("a response came after %g s, over segments of %v each way", rtt.Value, length(c.n))
				}
			}
		})
	}
}

// length is the one-way delay of all segments of n.
func length(n network.Relay) (sum time.Duration) {
	for i := range n.Hops {
		if len(n.Delay) > 0 {
			sum += n.Delay[i%len(n.Delay)]
		}
	}
	return sum
}

// A relay notices when the path's MTU changes.
func TestMTUChanges(t *testing.T) {
	n := network.Relay{Hops: 1, Port: 6783}
	built := up(t, n, topo.Spec{})
	for _, mtu := range []int{9000, 1400, 1500} {
		_, to := labtest.Plan(t, n, topo.Spec{MTU: mtu})
		steps, err := plan.Diff(built.Plan, to)
		if err != nil {
			t.Fatal(err)
		}
		labtest.Apply(t, built.Site, steps...)
		built.Plan = to
		labtest.Reach(t, built)
	}
}

// A relay drops and counts invalid datagrams, continues, and prints its counters when stopped.
func TestGarbageIsCounted(t *testing.T) {
	need(t)
	logs := t.TempDir()
	site, err := lab.Open(t.Context(), []string{"a", "b"}, logs)
	if err != nil {
		t.Fatal(err)
	}
	err = site.Apply(t.Context(), []plan.Step{
		{In: "a", Link: &plan.Link{Name: "e0", Kind: "veth", MTU: 1500, Peer: "e0", PeerIn: "b"}},
		{In: "a", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.1/24")}},
		{In: "b", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.2/24")}},
		{In: "a", Link: &plan.Link{Name: "relay0", Kind: "tap", MTU: 1400}},
		{In: "a", Service: &plan.Service{Name: "relay", Argv: []string{"weir", "relay", "relay0", "--neighbour", "198.18.0.1:6783,198.18.0.2:6783", "--encrypt"},
			Ready: plan.Ready{Line: relay.Ready}}},
	})
	if err == nil {
		err = site.Nodes["b"].Run(t.Context(), target.Cmd{Argv: []string{"weir", "garbage", "198.18.0.2:6783", "198.18.0.1:6783"}})
	}
	if err == nil { // it still runs
		err = site.Verify(t.Context(), nil)
	}
	if err := errors.Join(err, site.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(logs, "a-relay.log"))
	if err != nil {
		t.Fatal(err)
	}
	ready, counts, _ := strings.Cut(string(b), "\n")
	var c relay.Count
	if err := json.Unmarshal([]byte(counts), &c); err != nil || ready != relay.Ready {
		t.Fatalf("%v: %s", err, b)
	}
	// Unsealed frames count as forged, everything else as malformed.
	if c.Malformed != 4 || c.Forged != 3 || c.DatagramsIn != 8 || c.BytesIn != 1+5+1+3+4+1000+65 || c.FramesOut != 0 || c.FramesForwarded != 0 {
		t.Errorf("counted %+v", c)
	}
}
