package several

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

const (
	mostForest = 30  // runs that a chart draws
	mostLines  = 100 // rows of cells in every run, where readers cannot fold the table
)

// forests draws, for each probe, condition and comparison, every run's ratio above the pooled one.
func (s several) forests(of []analysis.PooledCell) (out []doc.Figure) {
	var tables doc.Groups[string, analysis.PooledCell]
	for _, c := range of {
		if c.Ratio.N > 0 {
			tables.Add(c.Probe+" "+prose.Comma(prose.Levels(c.Levels), c.Compared), c)
		}
	}
	for _, k := range tables.Keys {
		cells := tables.Of[k]
		c := cells[0]
		divisor, of := s.p.Baseline, "÷ "+s.p.Baseline
		if c.Compared != "" {
			divisor, of = say("no difference"), say("ratio")
		}
		f := chart.Forest{Baseline: divisor, Axis: say("%s %s (%s)", section.MetricName(c.Metric), of, section.Better(c.Metric, c.Unit))}
		var alt []string
		for _, c := range cells {
			g := s.forest(c)
			f.Groups = append(f.Groups, g)
			alt = append(alt, c.Network+" "+g.Pooled.Label)
		}
		caption := prose.Comma(s.words.Under(c.Probe, c.Levels), c.Compared)
		f.Alt = say("Ratio of each run and of all, %s: %s.", caption, prose.Alternatives(alt))
		note := say("■ one run, larger with more weight · ◆ all runs")
		if slices.ContainsFunc(f.Groups, func(g chart.ForestGroup) bool { return g.NextLo > 0 }) {
			note += say(" · bar: where the next run is expected")
		}
		if hidden := s.p.Runs - mostForest; hidden > 0 {
			note += say(" · the first %s not drawn", prose.Count(hidden, "run"))
		}
		out = append(out, doc.Figure{ID: "forest " + k, Caption: caption, Chart: f, Note: note})
	}
	return out
}

func (s several) forest(c analysis.PooledCell) chart.ForestGroup {
	label := prose.Ratio
	n := doc.Color(s.p.Networks, s.p.Baseline, c.Network)
	g := chart.ForestGroup{Name: c.Network, Color: n, NextLo: c.Ratio.Next.Lo, NextHi: c.Ratio.Next.Hi,
		Pooled: section.ChartRow(say("all %s", prose.Count(c.Ratio.N, "run")), n, c.Ratio.Interval, 1, label(c.Ratio.Interval))}
	total, missing := 0.0, 0
	weight := func(i stat.Interval) float64 {
		if v := i.LogSE()*i.LogSE() + c.Ratio.Tau*c.Ratio.Tau; v > 0 {
			return 1 / v
		}
		return 1
	}
	for i, x := range c.PerRun {
		if x.Missing != "" || x.Ratio.N == 0 {
			missing++
			continue
		}
		total += weight(x.Ratio)
		if i < len(c.PerRun)-mostForest {
			continue
		}
		g.Runs = append(g.Runs, chart.ForestRun{Row: section.ChartRow(s.names[i], n, x.Ratio, 1, label(x.Ratio)), Weight: weight(x.Ratio)})
	}
	if missing > 0 {
		g.Missing = say("%d not counted", missing)
	}
	for i := range g.Runs {
		g.Runs[i].Weight /= math.Max(total, math.SmallestNonzeroFloat64)
	}
	return g
}

// perRun lists the runs, and every cell in each of them.
func (s several) perRun() doc.Section {
	x := doc.Section{ID: "runs", Title: say("Run by run"), In: doc.Full}
	if len(s.runs) == 0 {
		return x
	}
	all := make([]int, len(s.runs))
	for i := range all {
		all[i] = i
	}
	ok := func(r *account.Account) (n int) {
		for _, t := range r.Results {
			if t.Status == record.OK {
				n++
			}
		}
		return n
	}
	left := func(head string, keep int, get func(i int) string) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Left: true, Keep: keep}, all, func(i int) doc.Cell { return doc.Cell{Text: get(i)} })
	}
	x.Tables = []doc.Table{doc.Tabulate("runs-table", left("run", 9, func(i int) string { return s.names[i] }),
		left("begin and length", 8, func(i int) string { return section.Span(s.runs[i]) }),
		left("blocks", 7, func(i int) string { return fmt.Sprint(s.runs[i].Analysis.Blocks) }),
		left("ok", 7, func(i int) string { return fmt.Sprintf("%d/%d", ok(s.runs[i]), len(s.runs[i].Results)) }),
		left("disturbed", 6, func(i int) string { return fmt.Sprint(s.runs[i].Analysis.Disturbed) }),
		left("weir", 5, func(i int) string { return s.fact(i, "weir") }),
		left("kernel", 5, func(i int) string { return s.fact(i, "kernel") }))}
	x.Tables[0].Columns[0].Whole = true
	x.Parts = []doc.Section{s.eachRun()}
	return x
}

