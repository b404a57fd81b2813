package main

import (
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// A blamed is a cause that is none, in the words of --hypothesis.
type blamed struct {
	Text, Probe string
	Fix         []plan.Step
	Metric      record.Quantity
	Factor      float64
}

// doubt tests the wrong hypotheses about an effect: one that stands is a false statement.
func (s *said) doubt(t *testing.T, results string) {
	t.Helper()
	var all []finding.Finding
	for _, h := range s.Wrong {
		all = append(all, finding.Finding{Text: lang.Text(h.Text), Cells: []analysis.Cell{{Network: s.Name, Probe: h.Probe}},
			Test: &finding.Test{Text: lang.Text("Refuted if nothing changes"), Fix: h.Fix, Metric: h.Metric, Factor: h.Factor}})
	}
	is := measured{dir: results}.refute(t, all...)
	if len(is) != len(all) {
		t.Fatalf("%d verdicts, want %d", len(is), len(all))
	}
	for _, v := range is {
		s.texts = append(s.texts, "hypothesis: "+v.Statement().String())
		if v.Outcome == explain.Stands {
			s.wrong = append(s.wrong, v.Statement().String())
		}
	}
}
