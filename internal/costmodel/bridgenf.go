package costmodel

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// A Hook is what a bridge's passing packets to netfilter costs a network, without any rule: the factor
// bridge-nf, on − off.
type Hook struct {
	analysis.Cell               // with the factor on
	Unit          string        `json:"unit"`  // s/packet or s/byte, of the sender's CPU time
	Extra         stat.Interval `json:"extra"` // on − off
	// Share is Extra as a share of what the network, with the factor on, adds to host. N is 0 if the run
	// lacks host.
	Share stat.Interval `json:"share,omitzero"`
}

// bridgeNF is the factor (package condition).
const bridgeNF = "bridge-nf"

// Hooks returns the cost of bridge-nf for every network that the factor changes.
func Hooks(run *analysis.Run) (out []Hook) {
	if !slices.ContainsFunc(run.Tables, func(t analysis.Table) bool { return t.Config[bridgeNF] == "on" }) {
		return nil
	}
	costs := unitCosts(run)
	for i := range run.Tables {
		t := &run.Tables[i]
		if t.Config[bridgeNF] != "on" {
			continue
		}
		off := maps.Clone(t.Config)
		off[bridgeNF] = "off"
		base := costs[cellKey(t.Probe, host, off)]
		for _, row := range t.Rows {
			with, without := costs[cellKey(t.Probe, row.Network, t.Config)], costs[cellKey(t.Probe, row.Network, off)]
			if row.Network == host || len(with) == 0 || len(without) == 0 {
				continue
			}
			h := Hook{Cell: t.Cell(row), Unit: unitOf(t)}
			var extra, over, under []float64
			for _, n := range common([]*cell{{by: with}, {by: without}}) {
				e := with[n].sender - without[n].sender
				extra = append(extra, e)
				if x, ok := base[n]; ok {
					over, under = append(over, e), append(under, with[n].sender-x.sender)
				}
			}
			if h.Extra = stat.Median(extra, confidence); len(over) > 0 {
				h.Share = stat.Sums(over, under, confidence)
			}
			if !h.Extra.Contains(0) {
				out = append(out, h)
			}
		}
	}
	return out
}
