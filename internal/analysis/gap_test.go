package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// ways returns the cells of a network with given costs per pass and per packet, in s.
func ways(network string, pass, packet float64, blocks int) (rs []record.Result) {
	const datagram, header = 1398, 42
	type cell struct {
		probe, send, recv, offload string
		together                   float64 // packets
		more                       float64 // s per packet
	}
	cells := []cell{
		{"a", "single", "mmsg", "on", 1, 2e-6}, {"a", "single", "mmsg", "off", 1, 2e-6},
		{"b", "mmsg", "mmsg", "on", 1, 1.9e-6}, {"b", "mmsg", "mmsg", "off", 1, 1.9e-6},
		{"c", "gso", "mmsg", "on", 46, 0.5e-6}, {"c", "gso", "mmsg", "off", 1, 0.5e-6},
		{"d", "gso", "gro", "on", 46, 0}, {"d", "gso", "gro", "off", 1, 0},
		{"e", "single", "single", "on", 1, 3e-6}, {"f", "single", "gro", "on", 1, 1e-6},
		{"t", "copy", "copy", "on", 30, 0}, {"t", "copy", "copy", "off", 1, 0},
	}
	for block := range blocks {
		speed := 1 + 0.3*math.Sin(float64(block)) // of the machine, common to a block
		for _, c := range cells {
			r := result(block+1, network, c.probe, 8*datagram*speed/(packet+c.more+pass/c.together), "offload", c.offload)
			r.Observed = map[string]string{"tool": "weir engine", "send": c.send, "recv": c.recv}
			size := c.together*datagram + header
			if c.probe == "t" {
				r.Observed["mss"], r.Observed["streams"] = "1448", "1"
				size = c.together*1448 + header + 24
			} else {
				r.Observed["datagram"] = "1398"
			}
			r.Values = append(r.Values, record.Value{Name: "packet.size.path", Unit: "byte", Value: size},
				record.Value{Name: "packet.size", Unit: "byte", Value: 9}, // path counters take precedence
				record.Value{Name: "cpu.per.bit", Unit: "s/bit", Value: 1},
				record.Value{Name: "cpu.busy", Unit: "core", Value: 2})
			rs = append(rs, r)
		}
	}
	return rs
}

func gaps(t *testing.T, rs []record.Result) []Gap {
	t.Helper()
	return New(rs, Options{Baseline: "host", Networks: []string{"host", "vx"}}).Gaps()
}

