package analysis_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/stat"
)

// TestRecordedContrasts checks every number of comparisons that studies state, on recorded runs.
func TestRecordedContrasts(t *testing.T) {
	files, err := filepath.Glob("testdata/contrasts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no studies: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(strings.TrimSuffix(file, ".yaml"))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rs, o := recorded(t, "testdata/runs/"+name+".jsonl.gz"), experiment.Reading(studyOf(t, file))
			w := &lines{path: "stored"}
			w.contrasts(analysis.New(rs, o))
			w.path = "many"
			many := manyBlocks(rs, 24)
			w.contrasts(analysis.New(many, o))
			w.compare(many, o)
			compareNumbers(t, strings.TrimSuffix(file, ".yaml")+".golden.gz", w.b.Bytes())
		})
	}
}

func (w *lines) contrasts(r *analysis.Run) {
	for _, c := range r.Contrasts {
		w.put("contrast", c.To, "|", c.Per, "|", c.Value, r.Baseline, r.Comparisons, r.Each)
		for _, x := range c.Rows {
			w.put("row", x.Probe, x.Network, x.Levels, "|", x.Of, "|", x.Metric, x.Unit, x.Value, x.Base, x.Ratio, x.Difference, x.Path, x.Same, x.Detectable, len(x.Far), x.Busy != nil, x.Missing)
		}
	}
}

// runsOf returns runs whose contrast differs between runs by about 1 %.
func runsOf(n int, seed uint64, busy float64, contrasts ...analysis.Contrast) (runs []*analysis.Run) {
	noise := rand.New(rand.NewPCG(seed, 1))
	for range n {
		of := busy * math.Exp(0.01*noise.NormFloat64())
		rs := factorial(12, func(_, load string) float64 { return map[string]float64{"idle": 1, "busy": of, "full": 3}[load] })
		runs = append(runs, analysis.New(rs, analysis.Options{Contrasts: contrasts}))
	}
	return runs
}

func TestPoolContrasts(t *testing.T) {
	idle := analysis.Contrast{To: map[string]string{"load": "idle"}}
	full := analysis.Contrast{To: map[string]string{"load": "full"}, Value: "rtt.p99"}
	runs := slices.Concat(runsOf(3, 1, 2, idle, full), runsOf(2, 2, 2, analysis.Contrast{To: idle.To, Text: "other words"}))
	p := analysis.Pool(runs, 0)
	if len(p.Contrasts) != 2 || len(p.Contrasts[0].Rows) != 6 || len(p.Contrasts[1].Rows) != 6 {
		t.Fatalf("%+v", p.Contrasts)
	}
	for i, want := range []struct {
		runs    int
		ratio   float64
		verdict analysis.Verdict
	}{{5, 2, analysis.Slower}, {3, 2.0 / 3, analysis.Faster}} {
		x := p.Contrasts[i].Rows[0]
		if x.Network != "a" || x.Of["load"] != "busy" || x.Ratio.N != want.runs || !x.Ratio.Contains(want.ratio) || x.Verdict != want.verdict ||
			x.Ratio.Confidence != p.Each || x.Budget.Combined == 0 || len(x.PerRun) != 5 || x.Value.N != want.runs {
			t.Errorf("contrast %d: %+v", i, x)
		}
	}
	if x := p.Contrasts[1].Rows[0].PerRun[4]; x.Missing != "not measured" {
		t.Errorf("%+v", x)
	}
	if p.Each != stat.Adjust(0.95, 12) || p.Confidence != 0.95 {
		t.Errorf("each %v", p.Each)
	}
}

// Runs without a common baseline are comparable by the contrasts that they share.
func TestCompareContrasts(t *testing.T) {
	idle := analysis.Contrast{To: map[string]string{"load": "idle"}, In: map[string][]string{"network": {"a"}}}
	full := analysis.Contrast{To: map[string]string{"load": "full"}, In: map[string][]string{"network": {"a"}}}
	a := runsOf(5, 1, 2, idle, full)
	for _, c := range []struct {
		busy          float64
		worse, better bool
	}{{2, false, false}, {3, true, false}, {1.5, false, true}} {
		got := analysis.Compare(a, runsOf(5, 3, c.busy, idle), 0)
		if len(got.Changes) != 2 || got.Baseline() != "" || got.Each != stat.Adjust(0.95, 2) {
			t.Fatalf("%+v", got)
		}
		x, other := got.Changes[0], got.Changes[1]
		if x.String() != "a, p, load busy ÷ idle" || x.Worse != c.worse || x.Better != c.better || !x.Ratio.Contains(c.busy/2) || x.Same != (c.busy == 2) {
			t.Errorf("%v: %s %+v", c.busy, x, x)
		}
		if other.String() != "a, p, load full ÷ idle" || !other.Same {
			t.Errorf("%s: %+v", other, other)
		}
		if len(got.Uncompared) != 2 || got.Uncompared[0].String() != "a, p, load busy ÷ full" || got.Uncompared[0].Reason != "not measured, in B" {
			t.Errorf("%+v", got.Uncompared)
		}
	}
	// A study that restricts the comparison to fewer networks or levels still states those that it has.
	part := analysis.Contrast{To: idle.To, Of: map[string][]string{"load": {"busy"}}}
	if got := analysis.Compare(a, runsOf(5, 3, 2, part), 0); len(got.Changes) != 1 || got.Changes[0].String() != "a, p, load busy ÷ idle" || !got.Changes[0].Same {
		t.Errorf("%+v", got.Changes)
	}
	// One run a side needs the spread that earlier runs have shown.
	one, two := runsOf(1, 1, 2, idle), runsOf(1, 2, 3, idle)
	if got := analysis.Compare(one, two, 0); got.Worse() || got.Changes[0].Ratio.Bounded() {
		t.Errorf("%+v", got.Changes)
	}
	one[0].Learn(nil, func(c analysis.Contrast, row analysis.ContrastRow) (analysis.Spread, bool) {
		return analysis.Spread{Tau: 0.02, Runs: 10}, c.Name(row.Of) == "load busy ÷ idle"
	})
	if x := one[0].Contrasts[0].Rows[0]; x.OtherRuns == nil || x.OtherRuns.Interval.Hi <= x.Ratio.Hi || one[0].Contrasts[0].Rows[1].OtherRuns != nil {
		t.Errorf("%+v", x.OtherRuns)
	}
	if got := analysis.Compare(one, two, 0); !got.Worse() || got.Changes[0].Known == nil || got.Changes[1].Ratio.Bounded() {
		t.Errorf("%+v", got.Changes)
	}
}

func TestContrastName(t *testing.T) {
	for want, c := range map[string]analysis.Contrast{
		"load busy ÷ idle":                            {To: map[string]string{"load": "idle"}},
		"load busy ÷ idle, network b ÷ a":             {To: map[string]string{"load": "idle", "network": "a"}},
		"load busy ÷ idle, per network host, rtt.p99": {To: map[string]string{"load": "idle"}, Per: map[string]string{"network": "host"}, Value: "rtt.p99"},
		"packets ÷ 1":                                 {To: map[string]string{"packets": "1"}},
	} {
		if got := c.Name(map[string]string{"load": "busy", "network": "b"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
