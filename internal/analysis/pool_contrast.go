package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A PooledContrast is a contrast over all runs whose studies state it.
type PooledContrast struct {
	Contrast
	Rows []PooledRow `json:"rows"`
}

// A PooledRow is one ratio of a contrast over all runs.
type PooledRow struct {
	PooledCell                   // of the numerator
	Of         map[string]string `json:"of"` // levels of the factors of To
}

// key returns a text that is equal for contrasts with the same ratios.
func (c Contrast) key() string {
	c.Text = ""
	b, _ := json.Marshal(c) // strings; maps in a fixed order
	return string(b)
}

// Name names a ratio of c by the levels that it compares: "load tcp-stream ÷ idle". of is the levels
// of the numerator.
func (c Contrast) Name(of map[string]string) string {
	var parts []string
	for _, factor := range slices.Sorted(maps.Keys(c.To)) {
		parts = append(parts, strings.TrimSpace(factor+" "+of[factor])+" ÷ "+c.To[factor])
	}
	for _, factor := range slices.Sorted(maps.Keys(c.Per)) {
		parts = append(parts, "per "+factor+" "+c.Per[factor])
	}
	if c.Value != "" {
		parts = append(parts, string(c.Value))
	}
	return strings.Join(parts, ", ")
}

// contrasts aligns the contrasts of runs and their rows.
func (p *Pooled) contrasts(runs []*Run) {
	at := map[string]int{}
	rows := make([]map[string]int, 0)
	for i, r := range runs {
		for _, c := range r.Contrasts {
			n, ok := at[c.key()]
			if !ok {
				n = len(p.Contrasts)
				at[c.key()] = n
				p.Contrasts, rows = append(p.Contrasts, PooledContrast{Contrast: c.Contrast}), append(rows, map[string]int{})
			}
			to := &p.Contrasts[n]
			for _, x := range c.Rows {
				k := strings.Join([]string{x.Probe, x.Network, key(x.Config), key(x.Of)}, "\x00")
				m, ok := rows[n][k]
				if !ok {
					m = len(to.Rows)
					rows[n][k] = m
					to.Rows = append(to.Rows, PooledRow{PooledCell{Cell: x.Cell, Config: x.Config,
						PerRun: slices.Repeat([]CellRun{{Missing: notMeasured}}, len(runs))}, x.Of})
				}
				to.Rows[m].addRow(i, x)
			}
		}
	}
}

// addRow sets the numbers of run i.
func (c *PooledCell) addRow(i int, x ContrastRow) {
	if len(x.Levels) > len(c.Levels) {
		c.Levels = x.Levels
	}
	if c.Metric != "" && x.Metric != "" && (c.Metric != x.Metric || c.Unit != x.Unit) {
		c.PerRun[i] = CellRun{Missing: fmt.Sprintf("measures %s in %s", x.Metric, x.Unit)}
		return
	}
	if x.Metric != "" {
		c.Metric, c.Unit = x.Metric, x.Unit
	}
	c.PerRun[i] = CellRun{Value: x.Value, Ratio: x.Ratio, Path: x.Path, Missing: x.Missing, Busy: x.Busy,
		window: x.window, base: x.Base.Center, per: len(x.samples) == 4, otherRuns: x.OtherRuns}
}

// sortRows orders the rows of contrasts as those of a run.
func (p *Pooled) sortRows(probe, network func(string) int) {
	for _, c := range p.Contrasts {
		slices.SortStableFunc(c.Rows, func(a, b PooledRow) int {
			return cmp.Or(cmp.Compare(probe(a.Probe), probe(b.Probe)), compareLevels(a.Config, b.Config),
				cmp.Compare(network(a.Network), network(b.Network)), compareLevels(a.Of, b.Of))
		})
	}
}

// all returns the cells, and those of the contrasts.
func (p *Pooled) all() (cells []*PooledCell) {
	for i := range p.Cells {
		cells = append(cells, &p.Cells[i])
	}
	for _, c := range p.Contrasts {
		for i := range c.Rows {
			cells = append(cells, &c.Rows[i].PooledCell)
		}
	}
	return cells
}
