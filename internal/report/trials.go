package report

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/pivot"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A trialTable shows every trial: one row per block, one column per network.
type trialTable struct {
	Unit     string
	Networks []string
	Rows     []trialRow
}

type trialRow struct {
	Block int
	Cells []cell
}

func trials(t pivot.Table) trialTable {
	top, byBlock, order := 0.0, map[int]map[string]cell{}, []int{}
	out := trialTable{}
	for _, r := range t.Rows {
		out.Networks = append(out.Networks, r.Network)
		for _, p := range r.Points {
			top = max(top, p.Value)
			if byBlock[p.Block] == nil {
				byBlock[p.Block] = map[string]cell{}
				order = append(order, p.Block)
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
			c := byBlock[p.Block][r.Network]
			s := ""
			if p.Has {
				s = fixed(p.Value*factor, d)
			}
			if p.Status != record.OK {
				s, c.Class = strings.TrimSpace(s+" "+string(p.Status)), "bad"
			}
			c.Text = strings.TrimSpace(c.Text + " " + s)
			byBlock[p.Block][r.Network] = c
		}
	}
	slices.Sort(order)
	for _, b := range order {
		row := trialRow{Block: b}
		for _, n := range out.Networks {
			row.Cells = append(row.Cells, byBlock[b][n])
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
