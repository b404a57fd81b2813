package analysis

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
	"gonum.org/v1/gonum/mathext"
)

// sessionOf is a run in which bridge ÷ host is around ratio, within 1 %.
func sessionOf(ratio float64) *Run {
	var out []record.Result
	for b := 1; b <= 12; b++ {
		speed := 1e9 * (1 + 0.1*float64(b))
		out = append(out, result(b, "host", "tcp-stream", speed), result(b, "bridge", "tcp-stream", ratio*speed*(1+0.01*float64(b*7%5-2))))
	}
	return New(out, Options{Baseline: "host"})
}

// cell finds a pooled cell.
func (p *Pooled) cell(t *testing.T, network, probe string) PooledCell {
	t.Helper()
	for _, c := range p.Cells {
		if c.Network == network && c.Probe == probe {
			return c
		}
	}
	t.Fatalf("no cell %s, %s", network, probe)
	return PooledCell{}
}

// Each run by itself excludes the ratios of the others; together they cover the truth.
func TestPoolCoversWhatRunsDifferBy(t *testing.T) {
	runs := []*Run{sessionOf(0.58), sessionOf(0.61), sessionOf(0.66), sessionOf(0.60), sessionOf(0.63)}
	if a, b := row(t, runs[0], 0, "bridge").Ratio, row(t, runs[2], 0, "bridge").Ratio; a.Hi > b.Lo {
		t.Fatalf("the runs do not differ: %+v, %+v", a, b)
	}
	p := Pool(runs, 0)
	c := p.cell(t, "bridge", "tcp-stream")
	if p.Runs != 5 || p.Confidence != 0.95 || p.Each != 0.95 || p.Baseline != "host" || !slices.Equal(p.Networks, []string{"host", "bridge"}) {
		t.Errorf("%+v", p)
	}
	if c.Ratio.N != 5 || c.Ratio.Lo > 0.60 || c.Ratio.Hi < 0.63 || c.Ratio.Tau < 0.03 || c.Verdict != Slower || c.Counted() != 5 {
		t.Errorf("ratio %+v, verdict %s", c.Ratio, c.Verdict)
	}
	if !c.Ratio.Next.Contains(0.56) || c.Ratio.Contains(0.56) {
		t.Errorf("the next run is predicted in %+v", c.Ratio.Next)
	}
	b := c.Budget
	if b.Between < b.Within || b.TypeB <= 0 || b.Source == "" || b.Combined < b.Between ||
		math.Abs(b.Combined*b.Combined-b.Within*b.Within-b.Between*b.Between-b.TypeB*b.TypeB) > 1e-12 {
		t.Errorf("budget %+v", b)
	}
	host := p.cell(t, "host", "tcp-stream")
	if !host.Baseline || host.Ratio.N != 0 || host.Verdict != "" || host.Value.N != 5 || math.Abs(host.Value.Center/1.65e9-1) > 0.01 {
		t.Errorf("baseline %+v", host)
	}
	if _, err := json.Marshal(p); err != nil {
		t.Error(err)
	}
}

// A run that cannot count stays, with the reason.
func TestPoolListsWhatItLeavesOut(t *testing.T) {
	alone := New([]record.Result{result(1, "bridge", "tcp-stream", 1e9), result(1, "host", "udp-stream", 1e9), result(1, "bridge", "udp-stream", 1e9)},
		Options{Baseline: "host"})
	failed := drifting(12)
	for i := range failed {
		if failed[i].Config[Network] == "host" {
			failed[i].Status, failed[i].Reason = record.Failed, "killed"
		}
	}
	other := drifting(12)
	for i := range other {
		other[i].Values[0] = record.Value{Name: "packet.rate", Unit: "packet/s", Value: 1e5}
	}
	runs := []*Run{sessionOf(0.6), alone, New(failed, Options{Baseline: "host"}), sessionOf(0.62), New(other, Options{Baseline: "host"})}
	p := Pool(runs, 0.95)
	c := p.cell(t, "bridge", "tcp-stream")
	for i, want := range []string{"", "shares no block with the baseline|the baseline has no ok trial", "the baseline has no ok trial", "", "measures packet.rate in packet/s"} {
		if got := c.PerRun[i].Missing; !slices.Contains(strings.Split(want, "|"), got) {
			t.Errorf("run %d: %q, want %q", i+1, got, want)
		}
	}
	if c.Ratio.N != 2 || !c.Ratio.Bounded() || c.Counted() != 2 {
		t.Errorf("ratio %+v", c.Ratio)
	}
	u := p.cell(t, "bridge", "udp-stream")
	if u.Ratio.N != 1 || u.Verdict != NoInterval || u.PerRun[0].Missing != "not measured" || len(u.PerRun) != 5 {
		t.Errorf("one run only: %+v", u)
	}
	if empty := Pool(nil, 0); len(empty.Cells) != 0 || empty.Each != 0.95 {
		t.Errorf("no runs: %+v", empty)
	}
}

