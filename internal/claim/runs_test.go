package claim

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// Three runs with narrow intervals that differ more from each other than each says.
func TestJudgeRuns(t *testing.T) {
	const h, v = "host tcp-stream", "vxlan tcp-stream"
	one := func(overlay float64) *analysis.Run {
		return run(trials(map[string][]float64{h: times(8, 10, 0), v: times(8, overlay, 0.01)}))
	}
	broken := trials(map[string][]float64{h: times(8, 10, 0), v: times(8, 6, 0)})
	for i := range broken {
		broken[i].Status = record.Failed
	}
	for _, c := range []struct {
		name, bounds string
		runs         []*analysis.Run
		want         Verdict
		counted      int
		why          string
	}{
		{"one run", "least: 0.5, most: 0.8", []*analysis.Run{one(6)}, Holds, 1, ""},
		{"alike", "least: 0.5, most: 0.8", []*analysis.Run{one(6), one(6.1), one(5.9)}, Holds, 3, ""},
		{"none holds", "least: 0.5, most: 0.8", []*analysis.Run{one(9), one(9.1), one(8.9)}, Fails, 3, ""},
		{"they differ", "least: 0.5, most: 0.8", []*analysis.Run{one(6), one(7.9), one(5.1)}, Undecided, 3, "more runs would narrow"},
		{"each holds, all together do not show it", "least: 0.55, most: 0.72", []*analysis.Run{one(5.7), one(7)}, Undecided, 2, "more runs"},
		{"one has no ratio", "least: 0.5, most: 0.8", []*analysis.Run{one(6), run(broken), one(6.1)}, Holds, 2, ""},
		{"one has no ratio, the others differ", "least: 0.5, most: 0.8", []*analysis.Run{one(5.2), run(broken), one(7.8)}, Undecided, 2, "1 of 3 runs have no ratio"},
		{"only one has a ratio", "least: 0.5, most: 0.8", []*analysis.Run{run(broken), one(6)}, Holds, 1, ""},
		{"none has", "least: 0.5, most: 0.8", []*analysis.Run{run(broken), run(broken)}, Untestable, 0, "failed"},
	} {
		claims := []Claim{claimOf(t, ratio(c.bounds))}
		os := JudgeRuns(claims, claims[0].Study, c.runs)
		if len(os) != 1 {
			t.Fatalf("%s: %d outcomes", c.name, len(os))
		}
		if o := os[0]; o.Verdict != c.want || o.Runs != c.counted || !strings.Contains(o.Why.String(), c.why) || (c.why == "") != (o.Why == "") {
			t.Errorf("%s: %s over %d runs (%q), want %s over %d (%q)", c.name, o.Verdict, o.Runs, o.Why, c.want, c.counted, c.why)
		}
	}
	if os := JudgeRuns([]Claim{claimOf(t, ratio("least: 0.5, most: 0.8"))}, claimOf(t, ratio("most: 1")).Study, nil); len(os) != 0 {
		t.Errorf("without runs: %v", os)
	}
}
