package several

import (
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
)

// overTime fills a page with one point for each run, and what changed between neighbors.
func (t combined) overTime(d *doc.Document) {
	steps := t.steps()
	answer, ratios := t.answer(), t.ratios()
	answer.About = prose.Sentences(say("%s.", prose.Capital(t.why)), answer.About)
	ratios.Figures = t.byProbe(func(cells []analysis.PooledCell, caption string) doc.Chart { return t.timeChart(cells, caption, steps) })
	d.Sections = []doc.Section{answer, ratios, t.changes(steps), t.perRun(), t.method()}
}

// timeChart has a curve for each network, and a letter at each step.
func (t combined) timeChart(cells []analysis.PooledCell, caption string, steps []step) doc.Chart {
	r := chart.Runs{X: say("runs in the order of time"), Dates: t.dates(), Marks: make([]string, len(t.runs)),
		Alt: say("Ratios of %d runs in the order of time, %s.", len(t.runs), caption)}
	_, r.Axis = t.scale(cells[0])
	for _, s := range steps {
		r.Marks[s.run-1] = s.name
	}
	for n, c := range cells {
		k := chart.Curve{Name: c.Network, Color: doc.Color(t.p.Networks, t.p.Baseline, c.Network)}
		beside := (float64(n) - float64(len(cells)-1)/2) * min(0.08, 0.5/float64(len(cells))) // keeps intervals apart
		for i, x := range c.PerRun {
			if x.Missing != "" || x.Ratio.N == 0 {
				continue
			}
			k.Points = append(k.Points, chart.CurvePoint{X: float64(i) + beside, Y: x.Ratio.Center, Lo: x.Ratio.Lo, Hi: x.Ratio.Hi, Bounded: x.Ratio.Bounded(),
				Tip: t.names[i] + ": " + section.Whole(x.Ratio)})
		}
		r.Curves = append(r.Curves, k)
	}
	return r
}

// dates returns when the runs began, as short as they differ.
func (t combined) dates() (out []string) {
	var begins []time.Time
	layout := "15:04"
	for _, r := range t.runs {
		begin, _ := r.Times()
		begin = begin.UTC()
		begins = append(begins, begin)
		switch first := begins[0]; {
		case begin.Year() != first.Year():
			layout = time.DateOnly
		case begin.YearDay() != first.YearDay() && layout == "15:04":
			layout = "Jan 2"
		}
	}
	for _, b := range begins {
		if b.IsZero() {
			out = append(out, "?")
		} else {
			out = append(out, b.Format(layout))
		}
	}
	return out
}
