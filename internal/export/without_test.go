package export

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/record"
)

// A ratio of three blocks has no interval, and every format says so and why.
func TestRatioWithoutInterval(t *testing.T) {
	var rs []record.Result
	for x := range made(1, "third", unchanged).Analysis.Results() {
		if x.Block <= 3 {
			rs = append(rs, *x)
		}
	}
	short := of("short", hosts, rs, analysis.Options{Baseline: "host"})
	const why = "3 pairs: an interval at"
	ratios := 0
	for range short.Analysis.Ratios() {
		ratios++
	}
	if ratios == 0 {
		t.Fatal("no ratio")
	}
	text := string(written(t, OpenMetrics, short))
	if n := strings.Count(text, "weir_to_base_without_interval{"); n != ratios || strings.Count(text, why) < ratios || strings.Contains(text, "weir_to_base_low_ratio") {
		t.Errorf("OpenMetrics: %d of %d ratios say that they have no interval:\n%s", n, ratios, text)
	}
	if text := string(written(t, BiggerIsBetter, short)) + string(written(t, SmallerIsBetter, short)); strings.Count(text, `"range": "no interval: `+why) != ratios {
		t.Errorf("charts of GitHub: want %d ratios without an interval:\n%s", ratios, text)
	}
	said := 0
	for name, text := range macros(t, written(t, cite, short)) {
		if strings.HasSuffix(name, "RatioText") && strings.HasSuffix(text, " (no interval)") {
			said++
		}
	}
	if said != ratios {
		t.Errorf("LaTeX: %d of %d ratios say that they have no interval", said, ratios)
	}
}