// The model's own numbers come back: steps, total, checks and the cost added to a pass.
func TestGap(t *testing.T) {
	const host, vx, packet = 1e-6, 3e-6, 0.2e-6
	gs := gaps(t, append(ways("host", host, packet, 12), ways("vx", vx, packet, 12)...))
	if len(gs) != 2 || gs[0].Network != "host" || gs[1].Network != "vx" || gs[0].Extra != nil {
		t.Fatalf("%+v", gs)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	for i, pass := range []float64{host, vx} {
		g := gs[i]
		if g.Blocks != 12 || g.Busy != nil || g.Datagram != 1398 || g.Segment != 1448 || !g.Total.Bounded() {
			t.Errorf("%s: %+v", g.Network, g)
		}
		times := []float64{packet + 2e-6 + pass, packet + 1.9e-6 + pass, packet + 0.5e-6 + pass/46, packet + pass/46, packet + pass/30}
		for n, w := range g.Modes {
			if w.Kind != modeOrder[n] {
				t.Errorf("way %d is %s", n, w.Kind)
			}
			near(w.Kind+" together", w.Together, []float64{1, 1, 46, 46, 30}[n])
			if n > 0 {
				near("step to "+w.Kind, w.Step.Center, times[n-1]/times[n])
			}
		}
		near("total", g.Total.Center, times[0]/times[4])
		near("product", g.Product, times[0]/times[4])
		for n, want := range []struct {
			name  string
			ratio float64
		}{
			{CheckProtocol, (packet + 2e-6 + pass) / (packet + pass)},
			{CheckOffload, (packet + pass/30) / (packet + pass)},
			{CheckReads, (packet + 3e-6 + pass) / (packet + 2e-6 + pass)},
			{CheckGRO, (packet + 2e-6 + pass) / (packet + 1e-6 + pass)},
		} {
			if g.Checks[n].Name != want.name {
				t.Errorf("check %d is %s", n, g.Checks[n].Name)
			}
			near(want.name, g.Checks[n].Ratio.Center, want.ratio)
		}
		if want := 4 + 1 + 4 + len(g.Extra); g.Intervals != want || math.Abs(1-float64(want)*(1-g.Each)-0.95) > 1e-9 {
			t.Errorf("%d intervals at %g, want %d", g.Intervals, g.Each, want)
		}
	}
	for n, kind := range []string{Single, GSOGRO, TCP} { // passes cost the same, however many packets share them
		e := gs[1].Extra[n]
		if e.Kind != kind || !e.Time.Bounded() || e.PerPass() < 0.75*(vx-host) || e.PerPass() > 1.4*(vx-host) { // includes the machine's speed
			t.Errorf("extra of %s: %+v, %g per pass", e.Kind, e, e.PerPass())
		}
		near(kind+" CPU", e.CPU, 2*(vx-host)/[]float64{1, 46, 30}[n]/meanSpeed(12))
	}
}

func meanSpeed(blocks int) float64 {
	sum := 0.0
	for block := range blocks {
		sum += 1 + 0.3*math.Sin(float64(block))
	}
	return sum / float64(blocks)
}

// Gaps omit missing measurements and reject incomparable ones.
func TestGapNeeds(t *testing.T) {
	without := func(probes string) func(*record.Result) bool {
		return func(r *record.Result) bool { return strings.Contains(probes, r.Config["probe"]) }
	}
	found := func(probe, key, value string) func(*record.Result) bool {
		return func(r *record.Result) bool {
			if r.Config["probe"] == probe {
				r.Observed[key] = value
			}
			return false
		}
	}
	for _, tc := range []struct {
		name string
		edit func(*record.Result) (drop bool)
		want string // the modes of the first gap
		n    int    // its checks
	}{
		{"all", without(""), "single mmsg gso gso-gro tcp", 4},
		{"no sendmmsg", without("b"), "single gso gso-gro tcp", 4},
		{"no GRO", without("df"), "single mmsg gso tcp", 3},
		{"one way between", without("bcef"), "single gso-gro tcp", 2},
		{"no way between", without("bcd"), "", 0},
		{"no TCP", without("t"), "", 0},
		{"no single sends", without("a"), "", 0},
		{"nothing without offload", func(r *record.Result) bool { return r.Config["offload"] == "off" }, "single mmsg gso gso-gro tcp", 2},
		{"nothing with offload", func(r *record.Result) bool { return r.Config["offload"] == "on" }, "", 0},
		{"offload is no factor", func(r *record.Result) bool {
			drop := r.Config["offload"] == "off"
			delete(r.Config, "offload")
			return drop
		}, "single mmsg gso gso-gro tcp", 2},
		{"other tools", func(r *record.Result) bool { r.Observed["tool"] = "iperf3"; return false }, "", 0},
		{"jumbo TCP", found("t", "mss", "8948"), "", 0},
		{"many streams", found("t", "streams", "2"), "", 0},
		{"TCP that does not copy", found("t", "recv", "discard"), "", 0},
		{"paced TCP", found("t", "rate", "1000000"), "", 0},
		{"paced UDP", found("a", "rate", "1000000"), "", 0},
		{"GSO of other datagrams", found("c", "datagram", "100"), "single mmsg gso-gro tcp", 4},
		{"another factor that varies", func(r *record.Result) bool {
			if r.Config["probe"] == "t" {
				r.Config["mtu"] = "9000"
			}
			return false
		}, "", 0},
	} {
		var rs []record.Result
		for _, r := range ways("host", 1e-6, 2e-7, 12) {
			if !tc.edit(&r) {
				rs = append(rs, r)
			}
		}
		got, n := "", 0
		for _, g := range gaps(t, rs) {
			var kinds []string
			for _, w := range g.Modes {
				kinds = append(kinds, w.Kind)
			}
			got, n = strings.Join(kinds, " "), len(g.Checks)
		}
		if got != tc.want || n != tc.n {
			t.Errorf("%s: %q with %d checks, want %q with %d", tc.name, got, n, tc.want, tc.n)
		}
	}
}

// Other factors and datagram sizes make separate gaps.
func TestGapsByLevel(t *testing.T) {
	var rs []record.Result
	for _, nic := range []string{"full", "none"} {
		for _, r := range ways("host", 1e-6, 2e-7, 12) {
			r.Trial, r.Config["nic"] = r.Trial+nic, nic
			rs = append(rs, r)
		}
	}
	gs := gaps(t, rs)
	if len(gs) != 2 || fmt.Sprint(gs[0].Levels, gs[1].Levels) != "map[nic:full] map[nic:none]" {
		t.Fatalf("%+v", gs)
	}
}

// A block needs every mode to be ok. If too few are undisturbed, all count.
func TestGapBlocks(t *testing.T) {
	rs := ways("host", 1e-6, 2e-7, 12)
	spoil := func(probe string, status record.Status, blocks ...int) []record.Result {
		out := slices.Clone(rs)
		for i := range out {
			if out[i].Config["probe"] == probe && out[i].Config["offload"] == "on" && slices.Contains(blocks, out[i].Block) {
				out[i].Status = status
			}
		}
		return out
	}
	if g := gaps(t, spoil("b", record.Failed, 3, 5))[0]; g.Blocks != 10 || g.Total.N != 10 || g.Modes[3].Step.N != 10 {
		t.Errorf("%d blocks, total of %d: want 10", g.Blocks, g.Total.N)
	}
	g := gaps(t, spoil("b", record.Disturbed, 1, 2, 3, 4, 5))[0]
	if g.Busy == nil || g.Busy.Blocks != 5 || g.Total.N != 12 || g.Checks[0].Ratio.N != 12 {
		t.Errorf("%+v: total %+v, checks %+v; want all 12 blocks to count", g.Busy, g.Total, g.Checks)
	}
}

func TestBetween(t *testing.T) {
	if got := fmt.Sprint(Between(Single, Mmsg), Between(Single, GSOGRO), Between(GSO, TCP)); got != "[mmsg] [mmsg gso gso-gro] [gso-gro tcp]" {
		t.Error(got)
	}
}

// Runs pool their gaps step by step, and each keeps its center; a network that one run lacks has none.
func TestPoolGaps(t *testing.T) {
	run := func(factor float64, networks ...string) *Run {
		var rs []record.Result
		for i, n := range networks {
			rs = append(rs, ways(n, float64(1+2*i)*1e-6*factor, 0.2e-6, 12)...)
		}
		return New(rs, Options{Baseline: "host", Networks: networks})
	}
	same := []*Run{run(1, "host", "vx"), run(1, "host", "vx"), run(1, "host", "vx")}
	one, all := same[0].Gaps(), PoolGaps(same, 0)
	if len(all) != 2 || all[1].Network != "vx" || len(all[1].Modes) != 5 || !all[1].Total.Bounded() || all[1].Total.N != 3 {
		t.Fatalf("%+v", all)
	}
	for i, g := range all {
		for n, m := range g.Modes[1:] {
			if want := one[i].Modes[n+1]; m.Kind != want.Kind || math.Abs(m.Step.Center/want.Step.Center-1) > 1e-9 || !m.Step.Bounded() || m.Rate.N != 0 {
				t.Errorf("%s, step to %s: %+v, want the center %g", g.Network, m.Kind, m.Step, want.Step.Center)
			}
		}
	}
	apart := PoolGaps([]*Run{run(1, "host", "vx"), run(3, "host", "vx"), run(0.3, "host", "vx")}, 0)
	if a, b := apart[1].Total, all[1].Total; a.Hi/a.Lo < 1.2*b.Hi/b.Lo {
		t.Errorf("runs that differ have an interval as narrow as equal ones: %+v, %+v", a, b)
	}
	if gs := PoolGaps([]*Run{run(1, "host", "vx"), run(1, "host")}, 0); len(gs) != 1 || gs[0].Network != "host" {
		t.Errorf("a network that one run lacks: %+v", gs)
	}
	if PoolGaps(nil, 0) != nil {
		t.Error("no run has a gap")
	}
}
