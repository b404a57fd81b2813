package claim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

func trials(cells map[string][]float64) []record.Result {
	var out []record.Result
	for name, values := range cells {
		f := strings.Fields(name)
		asked := map[string]string{"network": f[0], "probe": f[1]}
		if len(f) > 2 {
			asked["mtu"] = f[2]
		}
		for i, v := range values {
			out = append(out, record.Result{Trial: fmt.Sprintf("b%03d-%s", i+1, name), Block: i + 1, Status: record.OK, Config: asked,
				Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: v}, {Name: "sent", Unit: "packet/s", Value: 2 * v}}})
		}
	}
	return out
}

func times(n int, v, spread float64) []float64 {
	var out []float64
	for i := range n {
		out = append(out, v*(1+spread*float64(i%4-1)))
	}
	return out
}

func claimOf(t *testing.T, tests string) Claim {
	t.Helper()
	a, b := strings.Index(small, "  tests:\n"), strings.Index(small, "  tolerance:")
	src := strings.Replace(small[:a]+"  tests:\n"+tests+small[b:], "networks: [host, vxlan]", "networks: [host, vxlan, routed]", 1)
	src = strings.Replace(src, "    factors: {mtu: [1500, 9000]}\n", "", 1)
	return load(t, src)[0]
}

func ratio(bounds string) string {
	return "  - of: {network: vxlan, probe: tcp-stream}\n    to: {network: host, probe: tcp-stream}\n    " + strings.ReplaceAll(bounds, ", ", "\n    ") + "\n"
}

func run(rs []record.Result) *analysis.Run { return analysis.New(rs, analysis.Options{}) }

