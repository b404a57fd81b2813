package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// forests draws, for each probe and condition, every run's ratio above the pooled one.
func (s several) forests(of []analysis.PooledCell) (out []Figure) {
	var tables groups[string, analysis.PooledCell]
	for _, c := range of {
		if c.Ratio.N > 0 {
			tables.add(c.Probe+" "+levelText(c.Levels), c)
		}
	}
	for _, k := range tables.keys {
		cells := tables.of[k]
		c := cells[0]
		f := chart.Forest{Baseline: s.p.Baseline, Axis: fmt.Sprintf("%s ÷ %s (%s)", metricName(c.Metric), s.p.Baseline, better(c.Unit))}
		var alt []string
		for _, c := range cells {
			g := s.forest(c)
			f.Groups = append(f.Groups, g)
			alt = append(alt, c.Network+" "+g.Pooled.Label)
		}
		caption := s.words.under(c.Probe, c.Levels)
		f.Alt = fmt.Sprintf("Ratio of each run and of all, %s: %s.", caption, strings.Join(alt, "; "))
		out = append(out, Figure{ID: "forest " + k, Caption: caption, Chart: f,
			Note: "■ one run, larger with more weight · ◆ all runs · bar: where the next run is expected"})
	}
	return out
}

func (s several) forest(c analysis.PooledCell) chart.ForestGroup {
	digits := ratioDigits(c.Ratio.Interval)
	label := func(i stat.Interval) string {
		text := fixed(i.Center, digits) + "×"
		if i.Bounded() {
			text += " " + bracket(i, digits)
		}
		return text
	}
	n := color(s.p.Networks, s.p.Baseline, c.Network)
	g := chart.ForestGroup{Name: c.Network, Color: n, NextLo: c.Ratio.Next.Lo, NextHi: c.Ratio.Next.Hi,
		Pooled: chartRow("all "+count(c.Ratio.N, "run"), n, c.Ratio.Interval, 1, label(c.Ratio.Interval))}
	total := 0.0
	weight := func(i stat.Interval) float64 {
		if v := i.LogSE()*i.LogSE() + c.Ratio.Tau*c.Ratio.Tau; v > 0 {
			return 1 / v
		}
		return 1
	}
	for i, x := range c.PerRun {
		if x.Missing != "" || x.Ratio.N == 0 {
			g.Missing++
			continue
		}
		total += weight(x.Ratio)
		g.Runs = append(g.Runs, chart.ForestRun{Row: chartRow(s.names[i], n, x.Ratio, 1, label(x.Ratio)), Weight: weight(x.Ratio)})
	}
	for i := range g.Runs {
		g.Runs[i].Weight /= math.Max(total, math.SmallestNonzeroFloat64)
	}
	return g
}

