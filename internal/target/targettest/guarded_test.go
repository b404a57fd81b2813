package targettest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A guarded target is a toy as others find their machines: servers have a token and a range of
// ports, and each node is a machine of its own.
type guarded struct{ toy }

func (g guarded) Open(ctx context.Context, want topo.Topology, logs string) (*target.Site, error) {
	site, err := g.toy.Open(ctx, want, logs)
	if err != nil {
		return nil, err
	}
	site.Token, site.Ports = "a-token-of-the-tests", target.Ports{First: 42000, Last: 42020}
	for name, n := range site.Nodes {
		site.Nodes[name] = machine{n}
	}
	return site, nil
}

type machine struct{ target.Node }

func (m machine) Host() *target.Host {
	h := *m.Node.Host()
	h.ID = m.Name()
	return &h
}

// Every native probe measures between servers with a token, also with a load and with several
// clients, and each machine's readings come from its own engine's marks.
func TestGuardedMeasures(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	loopback(t)
	probes := map[string]probe.Probe{"tcp-stream": &probe.TCPStream{Streams: 2}, "tcp-rr": &probe.TCPRR{}, "tcp-crr": &probe.TCPCRR{},
		"udp-stream": &probe.UDPStream{}, "udp-rate": &probe.UDPRate{}, "udp-rr": &probe.UDPRR{}, "udp-open": &probe.UDPOpen{}, "udp-capacity": &probe.UDPCapacity{Send: "mmsg"}}
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "guarded", 1, 1, 20*time.Millisecond, 200*time.Millisecond
	s.Networks = []study.Use{{Name: "host", Kind: "host"}}
	for name := range probes {
		s.Probes = append(s.Probes, study.Use{Name: name, Kind: name})
	}
	s.Factors = map[string][]string{"load": {"idle", "udp-rr"}, "clients": {"1", "2"}}
	dir, err := store.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	want, err := topo.New(topo.Spec{Hosts: 3})
	if err != nil {
		t.Fatal(err)
	}
	err = experiment.Run(t.Context(), experiment.Config{Study: s.Resolve(), Dir: dir, Target: guarded{},
		Networks: map[string]experiment.Network{"host": {Driver: network.Host{}, Topology: want}},
		Load:     func(name string) (probe.Probe, error) { return probes[name], nil },
		Applies:  func(kind, _ string) bool { return kind == "tcp-stream" || kind == "udp-rr" },
		Probe:    func(name string, _ map[string]string) (probe.Probe, error) { return probes[name], nil }})
	rs, readErr := dir.Results()
	if err = errors.Join(err, readErr); err != nil || len(rs) != 2*2*2+len(probes)-2 {
		t.Fatalf("%d results, %v", len(rs), err)
	}
	for _, r := range rs {
		what := fmt.Sprintf("%s %v", r.Config["probe"], r.Config)
		if r.Status != record.OK {
			t.Errorf("%s: %s: %s", what, r.Status, r.Reason)
			continue
		}
		for _, n := range r.Notes {
			if n.Code == record.NoteCounters {
				t.Errorf("%s: %s", what, n)
			}
		}
		if _, ok := r.Get("cpu.busy"); !ok {
			t.Errorf("%s has no CPU time: %v", what, r.Notes)
		}
	}
}
