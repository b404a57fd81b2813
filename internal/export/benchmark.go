package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/prose"
)

// A benchmark is an entry of the files that github-action-benchmark reads with the tools
// customBiggerIsBetter and customSmallerIsBetter (https://github.com/benchmark-action/github-action-benchmark).
type benchmark struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"` // the interval, or why there is none; any text
	Extra string  `json:"extra,omitempty"` // blocks, or runs, behind the value
}

// BiggerIsBetter writes the values and ratios of runs that are better when larger, for
// github-action-benchmark, and SmallerIsBetter those that are better when smaller. The consumer takes one
// direction per file.
func BiggerIsBetter(w io.Writer, runs []*account.Account) error { return benchmarks(w, runs, false) }

// SmallerIsBetter writes what BiggerIsBetter leaves out.
func SmallerIsBetter(w io.Writer, runs []*account.Account) error { return benchmarks(w, runs, true) }

func benchmarks(w io.Writer, runs []*account.Account, lower bool) error {
	out := []benchmark{}
	for _, n := range numbers(runs) {
		i := n.interval
		if n.metric.LowerIsBetter(n.unit) != lower || math.IsInf(i.Center, 0) || math.IsNaN(i.Center) { // JSON has neither
			continue
		}
		b := benchmark{Name: foreign.Line(n.String() + ", " + string(n.metric)), Unit: n.unit, Value: i.Center, Extra: fmt.Sprintf("n=%d", i.N)}
		if n.Compared != "" {
			b.Unit = "ratio"
		}
		if i.Bounded() {
			b.Range = fmt.Sprintf("%s with %.4g %% confidence", prose.Brackets(i, func(v float64) string { return fmt.Sprintf("%.4g", v) }), 100*i.Confidence)
		} else if why := i.Without(); why != "" {
			b.Range = foreign.Line("no interval: " + why.String())
		}
		out = append(out, b)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
