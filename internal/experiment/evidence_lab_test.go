package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A trial's evidence has the devices in the order in which packets pass them, and neighbors agree on how
// many. The settings of a condition are stored once in a block.
func TestEvidenceInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	paths := map[string]string{
		"host":          "h1:eth0> h2:eth0<",
		"bridge":        "h1p1:eth0> h1:p1< h1:p2> h1p2:eth0<",
		"vxlan-overlay": "h1p1:eth0> h1:p1< h1:vx0> h1:eth0> h2:eth0< h2:vx0< h2:p1> h2p1:eth0<",
	}
	s := labStudy(1)
	s.Networks = []study.Use{{Kind: "host"}, {Kind: "bridge"}, {Kind: "vxlan-overlay"}}
	s.Probes = []study.Use{{Kind: "udp-stream"}, {Kind: "tcp-stream"}, {Kind: "udp-rr"}}
	s.Duration = 300 * time.Millisecond // on a busy machine, an end can lack a CPU for 50 ms
	s = s.Resolve()
	dir := results(t, filepath.Join(t.TempDir(), "out"))
	c := labConfig(t, s, dir, topo.Spec{})
	c.Networks["bridge"] = on(t, &network.Bridge{}, topo.Spec{Hosts: 1, Pods: 2})
	probes := map[string]probe.Probe{"udp-stream": &probe.UDPStream{Size: 1000, Rate: 1e8}, "tcp-stream": &probe.TCPStream{CC: "reno"}, "udp-rr": &probe.UDPRR{}}
	c.Probe = func(name string, _ map[string]string) (probe.Probe, error) { return probes[name], nil }
	rs, err := measured(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) != 9 {
		t.Fatalf("%d results, want 9", len(rs))
	}
	read := func(r record.Result, name string) []byte {
		b, err := dir.ReadFile("raw/" + r.Trial + "/" + name)
		if err != nil && name == "evidence.json" {
			t.Fatal(err)
		}
		return b
	}
	settings := map[string]*evidence.Settings{}
	for _, r := range rs {
		if b := read(r, "settings.json"); b != nil {
			found, err := evidence.ParseSettings(b)
			if err != nil {
				t.Fatal(err)
			}
			settings[r.Trial] = found
		}
	}
	if len(settings) != 3 {
		t.Errorf("%d trials have settings, want one per network", len(settings))
	}
	for _, r := range rs {
		if r.Status != record.OK {
			t.Errorf("%s: %s", r.Trial, r.Reason)
			continue
		}
		e, err := evidence.Parse(read(r, "evidence.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range e.Path {
			got = append(got, h.In+":"+h.Dev+map[bool]string{true: ">", false: "<"}[h.Out])
			if h.Queue == nil {
				t.Errorf("%s: %s of %s has no queue", r.Trial, h.Dev, h.In)
			}
		}
		if want := paths[r.Config["network"]]; strings.Join(got, " ") != want {
			t.Errorf("%s:\ngot  %v\nwant %s", r.Trial, got, want)
			continue
		}
		agree(t, r, e)
		checkSettings(t, r, e, settings[e.Settings])
		for _, node := range []string{e.Path[0].In, e.Path[len(e.Path)-1].In} {
			if !slices.Contains(e.Read[node], sample.OfNetstat) || !slices.Contains(e.Read[node], sample.OfQdisc) {
				t.Errorf("%s: in %s only %v were read", r.Trial, node, e.Read[node])
			}
		}
		stream := r.Config["probe"] == "tcp-stream"
		if e.Sender.CPU <= 0 || e.Receiver.CPU <= 0 || (e.Sender.TCP != nil && e.Sender.TCP.SegmentsOut > 0) != stream {
			t.Errorf("%s: the engines measured %+v and %+v", r.Trial, e.Sender, e.Receiver)
		}
		if len(e.Hosts) != 1 || e.Seconds <= 0 || e.Sender.Node != e.Path[0].In || e.Receiver.Node != e.Path[len(e.Path)-1].In {
			t.Errorf("%s: hosts %v, %v s, from %s to %s", r.Trial, e.Hosts, e.Seconds, e.Sender.Node, e.Receiver.Node)
		}
	}
}

// agree checks that neighbors counted alike: packets where datagrams stay whole, bytes where TCP's are cut
// and joined. A few packets of the network itself and of what is under way may differ.
func agree(t *testing.T, r record.Result, e *evidence.Trial) {
	t.Helper()
	for i := 1; i < len(e.Path); i++ {
		a, b := e.Path[i-1], e.Path[i]
		if r.Config["probe"] == "tcp-stream" {
			if ratio := b.Data.Bytes / a.Data.Bytes; ratio < 0.9 || ratio > 1.1 {
				t.Errorf("%s: %s of %s counted %.0f bytes, %s of %s then %.0f", r.Trial, a.Dev, a.In, a.Data.Bytes, b.Dev, b.In, b.Data.Bytes)
			}
			continue
		}
		sent := a.Data.Packets - a.Data.Drops
		if few := 20 + sent/100; sent < 10 || b.Data.Packets < sent-few || b.Data.Packets > sent+few {
			t.Errorf("%s: %s of %s counted %.0f packets, %s of %s then %.0f", r.Trial, a.Dev, a.In, sent, b.Dev, b.In, b.Data.Packets)
		}
	}
	if udp := e.Nodes[e.Receiver.Node]["udp.InDatagrams"]; r.Config["probe"] == "udp-rr" && udp < 10 {
		t.Errorf("%s: %v datagrams received", r.Trial, udp)
	}
}