// Cells of other levels are other cells; factors that differ only between runs are named.
func TestPoolAlignsLevels(t *testing.T) {
	at := func(mtu string) *Run {
		var out []record.Result
		for b := 1; b <= 8; b++ {
			out = append(out, result(b, "host", "tcp-stream", 1e9, "mtu", mtu), result(b, "bridge", "tcp-stream", 8e8+1e6*float64(b%3), "mtu", mtu))
		}
		return New(out, Options{Baseline: "host"})
	}
	p := Pool([]*Run{at("1500"), at("9000"), at("1500")}, 0)
	if len(p.Cells) != 4 || p.Cells[0].Levels["mtu"] != "1500" || p.Cells[0].Value.N != 2 || p.Cells[3].Value.N != 1 || p.Cells[3].String() != "bridge, tcp-stream, mtu 9000" {
		t.Errorf("%+v", p.Cells)
	}
}

func TestVerdictKnowsTheBetterDirection(t *testing.T) {
	up := stat.Interval{Center: 1.2, Lo: 1.1, Hi: 1.3, Confidence: 0.95, N: 3}
	none := stat.Interval{Center: 1.2, Lo: 0.9, Hi: 1.3, Confidence: 0.95, N: 3}
	for _, c := range []struct {
		i    stat.Interval
		unit string
		want Verdict
	}{{up, "bit/s", Faster}, {up, "s", Slower}, {up.Inverse(), "bit/s", Slower}, {up.Inverse(), "s", Faster}, {none, "s", NoDifference}, {stat.Interval{Center: 2, N: 1}, "s", NoInterval}} {
		if got := judge(c.i, "", c.unit); got != c.want {
			t.Errorf("%v in %s: %s, want %s", c.i.Center, c.unit, got, c.want)
		}
	}
}

func TestTypeB(t *testing.T) {
	for name, c := range map[string][2]float64{
		"one datagram at each edge of 100 in 1 s": {typeB("packet/s", 100, 1), math.Sqrt2 / 100 / math.Sqrt(12)},
		"half a core for 1 s by ticks":            {typeB("core", 0.5, 1), math.Sqrt2 * 0.02 / math.Sqrt(12)},
		"CPU time per packet":                     {typeB("s/packet", 1e-6, 0.1), math.Sqrt2 * 0.1 / math.Sqrt(12)},
		"60 µs":                                   {typeB("s", 60e-6, 1), math.Sqrt2 * 1e-3 / math.Sqrt(12)},
		"unknown window":                          {typeB("1/s", 100, 0), typeB("1/s", 100, shortWindow)},
		"exact":                                   {typeB("1", 0.1, 1), 0},
		"unknown unit":                            {typeB("furlong", 1, 1), 0},
		"no value":                                {typeB("s", 0, 1), 0},
	} {
		if math.Abs(c[0]-c[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	for unit, b := range typeBs {
		if b.source == "" || typeB(unit, 1, 1) == 0 && !strings.HasPrefix(b.source, "none") {
			t.Errorf("%s: %+v gives no reason", unit, b)
		}
	}
}

// A known spread widens the ratio beyond the run, and leaves the run's own.
func TestLearn(t *testing.T) {
	r := sessionOf(0.6)
	before := row(t, r, 0, "bridge").Ratio
	asked := 0
	r.Learn(func(*Table, *Row) (Spread, bool) { asked++; return Spread{Tau: 0.06, Runs: 8}, true }, nil)
	got := row(t, r, 0, "bridge")
	if asked != 1 || got.Ratio.Lo != before.Lo || got.Ratio.Hi != before.Hi || got.OtherRuns == nil || got.OtherRuns.Runs != 8 {
		t.Fatalf("asked %d times: %+v", asked, got.OtherRuns)
	}
	// t has the degrees of freedom of the run, which are fewer than the 7 of the spread.
	x := mathext.InvRegIncBeta(before.DF/2, 0.5, 0.05)
	half := math.Sqrt(before.DF*(1-x)/x) * math.Hypot(0.06, before.LogSE())
	if i := got.OtherRuns.Interval; math.Abs(math.Log(i.Hi/i.Center)-half) > 1e-4 || math.Abs(math.Log(i.Center/i.Lo)-half) > 1e-4 || i.Center != before.Center {
		t.Errorf("%+v, want ± %v", i, half)
	}
	if row(t, r, 0, "host").OtherRuns != nil {
		t.Error("the baseline has a spread")
	}
}

// A run in which a network stalled in most trials is not left out of the pooled ratio.
func TestPoolWithStalls(t *testing.T) {
	o := Options{Baseline: "host"}
	runs := []*Run{New(drifting(12), o), New(drifting(12), o), New(stalling(drifting(12), "bridge", 1, 2, 3, 4, 5, 6, 7), o)}
	for _, c := range Pool(runs, 0.95).Cells {
		if c.Baseline {
			continue
		}
		if c.Ratio.N != 0 || c.Ratio.Reason() != "no ratio of all runs: 1 of 3 runs has a ratio of 0" || c.PerRun[2].Missing != "" {
			t.Errorf("%s: %+v, third run %q", c.Network, c.Ratio, c.PerRun[2].Missing)
		}
	}
	runs[2] = New(stalling(drifting(12), "host", 1, 2, 3, 4, 5, 6, 7), o)
	for _, c := range Pool(runs, 0.95).Cells {
		if !c.Baseline && c.PerRun[2].Missing != "no ratio: 7 of 12 ratios are infinite" {
			t.Errorf("a baseline that stalls: %q", c.PerRun[2].Missing)
		}
	}
}
