package targettest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A far target is the toy with machines of their own at the ends of slow pipes.
type far struct{ oneWay time.Duration }

func (f far) Open(ctx context.Context, want topo.Topology, _ string) (*target.Site, error) {
	found := topo.Topology{Exists: true, MTU: 65536}
	var nodes []*agent.Node
	for i, h := range want.Hosts {
		addr := netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)})
		found.Hosts = append(found.Hosts, topo.Host{Name: h.Name, Dev: "lo", Addr: netip.PrefixFrom(addr, 8)})
		conn, err := start()
		if err == nil {
			var n *agent.Node
			if n, err = agent.Dial(ctx, h.Name, delayed(conn, f.oneWay), nil); err == nil {
				n.Host().ID = h.Name
				nodes = append(nodes, n)
			}
		}
		if err != nil {
			return nil, errors.Join(err, agent.NewSite(found, nodes...).Close())
		}
	}
	site := agent.NewSite(found, nodes...)
	site.Token = "a-token-of-this-run-only"
	return site, nil
}

// A pipe's delay changes no value: windows, counters and CPU time are those of the machines' own marks.
// And a trial waits for it only a few times.
func TestSlowPipe(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	loopback(t)
	fail := nstest.Judge(t)
	const window, oneWay, most, blocks = 500 * time.Millisecond, 100 * time.Millisecond, 15, 3 // about nine on a quiet machine
	results := map[time.Duration][]record.Result{}
	for _, by := range []time.Duration{0, oneWay} {
		s := study.Default()
		s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "far", blocks, 1, 0, window
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
		err = experiment.Run(t.Context(), experiment.Config{Study: s.Resolve(), Dir: dir, Target: far{by},
			Networks: map[string]experiment.Network{"host": {Driver: network.Host{}, Topology: want}},
			Probe:    func(string, map[string]string) (probe.Probe, error) { return &probe.TCPStream{CC: "reno"}, nil }})
		rs, readErr := dir.Results()
		if err = errors.Join(err, readErr); err != nil || len(rs) != blocks {
			t.Fatalf("%+v, %v", rs, err)
		}
		results[by] = rs
	}
	// The machine that runs the test can be busy.
	median := func(by time.Duration, of func(r record.Result) float64) float64 {
		var all []float64
		for _, r := range results[by] {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	for by, rs := range results {
		get := func(r record.Result, name record.Quantity) float64 {
			v, ok := r.Get(name)
			if !ok {
				t.Fatalf("a delay of %v: %s has no %s: %s, notes %q", by, r.Trial, name, r.Reason, r.Notes)
			}
			return v.Value
		}
		for _, r := range rs {
			if strings.Contains(fmt.Sprint(r.Notes), "marks") {
				t.Errorf("a delay of %v: notes %q", by, r.Notes)
			}
		}
		// A reading that is late by a round trip misses 40 % of the window's packets and of its CPU time.
		if off := median(by, func(r record.Result) float64 {
			return 8*get(r, "packet.rate")*get(r, "packet.size")/get(r, "throughput") - 1
		}); math.Abs(off) > 0.15 {
			fail("a delay of %v: what the device counted and what the probe received differ by %g", by, off)
		}
		if own := median(by, func(r record.Result) float64 { return get(r, "cpu.own") / get(r, "cpu.used") }); own > 1.15 {
			fail("a delay of %v: the engine's threads used %g of what both machines used", by, own)
		}
	}
	elapsed := func(r record.Result) float64 { return r.Elapsed }
	trips := (median(oneWay, elapsed) - median(0, elapsed)) / (2 * oneWay).Seconds()
	if t.Logf("%.1f round trips", trips); trips > most {
		fail("a trial waits %.1f round trips for pipes, want at most %d", trips, most)
	}
}