func checkSettings(t *testing.T, r record.Result, e *evidence.Trial, found *evidence.Settings) {
	t.Helper()
	if found == nil {
		t.Errorf("%s: no settings of %q", r.Trial, e.Settings)
		return
	}
	for _, h := range e.Path {
		p := found.Places[h.In]
		d, ok := p.Devices[h.Dev]
		kind := map[bool]string{true: "vxlan", false: "veth"}[h.Dev == "vx0"]
		mtu := map[bool]int{true: 1450, false: 1500}[r.Config["network"] == "vxlan-overlay" && !(h.Dev == "eth0" && (h.In == "h1" || h.In == "h2"))]
		if !ok || d.Kind != kind || d.MTU != mtu || d.GSOMax == 0 || d.Qdisc == "" || len(d.Features) < 32 {
			t.Errorf("%s: %s of %s is %+v, want a %s of MTU %d", r.Trial, h.Dev, h.In, d, kind, mtu)
		}
		if len(p.PathMTU) > 0 || p.Rules == nil || *p.Rules != 0 {
			t.Errorf("%s: %s has path MTUs %v, rules %v, unknown %v", r.Trial, h.In, p.PathMTU, p.Rules, p.Unknown)
		}
	}
}

// meddled is a lab in which something changes a device of the first host behind weir's back.
type meddled struct{ target.Target }

func (m meddled) Open(ctx context.Context, want topo.Topology, logs string) (*target.Site, error) {
	site, err := m.Target.Open(ctx, want, logs)
	if err != nil {
		return nil, err
	}
	apply := site.Apply
	site.Apply = func(ctx context.Context, steps []plan.Step) error {
		if err := apply(ctx, steps); err != nil {
			return err
		}
		return apply(ctx, []plan.Step{{In: "h1", Rate: &plan.Rate{Dev: "eth0", Rate: 1e10, MTU: 1500}}})
	}
	return site, nil
}

// The settings of a path say what something other than the plan changed, and not what the plan changed.
func TestUnlikePlanInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for name, c := range map[string]struct {
		target target.Target
		link   float64
		want   string
	}{
		"sound":   {lab.Target{}, 0, "map[]"},
		"limited": {lab.Target{}, 1e9, "map[]"},
		"meddled": {meddled{lab.Target{}}, 0, "map[eth0 qdisc:[tbf noqueue]]"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := results(t, filepath.Join(t.TempDir(), "out"))
			conf := labConfig(t, labStudy(1), dir, topo.Spec{Rate: c.link})
			conf.Target = c.target
			rs, err := measured(t.Context(), conf)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				b, err := dir.ReadFile("raw/" + r.Trial + "/settings.json")
				if err != nil {
					t.Fatal(err)
				}
				found, err := evidence.ParseSettings(b)
				if err != nil {
					t.Fatal(err)
				}
				for in, p := range found.Places {
					want := "map[]"
					if in == "h1" {
						want = c.want
					}
					if got := fmt.Sprint(p.Unlike); got != want {
						t.Errorf("%s: %s is unlike the plan in %s, want %s", r.Trial, in, got, want)
					}
				}
			}
		})
	}
}

// BenchmarkEvidence reads the counters around a trial of the overlay's four nodes, with and without those
// that only evidence needs, and the settings of a condition:
//
//	go test ./internal/experiment -run '^$' -bench Evidence
//
// cpu-µs/trial is user and system time of this process.
func BenchmarkEvidence(b *testing.B) {
	nstest.Need(b)
	site, err := lab.Target{}.Open(b.Context(), mustTopology(b), "")
	if err != nil {
		b.Fatal(err)
	}
	defer site.Close()
	p, err := network.Build(&network.VXLANOverlay{VNI: 1, Port: 4789}, site.Topology)
	if err != nil {
		b.Fatal(err)
	}
	if err := site.Apply(b.Context(), p.Steps); err != nil {
		b.Fatal(err)
	}
	places := map[string][]string{"h1": {"p1", "br0", "vx0", "eth0"}, "h2": {"p1", "br0", "vx0", "eth0"}, "h1p1": {"eth0"}, "h2p1": {"eth0"}}
	before := []string{sample.OfNetDev, sample.OfSNMP, sample.OfReassembly}
	for name, read := range map[string]func(place string){
		"without": func(place string) { _, _ = site.Nodes[place].Sample(b.Context(), before...) },
		"with": func(place string) {
			_, _ = site.Nodes[place].Sample(b.Context(), append(before, sample.OfNetstat, sample.OfQdisc)...)
		},
		"settings": func(place string) { _, _ = site.Nodes[place].Settings(b.Context(), places[place], nil) },
	} {
		b.Run(name, func(b *testing.B) {
			times := map[bool]int{true: 1, false: 2}[name == "settings"] // first and last
			used := cpuTime()
			for b.Loop() {
				for range times {
					for place := range places {
						read(place)
					}
				}
			}
			b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(b.N), "cpu-µs/trial")
		})
	}
}

func mustTopology(b *testing.B) topo.Topology {
	b.Helper()
	t, err := topo.New(topo.Spec{Hosts: 2, Pods: 1})
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprint("getrusage: ", err)) // only for a bad argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