// eachRun is the table of every cell in every run.
func (s several) eachRun() doc.Section {
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
	each := doc.Tabulate("cells-table", doc.Names("cell", lines, func(l line) string { return s.name(l.c) }),
		doc.Layout(doc.Column{Head: say("run"), Left: true, Keep: 9}, lines, func(l line) doc.Cell { return doc.Cell{Text: s.names[l.i]} }),
		doc.Layout(doc.Column{Head: say("value"), Keep: 6}, lines, func(l line) doc.Cell {
			if l.x.Value.N == 0 {
				return doc.Cell{}
			}
			return doc.Cell{Text: unit.Format(l.x.Value.Center, l.c.Unit), Value: doc.Number(l.x.Value.Center)}
		}),
		doc.Layout(doc.Column{Head: s.divisor(), Base: "1", Kind: "ratio", Keep: 9}, lines, func(l line) doc.Cell { return doc.RatioCell(l.x.Ratio) }),
		doc.Layout(doc.Column{Head: say("interval"), Base: "1", Kind: "interval", Keep: 9}, lines, func(l line) doc.Cell { return doc.RatioIntervalCell(l.x.Ratio) }),
		doc.Layout(doc.Column{Left: true, Keep: 7}, lines, func(l line) doc.Cell {
			if l.x.Busy != nil {
				return doc.Cell{Text: say("disturbed")}
			}
			return doc.Cell{}
		}),
		doc.Layout(doc.Column{Head: say("left out"), Left: true, Keep: 7}, lines, func(l line) doc.Cell { return doc.Cell{Text: word(l.x.Missing), Bad: l.x.Missing != ""} }))
	media := doc.Full
	if len(lines) > mostLines {
		media = []doc.Medium{doc.Page}
	}
	return doc.Section{ID: "each", In: media, Title: say("every cell in every run"), About: say("Every interval covers its own run only."), Tables: []doc.Table{each}, Fold: true}
}

// fact returns a fact of a run's hosts, with all values if hosts differ.
func (s several) fact(i int, key string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.runs[i].Hosts)) {
		var host map[string]any
		if json.Unmarshal(s.runs[i].Hosts[name], &host) != nil {
			continue // the run's own report says so
		}
		if v, ok := host[key].(string); ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return prose.List(out)
}

// conditions lists the facts in which the runs differ: a row for each value.
func (s several) conditions() doc.Section {
	x := doc.Section{ID: "conditions", Title: say("What differs between the runs")}
	var all []map[string][]byte
	recorded := false
	for _, r := range s.runs {
		all = append(all, r.Hosts)
		recorded = recorded || len(r.Hosts) > 0
	}
	t := doc.Table{ID: "differences", Prose: true, Columns: []doc.Column{{Head: say("fact"), Left: true, Keep: 9}, {Head: say("value"), Left: true, Keep: 9}, {Head: say("runs"), Left: true, Keep: 8}}}
	for _, d := range facts.Differ(all) {
		var values doc.Groups[string, string] // names of runs by value
		for i, v := range d.Values {
			values.Add(cmp.Or(v, notRecorded), s.names[i])
		}
		key := d.Key
		for _, v := range slices.SortedFunc(slices.Values(values.Keys), analysis.Natural) {
			t.Rows = append(t.Rows, doc.Row{Cells: doc.Texts(key, v, prose.List(values.Of[v]))})
			key = "" // only in the first row
		}
	}
	switch {
	case !recorded:
		x.About = say("The runs recorded no facts about their machines.")
	case t.Rows == nil:
		x.About = say("The runs recorded no difference between their machines.")
	default:
		x.Tables = []doc.Table{t}
		x.Notes = []string{say("The spread between the runs includes the effect of these differences.")}
	}
	return x
}

// head is that of several runs.
func (s several) head(census string) []doc.Fact {
	var hosts []map[string][]byte
	var first, last time.Time
	for _, r := range s.runs {
		hosts = append(hosts, r.Hosts)
		from, to := r.Times()
		if first.IsZero() || !from.IsZero() && from.Before(first) {
			first = from
		}
		if to.After(last) {
			last = to
		}
	}
	out := section.Machines(hosts...)
	if !first.IsZero() {
		out = append(out, doc.Fact{Key: say("when"), Value: say("%s to %s", first.UTC().Format("2006-01-02 15:04"), last.UTC().Format("2006-01-02 15:04")) + " UTC"})
	}
	sure := say("all ratios hold together with %s %% confidence, and cover how runs differ", prose.Trim(100*s.p.Confidence))
	if s.p.Runs < 2 {
		sure = say("one run cannot show how much runs differ")
	}
	return append(out, doc.Fact{Key: say("measured"), Value: census}, doc.Fact{Key: say("how sure"), Value: sure})
}
