package section

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A glanced is a row of the table below the answer.
type glanced struct {
	value, name   string // what is measured, and where
	ratio         stat.Interval
	same          bool
	base, own     float64
	unit, missing string
	metric        record.Quantity
	network       string
	divides, row  string // what is divided, and the row's name below it
	relative      bool   // the ratio divides ratios, not the values
}

// Of more rows, the table below the answer has those with the largest effects: it must fit a screen with the answer.
const mostGlanced = 12

// glance are the numbers of the answer in one small table: each ratio with its interval and both values.
func (s source) glance() []doc.Table {
	rows, left := s.stepRows(), 0
	if rows == nil {
		rows = s.glancedRows()
	}
	if len(rows) > mostGlanced && s.oneDivisor() {
		if t, ok := s.matrix(); ok {
			return []doc.Table{t}
		}
	}
	if left = len(rows) - mostGlanced; left > 0 {
		order := slices.Clone(rows)
		slices.SortStableFunc(order, func(a, b glanced) int { return cmp.Compare(b.size(), a.size()) })
		least := order[mostGlanced-1].size()
		rows = slices.DeleteFunc(rows, func(g glanced) bool { return g.size() < least })
		rows, left = rows[:min(len(rows), mostGlanced)], len(order)-mostGlanced
	}
	if len(rows) == 0 {
		return nil
	}
	to, last := "÷", ""
	if s.oneDivisor() {
		to = "÷ " + s.p.Baseline
	}
	// Where the rows divide by several things, the head of each group says by what.
	_, one := s.commonRatio()
	several := !s.oneDivisor() && !one
	first := doc.Layout(doc.Column{Left: true, Kind: "name", Keep: 9, Whole: true}, rows, func(g glanced) doc.Cell {
		head := heading(g.value)
		if several {
			head = prose.Comma(head, g.divides)
		}
		if head == last {
			return doc.Cell{}
		}
		last = head
		return doc.Cell{Text: head}
	})
	name := doc.Layout(doc.Column{Left: true, Kind: "name", Keep: 9}, rows, func(g glanced) doc.Cell {
		if several {
			return doc.Cell{Text: g.row}
		}
		return doc.Cell{Text: g.name}
	})
	cs := []doc.Filled{first, name}
	cs = append(cs, doc.Ratios(rows, to, func(g glanced) (stat.Interval, bool) { return g.ratio, g.same })...)
	for i := range rows {
		if rows[i].ratio.Bounded() {
			cs[2].Cells[i].Shade = shade(rows[i].ratio, rows[i].metric.LowerIsBetter(rows[i].unit))
		}
	}
	cs = append(cs, doc.Layout(doc.Column{Head: s.fromTo(), Left: true, Keep: 8}, rows, func(g glanced) doc.Cell {
		if g.missing != "" {
			return doc.Cell{Text: g.missing}
		}
		return doc.Cell{Text: fromTo(g.base, g.own, g.unit)}
	}))
	cs = append(cs, doc.Layout(doc.Column{Kind: "bar", Left: true, Keep: 1}, rows, func(g glanced) doc.Cell { return doc.Cell{Text: bar(g.ratio)} }))
	t := doc.Tabulate("glance", cs...)
	t.In = []doc.Medium{doc.Terminal, doc.Markdown}
	if ratio, ok := s.commonRatio(); ok {
		t.Title = say("%s:", ratio)
	}
	if left > 0 {
		t.Title = say("The %d largest of %d comparisons:", mostGlanced, mostGlanced+left)
	}
	return []doc.Table{t}
}

// heading begins with a capital, unless it begins with the name of a probe.
func heading(value string) string {
	if first, _, _ := strings.Cut(doc.English(value), " "); strings.Contains(first, "-") {
		return value
	}
	return prose.Capital(value)
}

// unknown is larger than every logarithm of a ratio.
const unknown = 1e4