func TestVerdict(t *testing.T) {
	bounded := func(lo, hi float64) stat.Interval {
		return stat.Interval{Center: math.Sqrt(lo * hi), Lo: lo, Hi: hi, Confidence: 0.95, N: 8}
	}
	for _, c := range []struct {
		least, most float64
		interval    stat.Interval
		want        Verdict
	}{
		{0.5, 0.8, bounded(0.6, 0.7), Holds},
		{0.5, 0.8, bounded(0.5, 0.8), Holds}, // a bound belongs to what is accepted
		{0.5, 0.8, bounded(0.4, 0.7), Undecided},
		{0.5, 0.8, bounded(0.6, 0.9), Undecided},
		{0.5, 0.8, bounded(0.4, 0.9), Undecided},
		{0.5, 0.8, bounded(0.3, 0.5), Undecided}, // they touch
		{0.5, 0.8, bounded(0.3, 0.49), Fails},
		{0.5, 0.8, bounded(0.81, 0.9), Fails},
		{1, 0, bounded(1.1, 100), Holds},
		{1, 0, bounded(0.9, 1.1), Undecided},
		{1, 0, bounded(0.8, 0.9), Fails},
		{0, 1, bounded(0.001, 0.9), Holds},
		{0, 1, bounded(1.1, 1.2), Fails},
		{0.9, 1.1, bounded(0.95, 1.05), Holds}, // no difference
		{0.5, 0.8, stat.Interval{Center: 0.6, N: 3}, Undecided},
		{0.5, 0.8, stat.Interval{}, Undecided},
	} {
		if got := (Test{Least: c.least, Most: c.most}).verdict(c.interval); got != c.want {
			t.Errorf("%g..%g and [%g, %g]: %s, want %s", c.least, c.most, c.interval.Lo, c.interval.Hi, got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	host, same := times(8, 10, 0), times(8, 10, 0.01)
	order := "  - of: {network: vxlan, probe: tcp-stream}\n    to: {network: routed, probe: tcp-stream}\n    most: 1\n" +
		"  - of: {network: routed, probe: tcp-stream}\n    to: {network: host, probe: tcp-stream}\n    most: 1\n"
	sum := "  - of: {network: vxlan, probe: tcp-stream}\n    sum: [{network: host, probe: tcp-stream}, {network: routed, probe: tcp-stream}]\n    least: 0.9\n    most: 1.1\n"
	sent := "  - of: {network: vxlan, probe: tcp-stream, metric: sent}\n    to: {network: vxlan, probe: tcp-stream}\n    least: 1.9\n    most: 2.1\n"
	per := "  - of: {network: vxlan, probe: tcp-stream}\n    to: {network: host, probe: tcp-stream}\n" +
		"    per:\n      of: {network: routed, probe: tcp-stream}\n      to: {network: host, probe: tcp-stream}\n    least: 0.45\n    most: 0.55\n"
	const h, v, r = "host tcp-stream", "vxlan tcp-stream", "routed tcp-stream"
	for _, c := range []struct {
		name, tests string
		cells       map[string][]float64
		want        Verdict
		center      float64 // of the first test
		why         string
	}{
		{"holds", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: host, v: times(8, 6, 0.01)}, Holds, 0.6, ""},
		{"fails", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: host, v: times(8, 9, 0.01)}, Fails, 0.9, ""},
		{"undecided", ratio("least: 0.5, most: 0.62"), map[string][]float64{h: host, v: times(8, 6, 0.1)}, Undecided, 0.626, "more blocks would decide"},
		{"few blocks", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: host[:3], v: times(3, 6, 0.01)}, Undecided, 0.6, "about 3 more blocks would decide"},
		{"on the bound", ratio("least: 0.5, most: 0.6"), map[string][]float64{h: host, v: {6.6, 6, 5.4, 6, 6.6, 6, 5.4, 6}}, Undecided, 0.6, "lies on a bound"},
		{"no spread", ratio("least: 1, most: 1.1"), map[string][]float64{h: host, v: host}, Holds, 1, ""},
		{"paired", ratio("least: 0.5, most: 0.7"), map[string][]float64{h: {1, 9, 4, 2, 8, 3, 5, 7}, v: {0.6, 5.4, 2.4, 1.2, 4.8, 1.8, 3, 4.2}}, Holds, 0.6, ""},
		{"one stall of eight", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: host, v: {6, 6, 0, 6, 6, 6, 6, 6}}, Undecided, 0.6, "the ratio has no lower bound"},
		{"one stall of eight, at most", ratio("most: 0.8"), map[string][]float64{h: host, v: {6, 6, 0, 6, 6, 6, 6, 6}}, Holds, 0.6, ""},
		{"one stall of many", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: slices.Repeat(host, 3), v: slices.Concat(times(23, 6, 0), []float64{0})}, Holds, 0.6, ""},
		{"all stalled", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: host, v: times(8, 0, 0)}, Fails, 0, ""},
		{"the divisor stalled", ratio("least: 0.5, most: 0.8"), map[string][]float64{h: times(8, 0, 0), v: times(8, 6, 0.01)}, Undecided, 0, "no ratio: 8 of 8 ratios are infinite"},
		{"order", order, map[string][]float64{h: host, r: times(8, 9, 0.01), v: times(8, 6, 0.01)}, Holds, 2. / 3, ""},
		{"order is not", order, map[string][]float64{h: host, r: times(8, 4, 0.01), v: times(8, 6, 0.01)}, Fails, 1.5, ""},
		{"order, one unclear", order, map[string][]float64{h: host, r: same, v: times(8, 6, 0.01)}, Undecided, 0.6, "more blocks would decide"},
		{"order, one unclear and one not", order, map[string][]float64{h: host, r: same, v: times(8, 12, 0.01)}, Fails, 1.2, ""},
		{"sum", sum, map[string][]float64{h: host, r: times(8, 5, 0), v: times(8, 15, 0.01)}, Holds, 1, ""},
		{"no sum", sum, map[string][]float64{h: host, r: times(8, 5, 0), v: times(8, 20, 0.01)}, Fails, 4. / 3, ""},
		{"another value", sent, map[string][]float64{v: host}, Holds, 2, ""},
		{"double ratio", per, map[string][]float64{h: host, r: times(8, 8, 0), v: times(8, 4, 0.01)}, Holds, 0.5, ""},
		{"double ratio is not", per, map[string][]float64{h: host, r: times(8, 4, 0), v: times(8, 4, 0.01)}, Fails, 1, ""},
	} {
		claim := claimOf(t, c.tests)
		os := Judge([]Claim{claim}, claim.Study, run(trials(c.cells)))
		if len(os) != 1 {
			t.Errorf("%s: %d outcomes", c.name, len(os))
			continue
		}
		o := os[0]
		if o.Verdict != c.want || !strings.Contains(o.Why.String(), c.why) || (c.why == "") != (o.Why == "") {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, o.Verdict, o.Why, c.want, c.why)
		}
		if got := o.Measured[0].Ratio.Center; math.Abs(got-c.center) > 0.02*c.center {
			t.Errorf("%s: ratio %g, want %g", c.name, got, c.center)
		}
	}
}

// The estimated number of blocks decides, at the same spread.
func TestMoreIsEnough(t *testing.T) {
	claim := claimOf(t, ratio("least: 0.5, most: 0.7"))
	spread := func(n int) map[string][]float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = 6 * math.Exp(0.4*[]float64{-1, 1, 0.3, -0.3, 0.8, -0.8, 0.1, -0.1}[i%8])
		}
		return map[string][]float64{"host tcp-stream": times(n, 10, 0), "vxlan tcp-stream": v}
	}
	o := Judge([]Claim{claim}, claim.Study, run(trials(spread(8))))[0]
	more := o.Measured[0].More
	if o.Verdict != Undecided || more < 1 {
		t.Fatalf("%s, %d more", o.Verdict, more)
	}
	more = (more + 7) / 8 * 8 // the same spread needs whole periods
	if o = Judge([]Claim{claim}, claim.Study, run(trials(spread(8+more))))[0]; o.Verdict != Holds {
		t.Errorf("with %d more: %s, %+v", more, o.Verdict, o.Measured[0].Ratio)
	}
}

