package analysis

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Projection lays the samples of a run out as tables. One factor makes the rows; every
// combination of the others is a table. Any factor can make the rows and any of its levels can be
// the baseline: {Row: Network, Baseline: "host"} compares networks, {Row: Probe, Baseline:
// "iperf3-tcp"} tools, {Row: "ends", Baseline: "host-host"} directions.
type Projection struct {
	Row      string   // factor
	Baseline string   // level of Row that divides the others; "" for none
	Order    []string // of the rows; unnamed levels follow, sorted
	// Each is the confidence of every single ratio; 0 means that all ratios of the projection hold
	// together with the confidence of the run.
	Each float64
}

func (r *Run) Project(p Projection) []Table {
	if p.Order == nil && p.Row == Network {
		p.Order = r.Networks
	}
	tables := r.layout(p)
	each := p.Each
	if each == 0 {
		each = stat.Adjust(r.Confidence, max(1, comparisons(tables, nil, nil)))
	}
	compareRows(tables, each)
	return tables
}

// layout sorts the samples into tables. Ratios come later: their number sets their confidence.
func (r *Run) layout(p Projection) []Table {
	byKey := map[string]*Table{}
	var all []*Table
	for _, s := range r.samples {
		k := key(s.config, p.Row)
		t := byKey[k]
		if t == nil {
			t = &Table{Config: without(s.config, p.Row)}
			if p.Row != Probe {
				t.Probe = s.probe
				delete(t.Config, Probe)
			}
			byKey[k] = t
			all = append(all, t)
		}
		t.Rows = append(t.Rows, Row{Network: s.network, Level: s.config[p.Row], sample: s})
	}
	vary(all)
	slices.SortFunc(all, func(a, b *Table) int {
		return cmp.Or(cmp.Compare(slices.Index(r.probes, a.Probe), slices.Index(r.probes, b.Probe)), compareLevels(a.Config, b.Config))
	})
	position := positions(append([]string{p.Baseline}, p.Order...))
	out := make([]Table, len(all))
	for i, t := range all {
		slices.SortFunc(t.Rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(position(a.Level), position(b.Level)), Natural(a.Level, b.Level))
		})
		t.fill(p.Baseline)
		out[i] = *t
	}
	return out
}

// vary finds the factors of each table that have another level elsewhere under the same probe.
func vary(all []*Table) {
	type level struct{ probe, factor, level string }
	tables, count := map[string]int{}, map[level]int{}
	for _, t := range all {
		tables[t.Probe]++
		for k, v := range t.Config {
			count[level{t.Probe, k, v}]++
		}
	}
	for _, t := range all {
		t.Levels = maps.Clone(t.Config)
		maps.DeleteFunc(t.Levels, func(k, v string) bool { return count[level{t.Probe, k, v}] == tables[t.Probe] })
	}
}

// fill fills in the rows and pairs them with the baseline's.
func (t *Table) fill(baseline string) {
	firsts := map[named]int{}
	var base *Sample
	for _, r := range t.Rows {
		for f, n := range r.sample.whole().firsts {
			firsts[f] += n
		}
		if r.Level == baseline && baseline != "" {
			base = r.sample
		}
	}
	m := mostFrequent(firsts)
	t.Metric, t.Unit = m.name, m.unit
	outages := m.name == record.Outage // mostly 0 for one of two networks, so differences compare them (Downtimes)
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Baseline = r.sample == base; !r.Baseline && !outages {
			r.base = base
		}
		t.count(r, 0)
	}
}

// count fills in a row from the trials that count in a comparison at this confidence. It can be
// called again with a higher one.
func (t *Table) count(r *Row, confidence float64) {
	samples := []*Sample{r.sample}
	if r.base != nil {
		samples = append(samples, r.base)
	}
	chosen, busy := Steady(confidence, samples...)
	if r.counted == chosen[0] && (busy == nil) == (r.Busy == nil) {
		return
	}
	*r = Row{Network: r.Network, Level: r.Level, Baseline: r.Baseline, sample: r.sample, base: r.base, counted: chosen[0], Busy: busy}
	r.fill(t.metricOf(r.counted), t.Unit)
	if r.base != nil {
		base := chosen[1]
		r.pairWith(base.Values(t.metricOf(base)))
		r.paths = pair(base.Values(record.RTTPath), r.counted.Values(record.RTTPath))
		if own, costs := base.ownCost(); own.Name == r.Own.Name {
			r.owns = pair(costs, r.costs)
		}
	}
}

// pairWith pairs the row with its baseline, and takes the values of both from the blocks that have both: a ratio stands
// beside values of the same trials.
func (r *Row) pairWith(base Series) {
	if r.pairs = pair(base, r.series); len(r.pairs.blocks) == 0 {
		return
	}
	r.Value, r.Base = stat.Median(r.pairs.own, single), stat.Median(r.pairs.base, single)
	for i := range r.Values {
		if v := &r.Values[i]; v.Key == r.metric.Whole() {
			vs := r.counted.values[v.Key].at(base.slots) // without those that no request answered
			medians, means := vs.medians(), vs.perBlock(mean)
			v.Median, v.Mean, v.SD, v.N = stat.Middle(medians), mean(means), deviation(means), len(medians)
		}
	}
}

