package experiment

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// Every pair of ends has its own engines and path, and swapped blocks exchange the ends. A pair
// that exchanges no packets in either direction is skipped with a reason.
func TestEnds(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration, s.Swap = "ends", 2, 7, 10*time.Millisecond, 50*time.Millisecond, true
	s.Networks = []study.Use{{Kind: "vxlan-overlay"}}
	s.Probes = []study.Use{{Kind: "udp-rr"}}
	s.Factors = map[string][]string{"ends": {"pod-pod", "host-pod", "host-host", "pod-gpu"}}
	s = s.Resolve()
	dir := filepath.Join(t.TempDir(), "out")
	rs, err := measured(t.Context(), Config{
		Study: s, Dir: results(t, dir), Target: lab.Target{},
		Networks: map[string]Network{"vxlan-overlay": on(t, &network.VXLANOverlay{VNI: 1, Port: 4789}, topo.Spec{})},
		Probe:    func(string, map[string]string) (probe.Probe, error) { return &probe.UDPRR{}, nil },
	})
	if err != nil || len(rs) != 8 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	want := map[string]struct{ client, server, mtu, reason string }{
		"pod-pod":   {"h1p1", "h2p1", "1450", ""},
		"host-host": {"h1", "h2", "1500", ""},
		"host-pod":  {reason: "the network does not connect these ends, pod h2p1 and host h1: engine: reach 198.18.0.1"},
		"pod-gpu":   {reason: "the network has no such ends: no end is labeled gpu; the labels are pod, host"},
	}
	for _, r := range rs {
		w := want[r.Config["ends"]]
		if w.reason != "" {
			if r.Status != record.Skipped || !strings.HasPrefix(r.Reason, w.reason) {
				t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			}
			continue
		}
		if s.Swapped(r.Block) {
			w.client, w.server = w.server, w.client
		}
		swapped := map[bool]string{true: "true", false: "false"}[s.Swapped(r.Block)]
		if r.Status != record.OK || r.Observed["path.mtu"] != w.mtu || r.Observed["swapped"] != swapped {
			t.Errorf("%s is %s: %s, %v", r.Trial, r.Status, r.Reason, r.Observed)
		}
		b, err := os.ReadFile(filepath.Join(dir, "raw", r.Trial, "commands.json"))
		var ran struct{ ClientNode, ServerNode string }
		if err == nil {
			err = json.Unmarshal(b, &ran)
		}
		if err != nil || ran.ClientNode != w.client || ran.ServerNode != w.server {
			t.Errorf("%s ran from %s to %s, %v", r.Trial, ran.ClientNode, ran.ServerNode, err)
		}
	}
}

// In a line, one network has the path over several segments and over each segment alone: a trial
// names the hosts it crossed, and the counters of all of them agree.
func TestLine(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	s := study.Default()
	s.Name, s.Blocks, s.Warmup, s.Duration = "line", 1, 0, 50*time.Millisecond
	s.Networks = []study.Use{{Kind: "vxlan-hops"}}
	s.Probes = []study.Use{{Kind: "udp-rr"}}
	want := map[string]string{
		"pod1-pod2": "h1 h2", "pod2-pod3": "h2 h3", "pod3-pod4": "h3 h4",
		"pod1-pod3": "h1 h2 h3", "pod1-pod4": "h1 h2 h3 h4", "pod-pod": "h1 h2 h3 h4", "host1-host2": "h1 h2",
	}
	s.Factors = map[string][]string{"ends": slices.Sorted(maps.Keys(want))}
	s = s.Resolve()
	d := &network.VXLANHops{Hops: 3, VNI: 1, Port: 4789}
	rs, err := measured(t.Context(), Config{
		Study: s, Dir: results(t, filepath.Join(t.TempDir(), "out")), Target: lab.Target{},
		Networks: map[string]Network{"vxlan-hops": on(t, d, d.Shape(topo.Spec{}))},
		Probe:    func(string, map[string]string) (probe.Probe, error) { return &probe.UDPRR{}, nil },
	})
	if err != nil || len(rs) != len(want) {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		if r.Status != record.OK || r.Observed["path.hosts"] != want[r.Config["ends"]] {
			t.Errorf("%s is %s: %s, over %s", r.Trial, r.Status, r.Reason, r.Observed["path.hosts"])
		}
	}
	p := analysis.New(rs, analysis.Options{KeepDisturbed: true})
	if len(p.Chains) != 2 || len(p.Chains[0].Spans) != 3 || p.Chains[0].Spans[2].Segments != 3 || !p.Chains[0].Mean {
		t.Errorf("chains %+v, want the response time and its network path over one to three segments", p.Chains)
	}
}
