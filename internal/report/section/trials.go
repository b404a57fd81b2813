package section

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A report of a huge run lists only some trials, to fit into an email. Its numbers use all trials.
const (
	manyTrials = 2000 // larger reports are cut
	mostCells  = 6000 // in all tables of trials
	mostDots   = 6000 // in all charts
	mostNamed  = 300  // trials that are not ok, over all reasons
	mostGroups = 250  // reasons for not counting trials
	manyRows   = 60   // of all tables of probes: larger pages have fewer charts
)

// A cut limits what a report lists; 0 means no limit.
type cut struct {
	blocks int  // rows of each table of trials
	dots   int  // of each network in each chart
	few    bool // charts: no second one of what a table has with intervals
}

func newCut(p *analysis.Run) cut {
	trials, rows := 0, 0
	for _, t := range p.Tables {
		rows += len(t.Rows)
		for _, r := range t.Rows {
			trials += r.Trials()
		}
	}
	if trials <= manyTrials {
		return cut{few: rows > manyRows}
	}
	return cut{blocks: max(5, mostCells/rows), dots: max(20, mostDots/rows), few: rows > manyRows}
}

// inCSV points to what a report omits.
var inCSV = say("weir report --format csv lists all of them")

// A place is a block and pair of hosts, where networks are compared.
type place struct {
	Block int
	Pair  string // of hosts, if the study has several
}

func (p place) String() string { return strings.TrimSpace(fmt.Sprint(p.Block, " ", p.Pair)) }

var trialsAbout = say("Each dot is a trial, in the order of blocks, as its distance from its network's median. Rows of a chart share one scale, and higher is more. " +
	"A movement in all rows at once comes from the machine, one in a single row from that network.")

// trialSection has a chart and a table of every trial of each of the run's tables.
func trialSection(s source) []doc.Section {
	x := doc.Section{ID: "trials", Title: say("Every trial, block by block"), Label: say("Every trial"), About: trialsAbout, Fold: true, In: []doc.Medium{doc.Page}}
	for _, t := range s.p.Tables {
		order := s.places(t)
		if len(order) == 0 {
			continue
		}
		x.Figures = append(x.Figures, s.trialChart(t, order))
		x.Parts = append(x.Parts, s.trials(t, order))
	}
	if x.Parts == nil {
		return nil
	}
	return []doc.Section{x}
}

// at is the place of a row's ith trial. Imported results have no common blocks: a place has the ith of each
// network.
func (s source) at(i int, p analysis.Point) place {
	if s.p.Unpaired {
		return place{Block: i + 1}
	}
	return place{p.Block, p.Pair}
}

// places returns the places of a table's trials in order.
func (s source) places(t analysis.Table) []place {
	seen := map[place]bool{}
	for _, r := range t.Rows {
		for i, p := range r.Points {
			seen[s.at(i, p)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), analysis.Natural(a.Pair, b.Pair), cmp.Compare(a.Pair, b.Pair))
	})
}

// inTrials returns the unit and the digits in which trials of a table are printed.
func inTrials(t analysis.Table) (factor float64, label string, digits int) {
	top := 0.0
	var centers []float64
	for _, r := range t.Rows {
		centers = append(centers, r.Value.Center)
		for _, p := range r.Points {
			top = max(top, p.Value)
		}
	}
	factor, label = unit.Scale(top, t.Unit)
	return factor, label, unit.Decimals(4, factor, centers...)
}