// metricOf returns the metric of a row. Tools name values differently, so rows of probes differ.
func (t *Table) metricOf(s *Sample) record.Quantity {
	if t.Probe == "" {
		return s.Metric()
	}
	return t.Metric
}

// pairs holds the values of a row and its baseline in the blocks that have both.
type pairs struct {
	blocks    []int
	base, own []float64
}

func pair(base, own Series) pairs {
	blocks, v := Common(base, own)
	return pairs{blocks, v[0], v[1]}
}

// comparisons counts the ratios: one for every row, of a table or a contrast, that shares a block with
// its divisor, one more if response times are split, and one for every span of a chain whose
// segments share a block.
func comparisons(tables []Table, chains []Chain, contrasts []Contrasted) int {
	var all []pairs
	for _, r := range rowsOf(tables) {
		all = append(all, r.pairs, r.paths)
	}
	for _, c := range chains {
		for _, s := range c.Spans {
			all = append(all, s.pairs)
		}
	}
	for _, c := range contrasts {
		for _, x := range c.Rows {
			all = append(all, x.pairs, x.paths)
		}
	}
	return len(slices.DeleteFunc(all, func(p pairs) bool { return len(p.blocks) == 0 }))
}

func compareRows(tables []Table, each float64) {
	for t, r := range rowsOf(tables) {
		if r.base == nil {
			continue
		}
		t.count(r, each)
		if len(r.owns.blocks) > 0 {
			// As many as the rows with a Ratio at most, so that these intervals hold together too.
			r.Own.Ratio = stat.Ratio(r.owns.base, r.owns.own, each)
		}
		if len(r.pairs.blocks) > 0 {
			r.compare(each)
		}
	}
}

func (r *Row) compare(each float64) {
	p := r.pairs
	for _, i := range stat.Outliers(p.base, p.own) {
		r.Far = append(r.Far, Far{p.blocks[i], p.own[i] / p.base[i]})
	}
	r.Shared = len(p.blocks)
	r.Ratio = r.Busy.paired(p.base, p.own, each)
	if isRate(r.unit) {
		r.MeanRatio = r.Busy.means(p)
	}
	r.Same = r.Ratio.Contains(1)
	r.Detectable = r.Ratio.Detectable()
	if len(r.paths.blocks) > 0 {
		r.Path = r.Busy.Widen(stat.Ratio(r.paths.base, r.paths.own, each))
	}
}

// Ratios yields every ratio of the run's tables, chains, contrasts and gaps with its intended confidence, which
// the ratio itself lacks if it has too few blocks. A ratio whose two sides were measured, but never in the same
// block, has N 0: further blocks can give it.
func (r *Run) Ratios() iter.Seq2[stat.Interval, float64] {
	return func(yield func(stat.Interval, float64) bool) {
		more := true
		each := func(confidence float64, all ...stat.Interval) {
			for _, i := range all {
				more = more && (i.N == 0 || yield(i, confidence))
			}
		}
		for _, row := range r.Rows() {
			each(r.Each, row.Ratio, row.Path, row.Own.Ratio)
			more = more && (!row.unshared() || yield(row.Ratio, r.Each))
		}
		for _, c := range r.Chains {
			for _, s := range c.Spans {
				each(r.Each, s.Ratio)
			}
		}
		for _, c := range r.Contrasts {
			for _, x := range c.Rows {
				each(r.Each, x.Ratio, x.Path)
				more = more && (!x.Unshared() || yield(x.Ratio, r.Each))
			}
		}
		for _, g := range r.Gaps() {
			for _, m := range g.Modes {
				each(g.Each, m.Step)
			}
			for _, c := range g.Checks {
				each(g.Each, c.Ratio)
			}
			each(g.Each, g.Total)
		}
	}
}

// unshared reports whether the row and its baseline were measured, but never in the same block.
func (r *Row) unshared() bool {
	return r.base != nil && len(r.pairs.blocks) == 0 && r.series.Len() > 0 && r.base.whole().Values(r.metric).Len() > 0
}

const noCommonBlock = "shares no block with its divisor"

// Unshared reports whether both sides were measured, but never in the same block.
func (x ContrastRow) Unshared() bool { return x.Missing == noCommonBlock }

// A grid is the tables of one probe that differ in one factor.
type grid struct {
	probe  string
	rest   map[string]string // the other factors that vary
	levels []string          // of the factor, one per table
	tables []Table
}

// grids groups tables by all factors except one and omits those where it does not vary.
func grids(tables []Table, factor string) []*grid {
	byKey := map[string]*grid{}
	var out []*grid
	for _, t := range tables {
		level, ok := t.Levels[factor]
		if !ok {
			continue
		}
		k := t.Probe + "\x00" + key(t.Levels, factor)
		g := byKey[k]
		if g == nil {
			g = &grid{probe: t.Probe, rest: without(t.Levels, factor)}
			byKey[k] = g
			out = append(out, g)
		}
		g.levels, g.tables = append(g.levels, level), append(g.tables, t)
	}
	return out
}

func without(m map[string]string, name string) map[string]string {
	out := maps.Clone(m)
	delete(out, name)
	return out
}
