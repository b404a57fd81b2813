package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A report lists every trial of an ordinary run. It lists only some of a huge run, so
// that a page stays small enough for a mail. The numbers always come from all trials.
const (
	manyTrials = 2000 // a report of more is cut
	mostCells  = 6000 // of all tables of trials together
	mostDots   = 6000 // of all charts together
	mostNamed  = 1000 // trials that are not counted, of all reasons together
	mostGroups = 250  // reasons for not counting trials
)

// A cut limits what a report lists; 0 is no limit.
type cut struct {
	blocks int // rows of each table of trials
	dots   int // of each network in each chart
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
		return cut{}
	}
	return cut{blocks: max(5, mostCells/rows), dots: max(20, mostDots/rows)}
}

// dotsOf returns the trials to draw, in the order of the blocks: all of them, or as many
// quantiles as the cut allows, with both extremes.
func (c cut) dotsOf(r analysis.Row) []analysis.Point {
	with := slices.DeleteFunc(slices.Clone(r.Points), func(p analysis.Point) bool { return !p.Has })
	n := len(with)
	if c.dots == 0 || n <= c.dots {
		return with
	}
	byValue := make([]int, n)
	for i := range byValue {
		byValue[i] = i
	}
	slices.SortStableFunc(byValue, func(a, b int) int { return cmp.Compare(with[a].Value, with[b].Value) })
	var chosen []int
	for i := range c.dots {
		chosen = append(chosen, byValue[i*(n-1)/(c.dots-1)])
	}
	slices.Sort(chosen)
	out := make([]analysis.Point, 0, c.dots)
	for _, i := range chosen {
		out = append(out, with[i])
	}
	return out
}

// inCSV is where a reader finds what a report leaves out.
const inCSV = "weir report --format csv lists all of them"

// A place is where in a run networks are compared.
type place struct {
	Block int
	Pair  string // of hosts, where the study has several
}

func (p place) String() string { return strings.TrimSpace(fmt.Sprint(p.Block, " ", p.Pair)) }

// trials is the part that lists every trial of a table: a row per block and pair of
// hosts, and a column per network.
func (s source) trials(t analysis.Table) (Section, bool) {
	seen := map[place]bool{}
	top := 0.0
	var centers []float64
	for _, r := range t.Rows {
		centers = append(centers, r.Value.Center)
		for _, p := range r.Points {
			top = max(top, p.Value)
			seen[place{p.Block, p.Pair}] = true
		}
	}
	if len(seen) == 0 {
		return Section{}, false
	}
	order := slices.SortedFunc(maps.Keys(seen), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), analysis.Natural(a.Pair, b.Pair), cmp.Compare(a.Pair, b.Pair))
	})
	out := Section{ID: tableID(t) + " trials", Title: "trials, block by block", Fold: true, In: []Medium{forPage}}
	if n := len(order); s.cut.blocks > 0 && n > s.cut.blocks {
		order = order[:s.cut.blocks]
		out.Notes = []string{fmt.Sprintf("The first %d of %d rows; %s.", s.cut.blocks, n, inCSV)}
	}
	row := map[place]int{}
	blocks := column{Column: Column{Head: "block"}}
	for i, p := range order {
		row[p] = i
		blocks.cells = append(blocks.cells, Cell{Text: p.String(), Value: number(float64(p.Block))})
	}
	factor, label := unit.Scale(top, t.Unit)
	blocks.Unit = comma(metricName(t.Metric), label)
	d := decimals(factor, centers...)
	columns := []column{blocks}
	for _, r := range t.Rows {
		c := column{Column: Column{Head: r.Network, Base: t.Unit, Network: r.Network}, cells: make([]Cell, len(order))}
		for _, p := range r.Points {
			if i, ok := row[place{p.Block, p.Pair}]; ok {
				c.cells[i].trial(p, factor, d)
			}
		}
		columns = append(columns, c)
	}
	out.Tables = []Table{table(tableID(t)+" trials", columns...)}
	return out, true
}

// trial adds a trial to a cell. There are several where a study measures a cell more
// than once in a block.
func (c *Cell) trial(p analysis.Point, factor float64, decimals int) {
	s := ""
	if p.Has {
		s, c.Value = fixed(p.Value*factor, decimals), number(p.Value)
	}
	if p.Status != record.OK {
		s, c.Bad = strings.TrimSpace(s+" "+string(p.Status)), true
	}
	c.Text = strings.TrimSpace(c.Text + " " + s)
}
