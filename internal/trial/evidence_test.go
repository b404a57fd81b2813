package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

func readEvidence(t *testing.T, raw map[string]string) *evidence.Trial {
	t.Helper()
	e, err := evidence.Parse([]byte(raw["evidence.json"]))
	if err != nil {
		t.Fatalf("%v: %q", err, raw["evidence.json"])
	}
	return e
}

// A trial stores the growth of counters on its path, and nothing that did not move.
func TestEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, _, raw := setup()
		s.Name, s.Plan.Expect = "b001-a", s.Plan.Expect[:1] // fragments are no failure here
		cli.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
			cli.mu.Lock()
			cli.reasm += 3
			cli.mu.Unlock()
			return send(cli, s.Site.Nodes["h2"].(*node))(ctx, argv, stdout, stderr)
		}
		start(t, &s)
		if r, err := Run(t.Context(), s); err != nil || r.Status != record.OK {
			t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
		}
		e := readEvidence(t, raw)
		if e.Protocol != "udp" || e.Window != 1 || e.Seconds < 1 || e.Seconds > 1.1 || e.Settings != "b001-a" {
			t.Errorf("%+v", e)
		}
		if e.Sender.Node != "h1" || e.Receiver.Node != "h2" || e.Sender.Host != "h1" || e.Receiver.Host != "h1" || len(e.Sender.CPUs) == 0 {
			t.Errorf("ends %+v, %+v", e.Sender, e.Receiver)
		}
		if len(e.Path) != 2 || e.Path[1].In != "h2" || e.Path[1].Out || e.Path[1].Data != (evidence.Flow{Packets: 1, Bytes: 1000}) {
			t.Errorf("path %+v", e.Path)
		}
		if c := e.Nodes["h1"]; c["ip.ReasmReqds"] != 3 || c["ip.ReasmFails"] != 1 || len(c) != 2 || len(e.Nodes["h2"]) != 0 {
			t.Errorf("nodes %v", e.Nodes)
		}
		if c := e.Hosts["h1"]; c["cpu0.user"] != 0.3 || len(c) == 0 {
			t.Errorf("hosts %v", e.Hosts)
		}
		read := e.Read["h2"]
		if !slices.Contains(read, sample.OfNetDev) || !slices.Contains(read, sample.OfSNMP) || slices.Contains(read, sample.OfNetstat) {
			t.Errorf("read %v; h2 has no netstat", read)
		}

		var stored struct {
			First, Last struct{ Nodes map[string]sample.Counters }
			Read        map[string][]string
		}
		if err := json.Unmarshal([]byte(raw["counters.json"]), &stored); err != nil {
			t.Fatal(err)
		}
		from, to := stored.First.Nodes["h1"], stored.Last.Nodes["h1"]
		if _, ok := to["frag.memory"]; ok || from["ip.ReasmReqds"] != 0 || to["ip.ReasmReqds"] != 3 || len(from) != 2 || !slices.Equal(stored.Read["h2"], read) {
			t.Errorf("stored %+v", stored)
		}
	})
}

// A failed trial has evidence, too: it can show why.
func TestEvidenceOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, srv, raw := setup()
		cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
			srv.add(0, 2000, 0)
			fmt.Fprintln(stdout, `{"event":"error","error":"no route to host"}`)
			return nil
		}
		start(t, &s)
		if r, err := Run(t.Context(), s); err != nil || r.Status != record.Failed {
			t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
		}
		if e := readEvidence(t, raw); e.Protocol != "" || len(e.Path) != 2 || e.Path[1].Data.Packets != 2 {
			t.Errorf("%+v", e)
		}
	})
}

