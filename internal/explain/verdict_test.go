package explain

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// between is an interval around its middle.
func between(lo, hi float64) stat.Interval {
	return stat.Interval{Center: (lo + hi) / 2, Lo: lo, Hi: hi, Confidence: 0.95, N: 8}
}

func TestJudge(t *testing.T) {
	more, less := finding.Test{Factor: 1.5}, finding.Test{Factor: 0.8}
	most := finding.Test{Factor: 1.4, AtMost: true}
	for _, c := range []struct {
		name  string
		test  finding.Test
		ratio stat.Interval
		shown bool
		want  Outcome
	}{
		{"as predicted", more, between(1.4, 1.7), true, Stands},
		{"more than predicted", more, between(2, 3), true, Stands},
		{"less than predicted", more, between(1.1, 1.3), true, Refuted},
		{"no change", more, between(0.98, 1.02), true, Refuted},
		{"the opposite", more, between(0.5, 0.7), true, Refuted},
		{"too wide", more, between(0.9, 1.6), true, Open},
		{"no interval", more, stat.Interval{Center: 1.6, N: 3}, true, Open},
		{"no ratio", more, stat.Interval{}, true, Open},
		{"no longer there", more, between(0.98, 1.02), false, NotReproduced},
		{"not there, and yet better", more, between(1.4, 1.7), false, NotReproduced},
		{"falls as predicted", less, between(0.5, 0.85), true, Stands},
		{"falls further", less, between(0.1, 0.2), true, Stands},
		{"vanishes", less, between(0, 0.1), true, Stands},
		{"falls, and perhaps by as much", finding.Test{Factor: 0.5}, stat.Interval{Center: 0.61, Lo: 0.48, Hi: 0.77, Confidence: 0.95, N: 8}, true, Open},
		{"rises, and perhaps by as much", more, stat.Interval{Center: 1.3, Lo: 1.1, Hi: 1.6, Confidence: 0.95, N: 8}, true, Open},
		{"falls too little", less, between(0.85, 0.95), true, Refuted},
		{"rises", less, between(1.1, 1.3), true, Refuted},
		{"may fall", less, between(0.7, 1.1), true, Open},
		{"within the bound", most, between(1.2, 1.5), true, Stands},
		{"far below the bound", most, between(1, 1.1), true, Stands},
		{"beyond the bound", most, between(1.45, 1.6), true, Refuted},
		{"about the bound", most, between(1.35, 1.6), true, Open},
		{"from no gain to beyond the bound", most, between(0.9, 1.6), true, Open},
	} {
		if got := Judge(c.test, c.ratio, c.shown); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestVerdictsRoundTrip(t *testing.T) {
	want := []Verdict{{Subject: Cause, Rule: "segmentation-lost", Place: "h1 eth0", Cell: analysis.Cell{Probe: "tcp-stream", Network: "vx", Levels: map[string]string{"mtu": "1500"}},
		Text: "lost", Test: finding.Test{Text: "Refuted if nothing changes", Metric: record.Throughput, Factor: 1.5}, Ratio: between(1.4, 1.7), Outcome: Stands, Dir: "tests/x"}}
	b, err := EncodeVerdicts(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseVerdicts(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "[]", `{"format": 2}`, `{"format": 1, "verdicts": [{"outcome": "true"}]}`, `{"format": 1, "verdicts": [{"outcome": "open", "text": "\u001b[2J"}]}`} {
		if _, err := ParseVerdicts([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if s := want[0].String(); !strings.Contains(s, "throughput 1.55× [1.40, 1.70] of what was found: stands.") {
		t.Errorf("sentence: %s", s)
	}
}

// A verdict of another version is judged by what this version predicts, unless it is of another change.
func TestJudgedAgain(t *testing.T) {
	cell := analysis.Cell{Probe: "tcp-stream", Network: "vx"}
	old := finding.Test{Text: "Refuted if …", Metric: record.Throughput, Factor: 1.5}
	r := Premises{Verdicts: []Verdict{{Subject: Cause, Rule: "x", Cell: cell, Test: old, Ratio: between(1.2, 1.3), Outcome: Refuted}}}
	for name, c := range map[string]struct {
		change func(*finding.Test)
		want   string
	}{
		"the same":      {func(*finding.Test) {}, "refuted"},
		"predicts less": {func(x *finding.Test) { x.Factor, x.Text = 1.1, "Refuted otherwise" }, "stands"},
		"another value": {func(x *finding.Test) { x.Metric = "loss" }, ""},
		"another fix":   {func(x *finding.Test) { x.Options = map[string]string{"rcvbuf": "1"} }, ""},
	} {
		now, got := old, ""
		c.change(&now)
		if v := r.verdict(Statement{Subject: Cause, Rule: "x", Cells: []analysis.Cell{cell}, Test: &now}); v != nil {
			got = string(v.Outcome)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if r.Verdicts[0].Outcome != Refuted || r.Verdicts[0].Test.Factor != 1.5 {
		t.Error("the stored verdict has changed")
	}
	r.Verdicts[0].Outcome = NotReproduced
	now := old
	now.Factor = 1.1
	if v := r.verdict(Statement{Subject: Cause, Rule: "x", Cells: []analysis.Cell{cell}, Test: &now}); v.Outcome != NotReproduced {
		t.Errorf("%s", v.Outcome)
	}
}

// The file of verdicts is one of a results directory, which can come from anywhere.
func FuzzParseVerdicts(f *testing.F) {
	b, err := EncodeVerdicts([]Verdict{{Subject: Cause, Text: "lost", Ratio: between(1.4, 1.7), Outcome: Stands, Dir: "tests/x"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format": 1, "verdicts": [{"outcome": "open", "text": "\u001b[2J"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		vs, err := ParseVerdicts(b)
		if err != nil {
			return
		}
		for _, v := range vs {
			if s := v.String(); !foreign.Printable(s) {
				t.Errorf("the sentence of a verdict does not print: %q", s)
			}
		}
	})
}
