package section

import (
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// A sentence never says "no difference" where a factor of two could hide.
func TestTooNoisyToTell(t *testing.T) {
	by := &analysis.Contrast{To: one("load", "idle")}
	row := func(network string, lo, hi, detectable float64) contrasted {
		return contrasted{ContrastRow: analysis.ContrastRow{Cell: analysis.Cell{Probe: "tcp-stream", Network: network}, Metric: "throughput", Unit: "bit/s", Same: true,
			Ratio: stat.Interval{Center: 1.2, Lo: lo, Hi: hi, N: 12, Confidence: 0.95}, Detectable: detectable}, by: by}
	}
	quiet, busy := row("a", 0.97, 1.05, 0.06), row("b", 0.6, 6.01, 2.5)
	of := func(rows ...contrasted) string {
		c := comparison{text: "load", of: []analysis.Contrast{*by}, many: true, rows: rows}
		return doc.English(say("%s.", clausesOf(nil, c)[0]))
	}
	for want, got := range map[string]string{
		"load is too noisy to tell: between −40 and +501 % (b).":                                                        of(busy),
		"load shows no difference: between −3.0 and +5 % (a); is too noisy to tell: between −40 and +501 % (b).":        of(quiet, busy),
		"load shows no difference under 2 of 5 conditions (between −3.0 and +5 %), too noisy to tell under the others.": of(quiet, busy, busy, busy, quiet),
		"load is too noisy to tell under 5 conditions.":                                                                 of(busy, busy, busy, busy, busy),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