// The intervals of one claim hold together: each is wider than alone.
func TestTogether(t *testing.T) {
	one, two := claimOf(t, ratio("least: 0.1")), claimOf(t, ratio("least: 0.1")+ratio("most: 9"))
	cells := trials(map[string][]float64{"host tcp-stream": times(20, 10, 0), "vxlan tcp-stream": {5, 6, 7, 6, 5, 8, 6, 4, 6, 7, 5, 6, 6, 7, 5, 4, 8, 6, 7, 5}})
	a := Judge([]Claim{one}, one.Study, run(cells))[0].Measured[0].Ratio
	b := Judge([]Claim{two}, two.Study, run(cells))[0].Measured[0].Ratio
	if a.Confidence != Confidence || math.Abs(b.Confidence-0.975) > 1e-12 || b.Hi-b.Lo <= a.Hi-a.Lo {
		t.Errorf("alone %+v, together %+v", a, b)
	}
}

func TestJudgeNotOK(t *testing.T) {
	claim := claimOf(t, ratio("least: 0.5, most: 0.8"))
	cells := map[string][]float64{"host tcp-stream": times(8, 10, 0), "vxlan tcp-stream": times(8, 6, 0.01)}
	for _, c := range []struct {
		name   string
		change func(r *record.Result)
		want   Verdict
		why    string
	}{
		{"skipped", func(r *record.Result) { r.Status, r.Reason, r.Values = record.Skipped, "no kernel module", nil }, Untestable, "vxlan tcp-stream: skipped: no kernel module"},
		{"invalid", func(r *record.Result) { r.Status, r.Reason = record.Invalid, "another path" }, Untestable, "invalid: another path"},
		{"no value", func(r *record.Result) { r.Values = nil }, Untestable, "no trial has a value"},
		{"one failed", func(r *record.Result) {
			if r.Block == 1 {
				r.Status, r.Values = record.Failed, nil
			}
		}, Holds, ""},
		{"others", func(r *record.Result) {
			r.Elapsed = 1
			r.Values = append(r.Values, record.Value{Name: "others.user", Value: 1})
		}, Holds, ""},
		{"others, half of the time", func(r *record.Result) {
			if r.Elapsed = 1; r.Block%2 == 0 {
				r.Values = append(r.Values, record.Value{Name: "others.user", Value: 1})
			}
		}, Holds, ""},
	} {
		results := trials(cells)
		for i := range results {
			results[i].Start = results[i].Start.AddDate(0, 0, 10*i) // no neighbors
			if results[i].Config["network"] == "vxlan" {
				c.change(&results[i])
			}
		}
		o := Judge([]Claim{claim}, claim.Study, run(results))[0]
		if o.Verdict != c.want || !strings.Contains(o.Why.String(), c.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, o.Verdict, o.Why, c.want, c.why)
		}
	}
}

// Results bear on a claim if they are of the same cells on the same topology.
func TestBears(t *testing.T) {
	claim := claimOf(t, ratio("least: 0.5"))
	results := trials(map[string][]float64{"host tcp-stream": {1}, "vxlan tcp-stream": {1}})
	for _, c := range []struct {
		name   string
		change func(s *study.Study, r []record.Result) []record.Result
		want   int
	}{
		{"the same", func(_ *study.Study, r []record.Result) []record.Result { return r }, 1},
		{"another length and name", func(s *study.Study, r []record.Result) []record.Result {
			s.Name, s.Blocks, s.Duration, s.Seed = "mine", 3, study.MinDuration, 7
			return r
		}, 1},
		{"fewer networks", func(s *study.Study, r []record.Result) []record.Result { s.Networks = s.Networks[:2]; return r }, 1},
		{"another MTU", func(s *study.Study, r []record.Result) []record.Result { s.Topology.MTU = 9000; return r }, 0},
		{"another link", func(s *study.Study, r []record.Result) []record.Result { s.Topology.Link = "1gbit"; return r }, 0},
		{"another kind of the name", func(s *study.Study, r []record.Result) []record.Result {
			s.Networks = slices.Clone(s.Networks)
			s.Networks[1] = study.Use{Name: "vxlan", Kind: "macvlan"}
			return r
		}, 0},
		{"another option", func(s *study.Study, r []record.Result) []record.Result {
			s.Probes = []study.Use{{Name: "tcp-stream", Kind: "tcp-stream", Options: map[string]string{"streams": "8"}}}
			return r
		}, 0},
		{"no such network", func(s *study.Study, r []record.Result) []record.Result { s.Networks = s.Networks[:1]; return r }, 0},
		{"a cell without trials", func(_ *study.Study, r []record.Result) []record.Result {
			return slices.DeleteFunc(r, func(r record.Result) bool { return r.Config["network"] == "host" })
		}, 0},
		{"one factor more", func(_ *study.Study, r []record.Result) []record.Result {
			for i := range r {
				r[i].Config = map[string]string{"network": r[i].Config["network"], "probe": "tcp-stream", "mtu": "9000"}
			}
			return r
		}, 0},
	} {
		s := claim.Study
		r := c.change(&s, slices.Clone(results))
		if got := Judge([]Claim{claim}, s, run(r)); len(got) != c.want {
			t.Errorf("%s: %d outcomes, want %d", c.name, len(got), c.want)
		}
	}
}

