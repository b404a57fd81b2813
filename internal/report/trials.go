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

// A report of a huge run lists only some trials, to fit into an email. Its numbers use all trials.
const (
	manyTrials = 2000 // larger reports are cut
	mostCells  = 6000 // in all tables of trials
	mostDots   = 6000 // in all charts
	mostNamed  = 1000 // trials not counted, over all reasons
	mostGroups = 250  // reasons for not counting trials
)

// A cut limits what a report lists; 0 means no limit.
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

// dotsOf returns, in block order, all trials or as many quantiles as the cut allows, including both
// extremes.
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

// inCSV points to what a report omits.
const inCSV = "weir report --format csv lists all of them"

// A place is a block and pair of hosts, where networks are compared.
type place struct {
	Block int
	Pair  string // of hosts, if the study has several
}

func (p place) String() string { return strings.TrimSpace(fmt.Sprint(p.Block, " ", p.Pair)) }

// trials lists every trial of a table: a row per block and pair of hosts, a column per network.
func (s source) trials(t analysis.Table) (Section, bool) {
	// Imported results have no common blocks: a row has the nth of each network.
	at := func(i int, p analysis.Point) place {
		if s.p.Unpaired {
			return place{Block: i + 1}
		}
		return place{p.Block, p.Pair}
	}
	seen := map[place]bool{}
	top := 0.0
	var centers []float64
	for _, r := range t.Rows {
		centers = append(centers, r.Value.Center)
		for i, p := range r.Points {
			top = max(top, p.Value)
			seen[at(i, p)] = true
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
	if s.p.Unpaired {
		out.Title, blocks.Head = "results, file by file", "result"
	}
	for i, p := range order {
		row[p] = i
		blocks.cells = append(blocks.cells, Cell{Text: p.String(), Value: number(float64(p.Block))})
	}
	factor, label := unit.Scale(top, t.Unit)
	blocks.Unit = comma(metricName(t.Metric), label)
	d := unit.Decimals(4, factor, centers...)
	columns := []column{blocks}
	for _, r := range t.Rows {
		c := column{Column: Column{Head: r.Network, Base: t.Unit, Network: r.Network}, cells: make([]Cell, len(order))}
		for n, p := range r.Points {
			if i, ok := row[at(n, p)]; ok {
				c.cells[i].trial(p, factor, d)
			}
		}
		columns = append(columns, c)
	}
	out.Tables = []Table{table(tableID(t)+" trials", columns...)}
	return out, true
}

// trial adds a trial to a cell. A cell has several if a study measures it more than once per block.
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
