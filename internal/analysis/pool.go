package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Pooled is several runs, cell by cell, with the run as a random effect: its intervals cover
// differences between runs, which no single run can show.
type Pooled struct {
	Baseline   string       `json:"baseline"`
	Confidence float64      `json:"confidence"` // of all ratios together
	Each       float64      `json:"each"`       // confidence of each ratio
	Runs       int          `json:"runs"`
	Networks   []string     `json:"networks"` // the baseline first
	Cells      []PooledCell `json:"cells"`    // in the order of the tables of the runs
	// Contrasts holds the comparisons that the studies state, as Run.Contrasts does.
	Contrasts []PooledContrast `json:"contrasts,omitempty"`
}

// A PooledCell is one cell over all runs.
type PooledCell struct {
	Cell
	Config   map[string]string `json:"asked,omitempty"` // all factors but network and probe
	Metric   record.Quantity   `json:"metric"`
	Unit     string            `json:"unit"`
	Baseline bool              `json:"baseline,omitempty"` // has no ratio
	// Ratio pools the ratios of the runs to their own baselines; K is 0 for the baseline.
	Ratio stat.Pooled `json:"ratio,omitzero"`
	Path  stat.Pooled `json:"path,omitzero"` // of the network's part of response times
	// Value pools the medians of the runs as logarithms: its center is a geometric mean. The interval
	// holds by itself.
	Value   stat.Pooled `json:"value"`
	Budget  Budget      `json:"budget,omitzero"` // of Ratio; of Value for the baseline
	Verdict Verdict     `json:"verdict,omitempty"`
	PerRun  []CellRun   `json:"perRun"` // one per run, in their order

	own named // name and unit of the own CPU cost
}

// A CellRun is a cell in one run.
type CellRun struct {
	Value stat.Interval `json:"value"`
	Ratio stat.Interval `json:"ratio,omitzero"`
	Path  stat.Interval `json:"path,omitzero"`
	// Missing says why the run does not count in the pooled ratio, or in the value if the cell is the
	// baseline's or nothing divides it; "" if it counts.
	Missing string `json:"missing,omitempty"`
	// Busy is set if disturbed trials count in the run.
	Busy *Disturbance `json:"busy,omitempty"`

	window    float64       // s, median of the trials
	base      float64       // value of the baseline
	per       bool          // the ratio is divided by another
	own       stat.Interval // ratio of the own CPU cost
	otherRuns *OtherRuns    // of the row
}

// A Verdict says how a network compares with the baseline over several runs.
type Verdict string

const (
	Slower       Verdict = "slower"
	Faster       Verdict = "faster"
	NoDifference Verdict = "no difference shown" // the interval contains 1
	NoInterval   Verdict = "too few runs for an interval"
)

// judge returns the verdict on a ratio of values of a quantity.
func judge(ratio stat.Interval, of record.Quantity, unit string) Verdict {
	switch {
	case !ratio.Bounded():
		return NoInterval
	case ratio.Contains(1):
		return NoDifference
	case (ratio.Center < 1) == of.LowerIsBetter(unit):
		return Faster
	}
	return Slower
}

// Pool aligns the cells of runs by probe, all factors and network, and pools the ratios of each cell to
// the baseline of its own run, and those of contrasts likewise. confidence is that of all ratios together; 0 means 0.95. A run that
// lacks a cell, its baseline, or the metric and unit of the other runs stays in PerRun, with the reason.
func Pool(runs []*Run, confidence float64) *Pooled {
	p := &Pooled{Confidence: cmp.Or(confidence, 0.95), Runs: len(runs)}
	at := map[string]int{}
	for i, r := range runs {
		p.Baseline = cmp.Or(p.Baseline, r.Baseline)
		for t, row := range r.Rows() {
			k := strings.Join([]string{t.Probe, key(t.Config), row.Network, r.Baseline}, "\x00")
			n, ok := at[k]
			if !ok {
				n = len(p.Cells)
				at[k] = n
				p.Cells = append(p.Cells, PooledCell{Cell: t.Cell(*row), Config: t.Config, Baseline: row.Baseline,
					PerRun: slices.Repeat([]CellRun{{Missing: notMeasured}}, len(runs))})
			}
			p.Cells[n].add(i, t, row, r.Baseline != "")
		}
		for _, n := range r.Networks {
			if !slices.Contains(p.Networks, n) {
				p.Networks = append(p.Networks, n)
			}
		}
	}
	p.contrasts(runs)
	p.sort(runs)
	p.vary()
	p.compare()
	return p
}

