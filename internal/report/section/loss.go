package section

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// marks returns what a reader must know about a ratio besides its interval.
func marks(r analysis.Row) []string {
	all := marksOf(r.Busy, r.Stalled, nil)
	if r.Ratio.N > 0 && r.Shared > 0 && r.Shared < r.Value.N { // the others are of CPUs at another distance, or lack a divisor
		all = append(all, say("the ratio is of %d blocks", r.Shared))
	}
	return all
}

// marksOf is marks for a ratio with these stalls of its numerator and its divisor.
func marksOf(busy *analysis.Disturbance, of, to *analysis.Stalls) (out []string) {
	if busy != nil {
		out = append(out, say("disturbed"))
	}
	if of != nil {
		out = append(out, stalledIn(of))
	}
	if to != nil {
		out = append(out, say("the divisor %s", stalledIn(to)))
	}
	return out
}

func stalledIn(s *analysis.Stalls) string {
	return say("stalled in %d of %d trials", s.Trials, s.Of)
}

// stallNotes say how stalls count in a row's numbers.
func stallNotes(r analysis.Row, baseline string) (out []string) {
	if r.Stalled == nil {
		return nil
	}
	note := say("%s: nothing arrived, and they count as the worst", stalledIn(r.Stalled))
	if i := r.MeanRatio; i.N > 0 {
		note += say("; over all windows it delivered %s× of %s%s", prose.Fixed(i.Center, 2), baseline, prose.RatioInterval(i))
	}
	return []string{note}
}

// echoColumns returns what ping(8) prints of the requests of all trials.
func echoColumns(rows []analysis.Row) (out []doc.Filled) {
	for _, x := range []struct {
		head string
		keep int
		get  func(e *analysis.Echo) float64
	}{
		{"min", 5, func(e *analysis.Echo) float64 { return e.Min }}, {"mean", 7, func(e *analysis.Echo) float64 { return e.Mean }},
		{"max", 5, func(e *analysis.Echo) float64 { return e.Max }}, {"mdev", 5, func(e *analysis.Echo) float64 { return e.Mdev }},
	} {
		out = append(out, doc.Numbers(x.head, "s", x.keep, rows, func(r analysis.Row) (float64, bool) {
			if r.Echo == nil {
				return 0, false
			}
			return x.get(r.Echo), true
		}))
	}
	return out
}

// lossColumns returns the share of all packets or requests that was lost and, if any was, its interval.
func lossColumns(rows []analysis.Row) []doc.Filled {
	loss := doc.Share("loss", 7, rows, analysis.Row.Loss)
	for i, r := range rows {
		loss.Cells[i].Bounds(r.Lost)
	}
	if !slices.ContainsFunc(rows, func(r analysis.Row) bool { return r.Lost.Bounded() }) {
		return []doc.Filled{loss}
	}
	return []doc.Filled{loss, doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 2}, rows, func(r analysis.Row) (c doc.Cell) {
		if r.Lost.Bounded() {
			c.Bounds(r.Lost)
			c.Text = shareBracket(r.Lost)
		}
		return c
	})}
}

// shareBracket has as many digits as the lower end supports.
func shareBracket(i stat.Interval) string {
	number := func(v float64) string { return strings.TrimSuffix(prose.Percent(v), " %") }
	return prose.Brackets(i, number) + " %"
}