// A claim about a mechanism that did not do the work cannot fail.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		name, needs string
		host, vxlan record.Observed
		want        Verdict
		why         string
	}{
		{"none", "", nil, nil, Fails, ""},
		{"guests on hardware, the host is silent", "kvm", nil, record.Observed{"vm.accelerator": "kvm"}, Fails, ""},
		{"emulated guests", "kvm", nil, record.Observed{"vm.accelerator": "tcg"}, Untestable,
			"it is about guests on hardware virtualization, and here vm.accelerator is tcg"},
		{"one of two emulated", "kvm", record.Observed{"vm.accelerator": "tcg"}, record.Observed{"vm.accelerator": "kvm"}, Untestable, "vm.accelerator is tcg"},
		{"nobody says", "kvm", nil, nil, Untestable, "these trials do not show it"},
		{"two", "kvm, ovs-kernel", nil, record.Observed{"vm.accelerator": "kvm", "ovs.datapath": "netdev"}, Untestable, "ovs.datapath is netdev"},
		{"a link of any rate", "link", record.Observed{"link": "1e9"}, record.Observed{"link": "1e9"}, Fails, ""},
		{"no link", "link", nil, nil, Untestable, "a link that all networks fill"},
		{"never", "zones", record.Observed{"path.delay": "500us"}, nil, Untestable, "zones of a cloud"},
	} {
		src := strings.Replace(small, "  published:", "  needs: ["+c.needs+"]\n  published:", 1)
		src = strings.Replace(src, "    factors: {mtu: [1500, 9000]}\n", "", 1)
		a, b := strings.Index(src, "  tests:\n"), strings.Index(src, "  tolerance:")
		claims := load(t, src[:a]+"  tests:\n"+ratio("least: 2")+src[b:])
		rs := trials(map[string][]float64{"host tcp-stream": times(12, 100, 0.01), "vxlan tcp-stream": times(12, 50, 0.01)})
		for i := range rs {
			rs[i].Observed = map[string]record.Observed{"host": c.host, "vxlan": c.vxlan}[rs[i].Config["network"]]
		}
		got := Judge(claims, claims[0].Study, run(rs))
		if len(got) != 1 || got[0].Verdict != c.want || !strings.Contains(got[0].Why.String(), c.why) {
			t.Errorf("%s: %s: %s, want %s: %s", c.name, got[0].Verdict, got[0].Why, c.want, c.why)
		}
	}
}

// A study that also varies a factor tests a claim with that factor's neutral level, and under the names that it gives
// the claim's networks.
func TestJudgeInAnotherStudy(t *testing.T) {
	claim := claimOf(t, ratio("least: 0.5, most: 0.8"))
	other := claim.Study
	other.Factors = map[string][]string{"stress": {"0", "50%"}}
	other.Networks = slices.Clone(other.Networks)
	for i, u := range other.Networks {
		if u.Name == "vxlan" {
			other.Networks[i].Name = "tunnel"
		}
	}
	rs := trials(map[string][]float64{"host tcp-stream": times(8, 10, 0), "tunnel tcp-stream": times(8, 6, 0.01)})
	for i := range rs {
		rs[i].Config["stress"] = "0"
	}
	if os := Judge([]Claim{claim}, other, run(rs)); len(os) != 1 || os[0].Verdict != Holds {
		t.Errorf("neutral level: %+v", os)
	}
	for i := range rs {
		rs[i].Config["stress"] = "50%"
	}
	if os := Judge([]Claim{claim}, other, run(rs)); os != nil {
		t.Errorf("under stress: %+v", os)
	}
}
