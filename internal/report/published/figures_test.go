package published

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/stat"
)

// A figure begins with its caption, and then says what was measured here against what was published.
func TestFigureBeginsWithItsResult(t *testing.T) {
	r := figure.Result{From: "a", Points: []figure.Point{{}}, Outcomes: []claim.Outcome{{Verdict: claim.Holds}},
		Comparisons: []figure.Comparison{{Of: "vxlan", To: "host", Published: 0.7, Here: stat.Interval{Center: 0.68, Lo: 0.65, Hi: 0.71, N: 20, Confidence: 0.95}}}}
	r.ID, r.Place, r.Caption, r.Question = "x-1", "figure 1", "TCP throughput", "What does it cost?"
	s := OfFigure(r).In(nil).Sections[0]
	if s.Title != "x-1, figure 1: TCP throughput" || !strings.HasPrefix(s.About, "Claims: 1 holds. vxlan ÷ host: published 0.70×, here 0.68×") {
		t.Errorf("%q, %q", s.Title, s.About)
	}
	if len(s.Lines) != 1 || !strings.HasPrefix(s.Lines[0].Text, "What does it cost?") {
		t.Errorf("%q", s.Lines)
	}
}