// The first trial of a condition stores the settings, outside the window; others name it. A place that did
// not answer is asked again.
func TestSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, cli, srv, raw := setup()
		cli.run = send(cli, srv)
		s.Snapshot, s.Condition = new(Snapshot), "mtu 1500"
		s.Plan.Ends = []plan.End{{Label: plan.Host, Node: "h2", Host: "h2", Addr: netip.MustParseAddr("198.18.0.2")}}
		start(t, &s)
		trial := func(name, condition string) *evidence.Trial {
			clear(raw)
			s.Name, s.Condition = name, condition
			if _, err := Run(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			return readEvidence(t, raw)
		}
		srv.refuse = errors.New("lost")
		if e := trial("a", "x"); e.Settings != "a" {
			t.Errorf("settings of %q", e.Settings)
		}
		if got, err := evidence.ParseSettings([]byte(raw["settings.json"])); err != nil || len(got.Places["h2"].Unknown) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		srv.refuse = nil
		if e := trial("b", "x"); e.Settings != "b" {
			t.Errorf("settings of %q", e.Settings)
		}
		got, err := evidence.ParseSettings([]byte(raw["settings.json"]))
		if err != nil || got.Places["h1"].Devices["eth0"].MTU != 1500 || got.Places["h1"].PathMTU["198.18.0.2"] != 1400 || len(got.Places) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		if e := trial("c", "x"); e.Settings != "b" || raw["settings.json"] != "" {
			t.Errorf("settings of %q", e.Settings)
		}
		if e := trial("d", "y"); e.Settings != "d" || raw["settings.json"] == "" {
			t.Errorf("settings of %q", e.Settings)
		}
		if cli.asked != 3 {
			t.Errorf("settings were read %d times, want 3", cli.asked)
		}
	})
}

// Counters that wrapped have grown, and the window of a search is its own, not the trial's.
func TestEvidenceOfWrappedCounters(t *testing.T) {
	s, _, _, _ := setup()
	x := &execution{}
	x.readings.First, x.readings.Last = newReading(), newReading()
	for i, r := range []*reading{&x.readings.First, &x.readings.Last} {
		h := s.Site.Nodes["h1"].Host()
		taken, _ := h.Sample(t.Context())
		taken.At = time.Duration(i) * time.Second
		taken.Counters = sample.Counters{"softnet.cpu0.dropped": []float64{1<<32 - 1, 4}[i], "softirq.cpu1.net_rx": 5, "ctxt": float64(i)}
		r.host(h, taken)
	}
	e := s.evidence(&record.Result{}, probe.Measured{Protocol: "udp"}, x)
	if e.Window != 1 {
		t.Errorf("a window of %g s, want the trial's", e.Window)
	}
	if e := s.evidence(&record.Result{}, probe.Measured{Window: 6}, x); e.Window != 6 {
		t.Errorf("a window of %g s, want the engine's", e.Window)
	}
	if c := e.Hosts["h1"]; c["softnet.cpu0.dropped"] != 5 || len(c) != 1 || e.Seconds != 1 {
		t.Errorf("hosts %v, %v s", e.Hosts, e.Seconds)
	}
}

// BenchmarkEvidence builds and encodes the evidence of a trial with four nodes, and what is stored of its
// counters.
func BenchmarkEvidence(b *testing.B) {
	s, _, _, _ := setup()
	s.hops = hopsOf("h1p1:eth0 h1:p1 h1:br0 h1:vx0 vxlan h1:eth0 h2:eth0 vxlan h2:vx0 h2:br0 h2:p1 h2p1:eth0")
	x := &execution{}
	x.readings.First, x.readings.Last = newReading(), newReading()
	for i, r := range []*reading{&x.readings.First, &x.readings.Last} {
		for _, name := range []string{"h1", "h2", "h1p1", "h2p1"} {
			c := sample.Counters{}
			for n := range 200 {
				c[fmt.Sprintf("ip.Counter%d", n)] = float64(n * (1 + i*(n%2)))
			}
			for _, dev := range []string{"lo", "eth0", "p1", "br0", "vx0"} {
				device(map[string]sample.Counters{name: c}, name, dev, float64(i*1000), 0)
				maps.Copy(c, sample.OfQdiscs([]sample.Qdisc{{Dev: dev, Kind: "noqueue"}}))
			}
			r.node(name, target.Reading{Counters: c, Read: []string{sample.OfNetDev, sample.OfSNMP, sample.OfNetstat, sample.OfQdisc}})
		}
	}
	for b.Loop() {
		if err := s.keepEvidence(&record.Result{}, probe.Measured{}, x); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(x.readings.moved()); err != nil {
			b.Fatal(err)
		}
	}
}