func (s source) trialChart(t analysis.Table, order []place) doc.Figure {
	factor, label, digits := inTrials(t)
	caption := s.Under(t.Probe, t.Levels)
	f := doc.Figure{ID: tableID(t) + " each", Caption: caption, Probe: t.Probe}
	if n := len(order); s.cut.dots > 0 && n > s.cut.dots {
		every := (n + s.cut.dots - 1) / s.cut.dots
		f.Note = say("Every %dth place; %s.", every, inCSV)
		var some []place
		for i := 0; i < n; i += every {
			some = append(some, order[i])
		}
		order = some
	}
	v := chart.Trials{Axis: prose.Comma(MetricName(t.Metric), label), Block: say("block"), Scale: say("Half a row is {} of the median."),
		NotCounted: say("not counted"), Disturbed: say("disturbed")}
	index := map[place]int{}
	for i, p := range order {
		index[p] = i
		v.Blocks = append(v.Blocks, p.String())
	}
	states := map[chart.TrialState]int{}
	// A mark that all trials have marks none, and would be half of a large page.
	all := allDisturbed(t)
	if all {
		f.Note = prose.Sentences(f.Note, say("No trial is undisturbed, so no mark says so."))
	}
	for _, r := range t.Rows {
		row := chart.TrialRow{Name: r.Network, Color: s.color(r.Network), Median: r.Value.Center * factor}
		for n, p := range r.Points {
			i, ok := index[s.at(n, p)]
			if !ok {
				continue
			}
			states[state(p.Status)]++
			p = drawn(p, all)
			var c doc.Cell
			addTrial(&c, p, factor, digits)
			x := chart.TrialPoint{At: i, Value: p.Value * factor, Has: p.Has, State: state(p.Status), Tip: c.Text}
			row.Points = append(row.Points, x)
		}
		v.Rows = append(v.Rows, row)
	}
	v.Alt = say("Every trial, %s: %d count, %d disturbed, %d not counted. The values are in the table below.", caption,
		states[chart.TrialCounts], states[chart.TrialDisturbed], states[chart.TrialNot])
	f.Chart = v
	return f
}

func state(status record.Status) chart.TrialState {
	switch status {
	case record.OK:
		return chart.TrialCounts
	case record.Disturbed:
		return chart.TrialDisturbed
	}
	return chart.TrialNot
}

// drawn is a trial without the mark that all have.
func drawn(p analysis.Point, all bool) analysis.Point {
	if all && p.Status == record.Disturbed {
		p.Status = record.OK
	}
	return p
}

// allDisturbed reports whether no trial of a table is undisturbed.
func allDisturbed(t analysis.Table) (disturbed bool) {
	for _, r := range t.Rows {
		for _, p := range r.Points {
			if p.Status == record.OK {
				return false
			}
			disturbed = disturbed || p.Status == record.Disturbed
		}
	}
	return disturbed
}

// trials lists every trial of a table: a row per block and pair of hosts, a column per network.
func (s source) trials(t analysis.Table, order []place) doc.Section {
	title := s.Under(t.Probe, t.Levels)
	out := doc.Section{ID: tableID(t) + " trials", Title: say("In numbers: %s", title), Label: title, Fold: true, Probe: t.Probe}
	if n := len(order); s.cut.blocks > 0 && n > s.cut.blocks {
		order = order[:s.cut.blocks]
		out.Notes = []string{say("The first %d of %d rows; %s.", s.cut.blocks, n, inCSV)}
	}
	row := map[place]int{}
	blocks := doc.Filled{Column: doc.Column{Head: say("block")}}
	if s.p.Unpaired {
		blocks.Head = say("result")
	}
	for i, p := range order {
		row[p] = i
		blocks.Cells = append(blocks.Cells, doc.Cell{Text: p.String(), Value: doc.Number(float64(p.Block))})
	}
	all := allDisturbed(t)
	if all {
		out.Notes = append(out.Notes, say("No trial is undisturbed, so no mark says so."))
	}
	factor, label, digits := inTrials(t)
	blocks.Unit = prose.Comma(MetricName(t.Metric), label)
	columns := []doc.Filled{blocks}
	for _, r := range t.Rows {
		c := doc.Filled{Column: doc.Column{Head: r.Network, Base: t.Unit, Network: r.Network}, Cells: make([]doc.Cell, len(order))}
		for n, p := range r.Points {
			if i, ok := row[s.at(n, p)]; ok {
				addTrial(&c.Cells[i], drawn(p, all), factor, digits)
			}
		}
		columns = append(columns, c)
	}
	out.Tables = []doc.Table{doc.Tabulate(tableID(t)+" trials", columns...)}
	return out
}

// addTrial adds a trial to a cell. A cell has several if a study measures it more than once per block.
func addTrial(c *doc.Cell, p analysis.Point, factor float64, decimals int) {
	s := ""
	if p.Has {
		s, c.Value = prose.Fixed(p.Value*factor, decimals), doc.Number(p.Value)
	}
	if p.Status != record.OK {
		s, c.Bad = strings.TrimSpace(s+" "+word(string(p.Status))), true
	}
	c.Text = strings.TrimSpace(c.Text + " " + s)
}
