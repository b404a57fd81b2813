package experiment

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// A long window is sampled inside: CPUs, the engine's threads by their place, and the devices of both ends. The
// sampled time of a thread is that of its own clock.
func TestInside(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	fail := nstest.Judge(t)
	s := labStudy(1)
	s.Duration = 2 * time.Second
	dir := results(t, filepath.Join(t.TempDir(), "out"))
	c := labConfig(t, s, dir, topo.Spec{})
	c.Probe = func(string, map[string]string) (probe.Probe, error) { return &probe.TCPStream{CC: "reno"}, nil }
	rs, err := measured(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.Status != record.OK {
			t.Fatalf("%s: %s", r.Trial, r.Reason)
		}
		b, err := dir.ReadFile("raw/" + r.Trial + "/inside.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		all, err := sample.ParseSeries(b)
		if err != nil || len(all) != 1 || len(all[0].At) < 12 {
			t.Fatalf("%s: %d hosts, %v", r.Trial, len(all), err)
		}
		x := all[0]
		ends := map[string]string{"client": "h1", "server": "h2"}
		if r.Config["network"] == "vxlan-overlay" {
			ends = map[string]string{"client": "h1p1", "server": "h2p1"}
		}
		for end, value := range map[string]string{"client": "weir-engine-agent", "server": "weir-engine-serve"} {
			own, _ := r.Value(record.CPUOwn.At(end))
			if v, ok := r.Value(record.CPUThread.Thread(ends[end], value, "")); !ok || v.Value != own.Value {
				t.Errorf("%s: the %s's thread has %v, not its own clock's %v", r.Trial, end, v.Value, own.Value)
			}
			most := 0.0
			for _, th := range x.Threads {
				if share, ok := x.Share(th); ok && th.Place == ends[end] && th.Name == value {
					most = max(most, share)
				}
			}
			if most < 0.75*own.Value-0.05 || most > 1.25*own.Value+0.05 {
				fail("%s: the %s's thread used %.3f of a CPU as sampled, %.3f by its own clock", r.Trial, end, most, own.Value)
			}
			if !slices.ContainsFunc(x.Devices, func(d sample.Device) bool { return d.End == end && d.Place == ends[end] && d.Dir == "rx" }) {
				t.Errorf("%s: no device of the %s: %+v", r.Trial, end, x.Devices)
			}
		}
		modes := 0
		for _, m := range x.Modes {
			if strings.HasPrefix(m.CPU, "cpu") && m.CPU != "cpu" {
				modes++
			}
		}
		if modes < 2 || x.CPUs < 1 {
			t.Errorf("%s: %d modes of %d CPUs", r.Trial, modes, x.CPUs)
		}
	}
}
