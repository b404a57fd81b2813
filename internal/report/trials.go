package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A trialTable shows every trial: one row per block, and pair of hosts where there
// are several, one column per network.
type trialTable struct {
	Unit     string
	Networks []string
	Rows     []trialRow
}

type trialRow struct {
	place
	Cells []cell
}

// A place is where in a run a network is compared with others.
type place struct {
	Block int
	Pair  string
}

func placeOf(p analysis.Point) place { return place{p.Block, p.Pair} }

func trials(t analysis.Table) trialTable {
	top, at, order := 0.0, map[place]map[string]cell{}, []place{}
	out := trialTable{}
	for _, r := range t.Rows {
		out.Networks = append(out.Networks, r.Network)
		for _, p := range r.Points {
			top = max(top, p.Value)
			if at[placeOf(p)] == nil {
				at[placeOf(p)] = map[string]cell{}
				order = append(order, placeOf(p))
			}
		}
	}
	factor, label := unit.Scale(top, t.Unit)
	out.Unit = strings.TrimSuffix(metricName(t.Metric)+", "+label, ", ")
	var all []float64
	for _, r := range t.Rows {
		all = append(all, r.Value.Center*factor)
	}
	d := decimals(all)
	for _, r := range t.Rows {
		for _, p := range r.Points {
			c := at[placeOf(p)][r.Network]
			s := ""
			if p.Has {
				s = fixed(p.Value*factor, d)
			}
			if p.Status != record.OK {
				s, c.Class = strings.TrimSpace(s+" "+string(p.Status)), "bad"
			}
			c.Text = strings.TrimSpace(c.Text + " " + s)
			at[placeOf(p)][r.Network] = c
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), analysis.Natural(a.Pair, b.Pair))
	})
	for _, p := range order {
		row := trialRow{place: p}
		for _, n := range out.Networks {
			row.Cells = append(row.Cells, at[p][n])
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