// add sets the numbers of run i, which divides its rows by a baseline or not.
func (c *PooledCell) add(i int, t *Table, row *Row, divided bool) {
	base, _ := t.baseline()
	x := CellRun{Value: row.Value, Ratio: row.Ratio, Path: row.Path, Busy: row.Busy, base: cmp.Or(row.Base.Center, base.Value.Center), own: row.Own.Ratio, otherRuns: row.OtherRuns}
	if w, ok := row.Get(record.Window); ok {
		x.window = w.Median
	}
	metric := c.Metric == "" || c.Metric == t.Metric && c.Unit == t.Unit
	switch {
	case row.Counted() == 0:
		x.Missing = NoOKTrial
	case !metric:
		x = CellRun{Missing: fmt.Sprintf("measures %s in %s", t.Metric, t.Unit)}
	case row.Baseline || !divided:
	case x.Ratio.N == 0 && base.Counted() == 0:
		x.Missing = "the baseline has no ok trial"
	case x.Ratio.N == 0:
		x.Missing = cmp.Or(x.Ratio.Reason(), "shares no block with the baseline")
	}
	if own := (named{row.Own.Name, row.Own.Unit}); c.own.name == "" {
		c.own = own
	} else if c.own != own {
		x.own = stat.Interval{}
	}
	if metric && t.Metric != "" {
		c.Metric, c.Unit = t.Metric, t.Unit
	}
	c.PerRun[i] = x
}

// NoOKTrial is why a cell whose trials all failed is missing.
const NoOKTrial = "no ok trial"

func (t *Table) baseline() (Row, bool) {
	for _, r := range t.Rows {
		if r.Baseline {
			return r, true
		}
	}
	return Row{}, false
}

// sort orders the cells as tables are: by probe, levels, network.
func (p *Pooled) sort(runs []*Run) {
	var names []string // of probes
	for _, r := range runs {
		names = append(names, r.probes...)
	}
	probe, network := positions(names), positions(p.Networks)
	slices.SortStableFunc(p.Cells, func(a, b PooledCell) int {
		return cmp.Or(cmp.Compare(probe(a.Probe), probe(b.Probe)), compareLevels(a.Config, b.Config), cmp.Compare(network(a.Network), network(b.Network)))
	})
	p.sortRows(probe, network)
}

// vary sets Levels to the factors that vary between cells of one probe.
func (p *Pooled) vary() {
	type level struct{ probe, factor, level string }
	cells, count := map[string]int{}, map[level]int{}
	for _, c := range p.Cells {
		cells[c.Probe]++
		for k, v := range c.Config {
			count[level{c.Probe, k, v}]++
		}
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Levels = maps.Clone(c.Config)
		maps.DeleteFunc(c.Levels, func(k, v string) bool { return count[level{c.Probe, k, v}] == cells[c.Probe] })
	}
}

// compare pools every cell. All ratios hold together.
func (p *Pooled) compare() {
	comparisons := 0
	for _, c := range p.all() {
		for _, of := range [][]stat.Interval{c.counted(ratioOfRun), c.counted(pathOfRun)} {
			if !c.Baseline && len(of) > 0 {
				comparisons++
			}
		}
	}
	p.Each = stat.Adjust(p.Confidence, max(1, comparisons))
	ratios, paths := expected(p.all(), ratioOfRun), expected(p.all(), pathOfRun)
	for i, c := range p.all() {
		c.Value = stat.Pool(c.counted(valueOfRun), single)
		if c.Baseline || p.Baseline == "" && len(c.counted(ratioOfRun)) == 0 {
			c.Budget = c.budget(c.Value)
			continue
		}
		c.Ratio = stat.PoolExpecting(c.counted(ratioOfRun), ratios[i], p.Each)
		c.Path = stat.PoolExpecting(c.counted(pathOfRun), paths[i], p.Each)
		if c.Ratio.N > 0 {
			c.Verdict = judge(c.Ratio.Interval, c.Metric, c.Unit)
			c.Budget = c.budget(c.Ratio)
		}
	}
}

