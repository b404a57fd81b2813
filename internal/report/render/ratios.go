package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A ratioLine is one ratio with the cell that it divides.
type ratioLine struct {
	analysis.Cell
	config     map[string]string // all factors except network and probe
	compared   string            // "network bridge ÷ host"
	name       record.Quantity
	unit       string
	value      stat.Interval
	ratio      stat.Interval
	difference stat.Interval
	tau        string // of pooled ratios
	missing    string
}

// Ratios writes one line per ratio of a run, or of several pooled, as CSV in base units: those of tables
// and those of the comparisons that studies state. A line that says what is missing has no ratio.
func Ratios(w io.Writer, d *doc.Document) error {
	switch a := d.Analysis.(type) {
	case *analysis.Run:
		return writeRatios(w, ratiosOfRun(a))
	case *analysis.Pooled:
		return writeRatios(w, pooledRatios(a))
	}
	return fmt.Errorf("%T has no table of ratios", d.Analysis)
}

func ratiosOfRun(r *analysis.Run) (lines []ratioLine) {
	for t, row := range r.Rows() {
		if row.Baseline || r.Baseline == "" {
			continue
		}
		l := ratioLine{Cell: t.Cell(*row), config: t.Config, compared: "network " + row.Network + " ÷ " + r.Baseline,
			name: t.Metric, unit: t.Unit, value: row.Value, ratio: row.Ratio}
		lines = append(lines, l, l.with(record.RTTPath, "s", row.Path), l.with(row.Own.Name, row.Own.Unit, row.Own.Ratio))
	}
	for _, c := range r.Contrasts {
		for _, x := range c.Rows {
			l := ratioLine{Cell: x.Cell, config: levels(x.Config, x.Of), compared: c.Name(x.Of),
				name: x.Metric, unit: x.Unit, value: x.Value, ratio: x.Ratio, difference: x.Difference, missing: x.Missing}
			lines = append(lines, l, l.with(record.RTTPath, "s", x.Path))
		}
	}
	return lines
}

func pooledRatios(p *analysis.Pooled) (lines []ratioLine) {
	add := func(c analysis.PooledCell, compared string, of map[string]string) {
		l := ratioLine{Cell: c.Cell, config: levels(c.Config, of), compared: compared, name: c.Metric, unit: c.Unit,
			value: c.Value.Interval, ratio: c.Ratio.Interval, tau: exact(c.Ratio.Tau)}
		path := l.with(record.RTTPath, "s", c.Path.Interval)
		path.tau = exact(c.Path.Tau)
		lines = append(lines, l, path)
	}
	for _, c := range p.Cells {
		if !c.Baseline && p.Baseline != "" {
			add(c, "network "+c.Network+" ÷ "+p.Baseline, nil)
		}
	}
	for _, c := range p.Contrasts {
		for _, row := range c.Rows {
			add(row.PooledCell, c.Name(row.Of), row.Of)
		}
	}
	return lines
}

// with returns l for another value of the same cells; only its ratio is known.
func (l ratioLine) with(name record.Quantity, unit string, ratio stat.Interval) ratioLine {
	l.name, l.unit, l.ratio, l.missing, l.value, l.difference = name, unit, ratio, "", stat.Interval{}, stat.Interval{}
	return l
}

// levels returns both, without network and probe, which have columns of their own.
func levels(config, of map[string]string) map[string]string {
	all := maps.Clone(config)
	maps.Copy(all, of)
	delete(all, analysis.Network)
	delete(all, analysis.Probe)
	return all
}

func writeRatios(w io.Writer, lines []ratioLine) error {
	lines = slices.DeleteFunc(lines, func(l ratioLine) bool { return l.ratio.N == 0 && l.missing == "" })
	factors := map[string]bool{}
	for _, l := range lines {
		for k := range l.config {
			factors[k] = true
		}
	}
	more := slices.Sorted(maps.Keys(factors))
	head := []string{"compared", "network", "probe"}
	for _, k := range more {
		head = append(head, "asked."+k)
	}
	out := csv.NewWriter(w)
	fields(out, append(head, "name", "unit", "value", "ratio", "lo", "hi", "confidence", "n", "tau", "difference", "difference.lo", "difference.hi", "missing", "interval.missing")...)
	for _, l := range lines {
		line := []string{l.compared, l.Network, l.Probe}
		for _, k := range more {
			line = append(line, l.config[k])
		}
		n := strconv.Itoa(l.ratio.N)
		line = append(append(line, string(l.name), l.unit), three(l.value)[0])
		line = append(append(line, three(l.ratio)...), bounded(l.ratio, l.ratio.Confidence), n, l.tau)
		fields(out, append(append(line, three(l.difference)...), l.missing, l.ratio.Without().String())...)
	}
	out.Flush()
	return out.Error()
}

// three returns the center and the bounds of an interval, "" for those that it lacks.
func three(i stat.Interval) []string {
	center := ""
	if i.N > 0 {
		center = exact(i.Center)
	}
	return []string{center, bounded(i, i.Lo), bounded(i, i.Hi)}
}

func bounded(i stat.Interval, v float64) string {
	if !i.Bounded() {
		return ""
	}
	return exact(v)
}

// exact writes a number as it is, and an end that an interval does not have as CSV readers write infinity.
func exact(v float64) string {
	if v >= math.MaxFloat64 {
		return "inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