// perRun lists the runs, and every cell in each of them.
func (s several) perRun() Section {
	x := Section{ID: "runs", Title: "Run by run", In: full}
	if len(s.runs) == 0 {
		return x
	}
	all := make([]int, len(s.runs))
	for i := range all {
		all[i] = i
	}
	ok := func(r Run) (n int) {
		for _, t := range r.Results {
			if t.Status == record.OK {
				n++
			}
		}
		return n
	}
	left := func(head string, keep int, get func(i int) string) column {
		return layout(Column{Head: head, Left: true, Keep: keep}, all, func(i int) Cell { return Cell{Text: get(i)} })
	}
	x.Tables = []Table{table("runs-table", left("run", 9, func(i int) string { return s.names[i] }),
		left("begin and length", 8, func(i int) string { return s.runs[i].span() }),
		left("blocks", 7, func(i int) string { return fmt.Sprint(s.runs[i].Analysis.Blocks) }),
		left("ok", 7, func(i int) string { return fmt.Sprintf("%d/%d", ok(s.runs[i]), len(s.runs[i].Results)) }),
		left("disturbed", 6, func(i int) string { return fmt.Sprint(s.runs[i].Analysis.Disturbed) }),
		left("weir", 5, func(i int) string { return s.fact(i, "weir") }),
		left("kernel", 5, func(i int) string { return s.fact(i, "kernel") }))}
	x.Tables[0].Columns[0].Whole = true
	type line struct {
		c analysis.PooledCell
		i int
		x analysis.CellRun
	}
	var lines []line
	for _, c := range s.compared() {
		for i, r := range c.PerRun {
			lines = append(lines, line{c, i, r})
		}
	}
	d := 2
	for _, l := range lines {
		d = max(d, ratioDigits(l.x.Ratio))
	}
	each := table("cells-table", names("cell", lines, func(l line) string { return s.name(l.c) }),
		layout(Column{Head: "run", Left: true, Keep: 9}, lines, func(l line) Cell { return Cell{Text: s.names[l.i]} }),
		layout(Column{Head: "value", Keep: 6}, lines, func(l line) Cell {
			if l.x.Value.N == 0 {
				return Cell{}
			}
			return Cell{Text: unit.Format(l.x.Value.Center, l.c.Unit), Value: number(l.x.Value.Center)}
		}),
		layout(Column{Head: "÷ " + s.p.Baseline, Base: "1", Kind: "ratio", Keep: 9}, lines, func(l line) Cell { return ratioCell(l.x.Ratio, d) }),
		layout(Column{Head: "interval", Base: "1", Kind: "interval", Keep: 8}, lines, func(l line) Cell { return intervalCell(l.x.Ratio, 1, d) }),
		layout(Column{Head: "left out", Left: true, Keep: 7}, lines, func(l line) Cell { return Cell{Text: l.x.Missing, Bad: l.x.Missing != ""} }))
	x.Parts = []Section{{ID: "each", Title: "every cell in every run", About: "Every interval covers its own run only.", Tables: []Table{each}, Fold: true}}
	return x
}

// facts returns the facts of the hosts of run i, by key; load differs by nature.
func (s several) facts(i int) map[string]string {
	out := map[string]string{}
	for name, b := range s.runs[i].Hosts {
		var v any
		if json.Unmarshal(b, &v) != nil {
			continue
		}
		for _, f := range flatten("", v) {
			if f.Key != "load" && f.Value != "" {
				out[name+" "+f.Key] = f.Value
			}
		}
	}
	return out
}

// fact returns a fact of a run's hosts, joined where they differ.
func (s several) fact(i int, key string) string {
	var out []string
	facts := s.facts(i)
	for _, k := range slices.Sorted(maps.Keys(facts)) {
		if strings.HasSuffix(k, " "+key) && !slices.Contains(out, facts[k]) {
			out = append(out, facts[k])
		}
	}
	return strings.Join(out, ", ")
}

// conditions lists the facts in which the runs differ.
func (s several) conditions() Section {
	x := Section{ID: "conditions", Title: "What differs between the runs"}
	values := map[string]map[string][]int{} // key, value, runs
	for i := range s.runs {
		for k, v := range s.facts(i) {
			if values[k] == nil {
				values[k] = map[string][]int{}
			}
			values[k][v] = append(values[k][v], i)
		}
	}
	var keys []string
	for k, of := range values {
		known := 0
		for _, at := range of {
			known += len(at)
		}
		if len(of) > 1 || known < len(s.runs) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, analysis.Natural)
	if keys == nil {
		x.About = "Nothing that the runs recorded about their machines."
		if len(values) == 0 {
			x.About = "The runs recorded no facts about their machines."
		}
		return x
	}
	t := Table{ID: "differences", Prose: true, Columns: []Column{{Head: "fact", Left: true, Keep: 9}, {Head: "value", Left: true, Keep: 9}, {Head: "runs", Left: true, Keep: 8}}}
	for _, k := range keys {
		first, missing := k, len(s.runs)
		for _, v := range slices.SortedFunc(maps.Keys(values[k]), analysis.Natural) {
			missing -= len(values[k][v])
			t.Rows = append(t.Rows, Row{Cells: texts(first, v, s.sortedNames(values[k][v]))})
			first = ""
		}
		if missing > 0 {
			t.Rows = append(t.Rows, Row{Cells: texts(first, "(not recorded)", count(missing, "run"))})
		}
	}
	x.Tables = []Table{t}
	x.Notes = []string{"The spread between the runs includes the effect of these differences."}
	return x
}
