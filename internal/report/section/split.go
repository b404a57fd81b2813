package section

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// splitParts are the parts of a response time, in time order.
var splitParts = []struct {
	head string
	keep int // see Column.Keep
	get  func(analysis.Split) float64
}{
	{"path", 8, func(s analysis.Split) float64 { return s.Path }},
	{"wake-up", 8, func(s analysis.Split) float64 { return s.Wake }},
	{"app", 4, func(s analysis.Split) float64 { return s.App }},
}

var splitNote = say("Kernel time stamps on a sample of requests split the response time. " +
	"Path is the network, from the sender's first device to the receiver's namespace, there and back; " +
	"wake-up is the time from there until the program has the message, at both ends; app, the application, is the rest. " +
	"Where a CPU must wake up, the wake-up dominates the response time and hides the network. " +
	"Time stamps make the sampled requests a microsecond or two slower than the others.")

func hasSplit(t analysis.Table) bool {
	return slices.ContainsFunc(t.Rows, func(r analysis.Row) bool { _, ok := r.Split(); return ok })
}

// splitChart draws the parts of the response times.
func (s source) splitChart(t analysis.Table) *doc.Figure {
	top := 0.0
	for _, r := range t.Rows {
		if x, ok := r.Split(); ok {
			top = max(top, x.Path+x.Wake+x.App)
		}
	}
	factor, label := unit.Scale(top, "s")
	var bars []chart.Bar
	var alt []string
	for _, r := range t.Rows {
		if x, ok := r.Split(); ok {
			bars = append(bars, chart.Bar{Name: r.Network, Color: s.color(r.Network), Parts: []float64{x.Path * factor, x.Wake * factor, x.App * factor}})
			alt = append(alt, say("%s path %s, wake-up %s, application %s", r.Network,
				unit.Format(x.Path, "s"), unit.Format(x.Wake, "s"), unit.Format(x.App, "s")))
		}
	}
	if bars == nil {
		return nil
	}
	caption := say("Parts of the response time")
	return &doc.Figure{ID: "split", Caption: caption, Chart: chart.Cost{Bars: bars, Names: []string{say("network path"), say("wake-up"), say("application")},
		Axis: say("medians, %s", label), Alt: s.describe(caption, t, alt)}}
}

// splitColumns are the parts, and the ratio of the network's part alone.
func splitColumns(rows []analysis.Row, baseline string) []doc.Filled {
	var out []doc.Filled
	for i, part := range splitParts {
		out = append(out, doc.Numbers(part.head, "s", part.keep, rows, func(r analysis.Row) (float64, bool) {
			s, ok := r.Split()
			return part.get(s), ok
		}))
		if i > 0 {
			continue
		}
		path := doc.Ratios(rows, "÷ "+baseline, func(r analysis.Row) (stat.Interval, bool) { return r.Path, r.Path.Contains(1) })
		for i := range path {
			path[i].Keep = 6
		}
		out = append(out, path...)
	}
	return out
}

// scheduleColumns are those of an open loop with late requests or stalls.
func scheduleColumns(rows []analysis.Row) []doc.Filled {
	mean := func(q record.Quantity) func(analysis.Row) (float64, bool) {
		return func(r analysis.Row) (float64, bool) {
			s, ok := r.Get(q)
			return s.Mean, ok && slices.ContainsFunc(rows, func(r analysis.Row) bool { s, _ := r.Get(q); return s.Mean > 0 })
		}
	}
	return []doc.Filled{doc.Share("late", 7, rows, mean(record.Late)), doc.Numbers("stalls", "", 7, rows, mean(record.Stalls))}
}
