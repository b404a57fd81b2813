package experiment

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// A fakeProfiler has one sample of each window.
type fakeProfiler struct{ begun, windows int }

func (p *fakeProfiler) begin(context.Context, target.Node) (trial.Profiler, error) {
	p.begun++
	return p, nil
}

func (p *fakeProfiler) Stop(from, to time.Duration) (*profile.Profile, error) {
	if p.windows++; to <= from {
		return nil, errors.New("no window")
	}
	return &profile.Profile{Duration: time.Second, Period: time.Millisecond, Stacks: []profile.Stack{{Frames: []string{"client"}, Samples: 1}}}, nil
}

// Profile trials follow the others, are in no other result, and are resumed.
func TestProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, why, ran := filepath.Join(t.TempDir(), "out"), errors.New("enough"), 0
		ctx, cancel := context.WithCancelCause(t.Context())
		s := fakeStudy(1)
		s.Profile = true
		m := &machine{measure: func(context.Context, string, int) (float64, error) {
			if ran++; ran == 7 {
				cancel(why)
			}
			return 1e9, nil
		}}
		p := &fakeProfiler{}
		with := func(c Config) Config {
			c.Profile = p.begin
			return c
		}
		c := with(config(t, m, s, dir))
		if err := Run(ctx, c); !errors.Is(err, why) {
			t.Fatalf("error %v, want the cause", err)
		}
		if done, err := Finished(s, nil, c.Dir); done || err != nil {
			t.Errorf("finished without profiles: %v, %v", done, err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		c = with(config(t, m, s, dir))
		rs, err := measured(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := Finished(s, nil, c.Dir); !done || err != nil {
			t.Errorf("finished %v in the end, error %v", done, err)
		}
		trials := 2 * profile.Blocks
		if len(rs) != 2 || ran != 2+trials+1 || p.windows != trials+1 || p.begun != p.windows {
			t.Errorf("%d results, %d trials, %d profilers, of which %d ended", len(rs), ran, p.begun, p.windows)
		}
		read, err := store.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(read.Results) != 2 || len(read.Profiles) != trials {
			t.Fatalf("%d results and %d profiles are stored", len(read.Results), len(read.Profiles))
		}
		raw := store.OpenRaw(dir)
		for _, r := range read.Profiles {
			b, err := raw.Read(r.Trial, trial.ProfileFile)
			if err != nil || r.Status != record.OK {
				t.Fatalf("%s: %s, %v", r.Trial, r.Reason, err)
			}
			if _, err := profile.Parse(b); err != nil {
				t.Errorf("%s: %v", r.Trial, err)
			}
		}
	})
}

// Cells of foreign tools have no profile, with the reason.
func TestNoProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(1)
		s.Profile, s.Networks = true, s.Networks[:1]
		dir := filepath.Join(t.TempDir(), "out")
		c := config(t, &machine{}, s, dir)
		c.Probe = func(string, map[string]string) (probe.Probe, error) { return tool{"iperf9"}, nil }
		p := &fakeProfiler{}
		c.Profile = p.begin
		if err := Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		read, err := store.Read(dir)
		if err != nil || len(read.Profiles) != profile.Blocks || p.windows > 0 {
			t.Fatalf("%d profiles, %d windows, %v", len(read.Profiles), p.windows, err)
		}
		for _, r := range read.Profiles {
			if r.Status != record.Skipped || !strings.Contains(r.Reason, "foreign tool") {
				t.Errorf("%s: %s %s", r.Trial, r.Status, r.Reason)
			}
		}
	})
}