// size is how far a row's ratio is from 1; those without an interval come last.
func (g glanced) size() float64 {
	size := unknown / 2
	if g.ratio.Center > 0 {
		size = math.Abs(math.Log(g.ratio.Center))
	}
	if !g.ratio.Bounded() {
		return size - unknown
	}
	return size
}

// contradicted reports whether the medians of a row say something else than its ratio: they are a tenth away, and outside
// its interval.
func (g glanced) contradicted() bool {
	if g.relative || g.base <= 0 || g.own <= 0 || g.ratio.Center <= 0 {
		return false
	}
	medians := g.own / g.base
	return math.Abs(math.Log(medians/g.ratio.Center)) > 0.1 && !g.ratio.Contains(medians)
}

// longestFrom is the longest name of a baseline in the head of a column.
const longestFrom = 4

func (s source) fromTo() string {
	if s.oneDivisor() && len(s.p.Baseline) <= longestFrom {
		return say("%s → network", s.p.Baseline)
	}
	return say("from → to")
}

// fromTo formats two values in one unit: "24.5 → 15.7 Gbit/s".
func fromTo(base, own float64, base1 string) string {
	factor, label := unit.Scale(math.Max(base, own), base1)
	number := func(v float64) string { return prose.Fixed(v*factor, unit.Decimals(3, factor, v)) }
	return strings.TrimSpace(number(base) + " → " + number(own) + " " + label)
}

// oneDivisor reports whether the baseline divides all that is compared.
func (s source) oneDivisor() bool {
	return s.p.Baseline != "" && len(s.p.Contrasts) == 0 && s.stepRows() == nil
}

// stepRows are the steps from UDP to TCP, a group for each network, where the answer begins with them.
func (s source) stepRows() (out []glanced) {
	if s.plain() {
		return nil
	}
	for _, g := range s.p.Gaps() {
		over := prose.Comma(g.Network, prose.Levels(g.Levels))
		for i, m := range g.Modes[1:] {
			if m.Step.N == 0 {
				continue
			}
			name := sendModes[m.Kind].short
			out = append(out, glanced{value: say("UDP to TCP"), name: prose.Comma(over, name), ratio: m.Step, same: m.Step.Contains(1),
				base: g.Modes[i].Rate.Center, own: m.Rate.Center, unit: "bit/s", metric: record.Throughput, network: g.Network, divides: over, row: name})
		}
	}
	return out
}

// glancedRows are the ratios of the study's steps, of its comparisons and of the tables, in the order of the answer.
func (s source) glancedRows() (out []glanced) {
	var stated []glanced
	ratio, common := s.commonRatio()
	for _, c := range s.comparisons() {
		relative := c.relative() // whose ratio divides this one, as another row has it
		if relative != "" {
			relative = "÷ " + relative
		}
		for _, p := range c.byProbe().Keys {
			for _, r := range c.byProbe().Of[p] {
				if r.Ratio.N == 0 {
					continue
				}
				name := cmp.Or(c.name(r), r.Network)
				if !common || ratio == "" {
					name = prose.Comma(name, c.ratio())
				}
				stated = append(stated, glanced{value: prose.Comma(Value(s.Words, r.Probe, r.Metric), relative), name: name, ratio: r.Ratio, same: r.Same, base: r.Base.Center, own: r.Value.Center, unit: r.Unit, metric: r.Metric, network: r.Network,
					divides: c.ratio(), row: cmp.Or(c.name(r), r.Network), relative: relative != ""})
			}
		}
	}
	for _, t := range s.p.Tables {
		for _, r := range t.Rows {
			if r.Baseline || s.p.Baseline == "" || r.Ratio.N == 0 {
				continue
			}
			name := prose.Comma(r.Network, prose.Levels(t.Levels))
			if len(t.Rows) == 2 && len(t.Levels) > 0 && len(s.p.Networks) == 2 && len(s.p.Contrasts) == 0 {
				name = prose.Levels(t.Levels)
			}
			out = append(out, glanced{value: Value(s.Words, t.Probe, t.Metric), name: name, ratio: r.Ratio, same: r.Same,
				base: r.Base.Center, own: r.Value.Center, unit: t.Unit, metric: t.Metric, network: r.Network,
				divides: "÷ " + s.p.Baseline, row: s.rowName(t, r)})
		}
	}
	if len(s.Contrasts) > 0 && s.Contrasts[0].Baseline() != "" {
		return append(out, stated...)
	}
	return slices.Concat(s.stepRows(), stated, out)
}

