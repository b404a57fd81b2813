package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
)

// A Projection lays the samples of a run out as tables. The samples of a table differ
// in one factor only, which makes its rows; every combination of the other factors is
// a table. Any factor can make the rows and any of its levels can be the baseline:
// networks are compared by {Row: Network, Baseline: "host"}, tools by {Row: Probe,
// Baseline: "iperf3-tcp"}, directions by {Row: "ends", Baseline: "host-host"}.
type Projection struct {
	Row      string   // factor
	Baseline string   // level of Row that the other rows are divided by; "" for none
	Order    []string // of the rows; levels that it does not name follow, sorted
	// Each is the confidence of every ratio by itself; 0 means that all ratios of the
	// projection hold together with the confidence of the run.
	Each float64
}

// Project lays the run out as tables.
func (r *Run) Project(p Projection) []Table {
	if p.Order == nil && p.Row == Network {
		p.Order = r.Networks
	}
	drafts := r.layout(p)
	each := p.Each
	if each == 0 {
		each = stat.Adjust(r.Confidence, max(1, comparisons(drafts)))
	}
	var out []Table
	for _, d := range drafts {
		out = append(out, d.table(p, each))
	}
	return out
}

// A draft is a table before its ratios: their confidence depends on their number.
type draft struct {
	probe          string            // "" when the rows are probes
	config, levels map[string]string // of the other factors
	rows           []line
	metric, unit   string
	baseline       *Sample
}

// A line is a row of a draft.
type line struct {
	level string
	*Sample
}

// layout sorts the samples into drafts.
func (r *Run) layout(p Projection) []draft {
	byKey := map[string]*draft{}
	var all []*draft
	for _, s := range r.samples {
		k := key(s.config, p.Row)
		d := byKey[k]
		if d == nil {
			d = &draft{config: without(s.config, p.Row)}
			if p.Row != Probe {
				d.probe = s.probe
				delete(d.config, Probe)
			}
			byKey[k] = d
			all = append(all, d)
		}
		d.rows = append(d.rows, line{s.config[p.Row], s})
	}
	vary(all)
	slices.SortFunc(all, func(a, b *draft) int {
		return cmp.Or(cmp.Compare(slices.Index(r.probes, a.probe), slices.Index(r.probes, b.probe)), compareLevels(a.config, b.config))
	})
	place := places(append([]string{p.Baseline}, p.Order...))
	out := make([]draft, len(all))
	for i, d := range all {
		slices.SortFunc(d.rows, func(a, b line) int {
			return cmp.Or(cmp.Compare(place(a.level), place(b.level)), Natural(a.level, b.level))
		})
		firsts := map[named]int{}
		for _, l := range d.rows {
			for f, n := range l.firsts {
				firsts[f] += n
			}
			if l.level == p.Baseline && p.Baseline != "" {
				d.baseline = l.Sample
			}
		}
		m, _ := mostFrequent(firsts)
		d.metric, d.unit = m.name, m.unit
		out[i] = *d
	}
	return out
}

// vary finds the factors of each draft that have another level elsewhere under the
// same probe.
func vary(all []*draft) {
	type level struct{ probe, factor, level string }
	drafts, count := map[string]int{}, map[level]int{}
	for _, d := range all {
		drafts[d.probe]++
		for k, v := range d.config {
			count[level{d.probe, k, v}]++
		}
	}
	for _, d := range all {
		d.levels = map[string]string{}
		for k, v := range d.config {
			if count[level{d.probe, k, v}] < drafts[d.probe] {
				d.levels[k] = v
			}
		}
	}
}

// metricOf is the value by which a row is compared. Tools do not agree on names, so
// that rows of probes have each its own.
func (d draft) metricOf(s *Sample) string {
	if d.probe == "" {
		return s.Metric()
	}
	return d.metric
}

// against pairs a value of a row with the baseline's.
func (d draft) against(s *Sample, metric string) (blocks []int, base, own []float64) {
	if d.baseline == nil || metric == "" {
		return nil, nil, nil
	}
	of := metric
	if metric == d.metricOf(s) {
		of = d.metricOf(d.baseline)
	}
	blocks, v := Common(d.baseline.Values(of), s.Values(metric))
	return blocks, v[0], v[1]
}

// comparisons counts the ratios to baselines: one for every row that shares a block
// with its baseline, and one more where response times are taken apart.
func comparisons(drafts []draft) (n int) {
	for _, d := range drafts {
		for _, l := range d.rows {
			if d.baseline == nil || l.Sample == d.baseline {
				continue
			}
			if _, a, _ := d.against(l.Sample, d.metricOf(l.Sample)); len(a) > 0 {
				n++
			}
			if _, a, _ := d.against(l.Sample, pathValue); len(a) > 0 {
				n++
			}
		}
	}
	return n
}

// table makes the rows, and their ratios with the given confidence each.
func (d draft) table(p Projection, each float64) Table {
	t := Table{Probe: d.probe, Config: d.config, Levels: d.levels, Metric: d.metric, Unit: d.unit}
	for _, l := range d.rows {
		row := newRow(l, d.metricOf(l.Sample), d.unit)
		if row.Baseline = l.Sample == d.baseline; !row.Baseline {
			d.compare(&row, each)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (d draft) compare(r *Row, each float64) {
	s := r.sample
	if r.Refused = Refused(d.baseline, s); r.Refused != "" {
		return
	}
	blocks, a, b := d.against(s, d.metricOf(s))
	if len(a) == 0 {
		return
	}
	for _, i := range stat.Outliers(a, b) {
		r.Far = append(r.Far, Far{blocks[i], b[i] / a[i]})
	}
	r.Shared = len(a)
	r.Ratio, _, _, _ = stat.Paired(a, b, each)
	r.Same = r.Ratio.Contains(1)
	r.Detectable = r.Ratio.Detectable()
	if _, a, b := d.against(s, pathValue); len(a) > 0 {
		r.Path = stat.Ratio(a, b, each)
	}
}

// A Grid is tables of one probe that differ in one factor.
type grid struct {
	probe  string
	rest   map[string]string // the other factors that vary
	levels []string          // of the factor, one per table
	tables []Table
}

// grids groups tables by all factors but one. Those that do not vary in it are left out.
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
