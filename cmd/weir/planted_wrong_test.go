package main

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "wrong.json")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "explain", results, "--test", "--json", "--keep-disturbed", "--max-time", "60s", "--hypothesis", file)
	if got := p.statusWithin(t, slow); got > 1 { // 1: one is refuted
		t.Fatalf("weir explain --test: status %d\n%s", got, &p.stderr)
	}
	var is []explain.Verdict
	if err := json.Unmarshal(p.stdout.Bytes(), &is); err != nil || len(is) != len(all) {
		t.Fatalf("%d verdicts, want %d: %v", len(is), len(all), err)
	}
	for _, v := range is {
		s.texts = append(s.texts, "hypothesis: "+v.Statement().String())
		if v.Outcome == explain.Stands {
			s.wrong = append(s.wrong, v.Statement().String())
		}
	}
}