// rowName names a network under its conditions; where one network is compared, they are enough.
func (s source) rowName(t analysis.Table, r analysis.Row) string {
	levels := prose.Levels(t.Levels)
	if len(s.p.Networks) == 2 && levels != "" {
		return levels
	}
	return prose.Comma(r.Network, levels)
}

// commonRatio is what all rows divide, if that is one thing.
func (s source) commonRatio() (ratio string, common bool) {
	for i, c := range s.comparisons() {
		if i > 0 && c.ratio() != ratio {
			return "", false
		}
		ratio = c.ratio()
	}
	return ratio, s.p.Baseline == "" && ratio != ""
}

// matrix has a row for each of many networks: those that differ most come first.
func (s source) matrix() (doc.Table, bool) {
	if s.p.Baseline == "" || slices.ContainsFunc(byProbe(s.p.Tables), func(ts []analysis.Table) bool { return len(ts) > 1 }) {
		return doc.Table{}, false
	}
	networks := s.byEffect()
	all := len(networks)
	networks = networks[:min(all, mostGlanced)]
	cs := []doc.Filled{doc.Names("÷ "+s.p.Baseline, networks, func(n string) string { return n })}
	for _, t := range s.p.Tables {
		cs = append(cs, doc.Layout(doc.Column{Head: s.Short(t.Probe), Probe: t.Probe, Base: "1", Kind: "ratio", Keep: 8}, networks, func(n string) doc.Cell {
			r, _ := t.Row(n)
			if r.Ratio.N == 0 {
				return doc.Cell{Text: "–"}
			}
			c := doc.RatioCell(r.Ratio)
			if c.Text = Whole(r.Ratio); r.Ratio.Bounded() {
				c.Shade = shade(r.Ratio, t.Metric.LowerIsBetter(t.Unit))
				c.Bounds(r.Ratio)
				c.Text = prose.RatioBrackets(r.Ratio)
			}
			return c
		}))
	}
	t := doc.Tabulate("glance", cs...).Named(s.p.Baseline)
	t.In = []doc.Medium{doc.Terminal}
	if all > len(networks) {
		t.Title = say("The %d networks that differ most, of %d:", len(networks), all)
	}
	return t, true
}

// byEffect are the networks but the baseline, those that differ most first.
func (s source) byEffect() []string {
	networks := slices.DeleteFunc(slices.Clone(s.p.Networks), func(n string) bool { return n == s.p.Baseline })
	far := s.sizes()
	slices.SortStableFunc(networks, func(a, b string) int { return cmp.Compare(far[b], far[a]) })
	return networks
}

// sizes has the largest effect that each network shows.
func (s source) sizes() map[string]float64 {
	far := map[string]float64{}
	for t, r := range s.p.Rows() {
		if e := s.effect(*t, *r); e.shown() {
			far[r.Network] = max(far[r.Network], e.size())
		}
	}
	return far
}

// bar draws an interval on a logarithmic axis from a quarter to four times, around the line of no difference.
func bar(i stat.Interval) string {
	const half = 8
	if !i.Bounded() || i.Hi <= 0 {
		return ""
	}
	at := func(v float64) int {
		if v <= 0 {
			return 0
		}
		return min(2*half, max(0, half+int(math.Round(half*math.Log(v)/math.Log(4)))))
	}
	cells := slices.Repeat([]rune{' '}, 2*half+1)
	for n := at(i.Lo); n <= at(i.Hi); n++ {
		cells[n] = '─'
	}
	cells[half] = '│'
	cells[at(i.Center)] = '●'
	return strings.TrimRight(string(cells), " ")
}