// The samples of a real path add up to the clocks of the engine's threads, and most of what an overlay adds is in
// the layers that it consists of.
func TestProfileInTheLab(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	t.Parallel()
	if err := profile.Check(local.CPUs()); err != nil {
		t.Skipf("no profiles: %v", err)
	}
	dir, read := profileInLab(t, 1, 20*time.Millisecond)
	of, raw, waited := map[string][]profile.Trial{}, store.OpenRaw(dir), 0.0
	for i := range read.Profiles {
		r := &read.Profiles[i]
		b, err := raw.Read(r.Trial, trial.ProfileFile)
		if err != nil || r.Status != record.OK {
			t.Fatalf("%s: %s, %v", r.Trial, r.Reason, err)
		}
		p, err := profile.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := r.Value(record.Quantity("cpu.wait").At("client"))
		waited = max(waited, v.Value)
		if one, ok := profile.TrialOf(r, p); ok {
			of[r.Config["network"]] = append(of[r.Config["network"]], one)
		}
	}
	d, ok := profile.Compare(of["host"], of["vxlan-overlay"], 0.95)
	if !ok || d.Blocks != profile.Blocks {
		t.Fatalf("%d blocks, %v", d.Blocks, ok)
	}
	for _, x := range []profile.Row{d.Sum, d.Engine, d.Clock} {
		t.Logf("%s: %.0f → %.0f, extra %.0f [%.0f, %.0f] ns per packet", x.Layer, x.Base, x.Here, x.Extra.Center, x.Extra.Lo, x.Extra.Hi)
	}
	// The server naps, and its clock is above its samples, probably by the interrupts of its timers (ADR 46).
	t.Logf("by end: samples %.0f, clocks %.0f; both deviate by up to %.1f %%", d.Sampled, d.Clocked, 100*d.Agree())
	// Where others use the CPUs, the moments at which sampling begins and ends are late by many packets.
	switch off := math.Abs(d.Sampled.Client/d.Clocked.Client - 1); {
	case waited > 0.05:
		t.Logf("the machine is busy: the client waited for up to %.2f of the time, and its samples differ from its clock by %.1f %%", waited, 100*off)
	case off > 0.1:
		t.Errorf("the client's samples differ from its clock by %.1f %%, want at most 10 %%", 100*off)
	}
	for _, layer := range []string{"bridge", "vxlan and tunnels", "veth", "IP and route"} {
		i := slices.IndexFunc(d.Rows, func(r profile.Row) bool { return r.Layer == layer })
		if i < 0 || d.Rows[i].Extra.Center <= 0 {
			t.Errorf("the overlay adds nothing to %s", layer)
		}
	}
}

// BenchmarkProfile reports what sampling costs: the packet rate and the own CPU time per packet of profile trials ÷ those
// of the other trials of a run, which have the same windows, with the 95 % interval over the pairs of one block. An
// iteration has six pairs of each network and takes a minute; the rate needs a quiet machine:
//
//	go test ./internal/experiment -run xxx -bench Profile -benchtime 2x
func BenchmarkProfile(b *testing.B) {
	nstest.Need(b)
	if err := profile.Check(local.CPUs()); err != nil {
		b.Skipf("no profiles: %v", err)
	}
	pairs := map[string]*[2][]float64{} // without and with samples
	for b.Loop() {
		_, read := profileInLab(b, profile.Blocks, profile.Window)
		for i, rs := range [][]record.Result{read.Results, read.Profiles} {
			slices.SortFunc(rs, func(x, y record.Result) int { return x.Block - y.Block })
			for _, r := range rs {
				if r.Block > profile.Blocks {
					continue // a disturbed block, measured again
				}
				for _, value := range []record.Quantity{"packet.rate", "cpu.own.per.packet"} {
					v, ok := r.Get(value)
					if !ok {
						v.Value = math.NaN() // no part of a pair
					}
					of := r.Config["network"] + "-" + string(value)
					if pairs[of] == nil {
						pairs[of] = new([2][]float64)
					}
					pairs[of][i] = append(pairs[of][i], v.Value)
				}
			}
		}
	}
	for of, p := range pairs {
		ratio := stat.Ratio(p[0], p[1], 0.95)
		for bound, v := range map[string]float64{"": ratio.Center, "-from": ratio.Lo, "-to": ratio.Hi} {
			b.ReportMetric(v, of+bound)
		}
	}
}

// profileInLab measures and profiles the packet rate of host and vxlan-overlay, and returns the directory and its
// results.
func profileInLab(t testing.TB, blocks int, window time.Duration) (string, store.Contents) {
	t.Helper()
	s := labStudy(blocks)
	s.Profile, s.Duration, s.Probes = true, window, []study.Use{{Kind: "udp-stream", Name: "udp-stream"}}
	dir := filepath.Join(t.TempDir(), "out")
	c := labConfig(t, s, results(t, dir), topo.Spec{})
	c.Probe = func(string, map[string]string) (probe.Probe, error) { return &probe.UDPStream{Size: 64}, nil }
	c.Profile = func(context.Context, target.Node) (trial.Profiler, error) { return profile.Record(local.CPUs(), false) }
	if err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	read, err := store.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, read
}