// expected returns the spread between runs to expect of every cell, after what the others show.
func expected(cells []*PooledCell, of func(CellRun) stat.Interval) []stat.Spread {
	var all [][][]stat.Interval
	for _, c := range cells {
		all = append(all, [][]stat.Interval{c.counted(of)})
	}
	return stat.Expected(all)
}

func ratioOfRun(x CellRun) stat.Interval { return x.Ratio }
func pathOfRun(x CellRun) stat.Interval  { return x.Path }
func ownOfRun(x CellRun) stat.Interval   { return x.own }

// valueOfRun returns the median with its relative standard error, which is that of its logarithm.
func valueOfRun(x CellRun) stat.Interval {
	v := x.Value
	if v.Center > 0 {
		v.SE /= v.Center
	}
	return v
}

// counted returns one interval of each run that counts and has it.
func (c *PooledCell) counted(of func(CellRun) stat.Interval) (out []stat.Interval) {
	for _, x := range c.PerRun {
		if i := of(x); x.Missing == "" && i.N > 0 {
			out = append(out, i)
		}
	}
	return out
}

// Counted returns how many runs count.
func (c *PooledCell) Counted() int { return len(c.counted(valueOfRun)) }

// A Budget lists the standard uncertainties of a pooled number, relative to it (GUM, JCGM 100:2008:
// type A is evaluated from repetition, type B from other knowledge).
type Budget struct {
	Within   float64 `json:"within"`   // type A, from the blocks of the runs
	Between  float64 `json:"between"`  // type A, from the runs
	TypeB    float64 `json:"typeB"`    // what repetition cannot show
	Source   string  `json:"source"`   // of TypeB
	Combined float64 `json:"combined"` // root of the sum of squares
}

func (c *PooledCell) budget(of stat.Pooled) Budget {
	b := Budget{Within: of.Within, Between: of.Between}
	var own, base float64 // the largest of all runs: type B does not average out
	b.Source = cmp.Or(typeBs[c.Unit].source, "none known for this unit")
	for _, x := range c.PerRun {
		if x.Missing == "" {
			own = max(own, typeB(c.Unit, x.Value.Center, x.window))
			if !c.Baseline {
				base = max(base, typeB(c.Unit, x.base, x.window))
			}
		}
	}
	if b.TypeB = math.Hypot(own, base); slices.ContainsFunc(c.PerRun, func(x CellRun) bool { return x.per }) {
		b.TypeB *= math.Sqrt2 // the other ratio resolves about as much
	}
	b.Combined = math.Hypot(math.Hypot(b.Within, b.Between), b.TypeB)
	return b
}

// RatioOver returns a cell's ratio over some of the runs, by their place: that of a single run with its own
// interval, that of several pooled, at the confidence of all pooled ratios. N is 0 if none has it.
func (p *Pooled) RatioOver(c PooledCell, runs []int) stat.Interval {
	return p.over(c, runs, ratioOfRun)
}

// ValueOver does the same for the value, as PooledCell.Value does for all runs.
func (p *Pooled) ValueOver(c PooledCell, runs []int) stat.Interval {
	return p.over(c, runs, valueOfRun)
}

func (p *Pooled) over(c PooledCell, runs []int, of func(CellRun) stat.Interval) stat.Interval {
	var some PooledCell
	for _, i := range runs {
		some.PerRun = append(some.PerRun, c.PerRun[i])
	}
	all := some.counted(of)
	if len(all) == 1 {
		return all[0]
	}
	return stat.Pool(all, p.Each).Interval
}
