package analysis

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
)

// PoolGaps pools the gaps between UDP and TCP of runs, step by step, with the run as a random effect. A network has one if all
// runs split its gap by the same send modes. It has no rates and no extra cost, and Blocks is 0. The intervals of a gap hold together
// with this confidence; 0 means 0.95.
func PoolGaps(runs []*Run, confidence float64) (out []Gap) {
	var all [][]Gap
	for _, r := range runs {
		all = append(all, r.Gaps())
	}
	if len(all) == 0 {
		return nil
	}
	for _, first := range all[0] {
		gs := []Gap{first}
		for _, others := range all[1:] {
			if i := slices.IndexFunc(others, first.like); i >= 0 {
				gs = append(gs, others[i])
			}
		}
		if len(gs) == len(runs) {
			out = append(out, poolGap(gs, stat.Adjust(cmp.Or(confidence, 0.95), first.Intervals)))
		}
	}
	return out
}

// like reports whether another gap is of the same network under the same conditions, by the same send modes and checks.
func (g Gap) like(o Gap) bool {
	return g.Network == o.Network && key(g.Levels) == key(o.Levels) && g.Intervals == o.Intervals &&
		slices.EqualFunc(g.Modes, o.Modes, func(a, b SendMode) bool { return a.Kind == b.Kind }) &&
		slices.EqualFunc(g.Checks, o.Checks, func(a, b Check) bool { return a.Name == b.Name })
}

func poolGap(gs []Gap, each float64) Gap {
	pool := func(of func(Gap) stat.Interval) stat.Interval {
		var runs []stat.Interval
		for _, g := range gs {
			runs = append(runs, of(g))
		}
		return stat.Pool(runs, each).Interval
	}
	g := Gap{Network: gs[0].Network, Levels: gs[0].Levels, Datagram: gs[0].Datagram, Segment: gs[0].Segment, Checks: slices.Clone(gs[0].Checks), Product: 1,
		Intervals: gs[0].Intervals, Each: each, Total: pool(func(g Gap) stat.Interval { return g.Total })}
	for i, m := range gs[0].Modes {
		g.Modes = append(g.Modes, SendMode{Kind: m.Kind})
		if i > 0 {
			g.Modes[i].Step = pool(func(g Gap) stat.Interval { return g.Modes[i].Step })
			g.Product *= g.Modes[i].Step.Center
		}
	}
	for i := range g.Checks {
		g.Checks[i].Ratio = pool(func(g Gap) stat.Interval { return g.Checks[i].Ratio })
	}
	return g
}
