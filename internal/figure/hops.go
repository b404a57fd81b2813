package figure

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// A Hop is a path over the first segments of a line of hosts.
type Hop struct {
	Network  string          `json:"network"`
	Probe    string          `json:"probe"`
	Metric   record.Quantity `json:"metric"`
	Unit     string          `json:"unit"`
	Adds     bool            `json:"adds"` // Parts is the sum of the segments; else the value over the first
	Segments int             `json:"segments"`
	Value    stat.Interval   `json:"value"`
	Parts    stat.Interval   `json:"parts,omitzero"`
	Ratio    stat.Interval   `json:"ratio,omitzero"`
}

// hops takes the chains of a run that the figure is about.
func (r *Result) hops(run *analysis.Run) error {
	for _, c := range run.Chains {
		if !slices.Contains(r.levels(analysis.Network), c.Network) || !slices.Contains(r.levels(analysis.Probe), c.Probe) ||
			r.Values == nil && c.Metric == record.RTTPath || r.Values != nil && !slices.Contains(r.Values, string(c.Metric)) {
			continue
		}
		for _, s := range c.Spans {
			r.Chains = append(r.Chains, Hop{c.Network, c.Probe, c.Metric, c.Unit, c.Adds, s.Segments, s.Value, s.Parts, s.Ratio})
			if !c.Adds && s.Segments > 1 && s.Ratio.N == 0 {
				r.Missing = append(r.Missing, fmt.Sprintf("%s %s, hops %d: %s", c.Network, c.Probe, s.Segments, cmp.Or(s.Ratio.Reason(), "no block has both it and hops 1")))
			}
		}
	}
	if r.Chains == nil {
		return fmt.Errorf("these results hold no path over several segments, as figure %s needs", r.ID)
	}
	for _, n := range r.levels(analysis.Network) {
		if !slices.ContainsFunc(r.Chains, func(h Hop) bool { return h.Network == n }) {
			r.Missing = append(r.Missing, n+": "+missing(run, n))
		}
	}
	return nil
}

// missing says why a network has no value in a run.
func missing(run *analysis.Run, network string) string {
	for _, row := range run.Rows() {
		if row.Network != network {
			continue
		}
		for _, p := range row.Points {
			if p.Reason != "" {
				return string(p.Status) + ": " + p.Reason
			}
		}
	}
	return "the run does not have it"
}

// hopPanels has a chart for each probe and value: times next to the sums of their segments, other values
// divided by that over the first segment.
func (r Result) hopPanels(look Look) (out []chart.Pane) {
	var keys []string
	of := map[string][]Hop{}
	for _, h := range r.Chains {
		k := say("%s: %s", h.Probe, lang.Quantity(h.Metric))
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], h)
	}
	for _, k := range keys {
		out = append(out, chart.Pane{Title: k, Chart: r.hopChart(of[k], look.Absolute || of[k][0].Adds)})
	}
	return out
}

func (r Result) hopChart(hops []Hop, absolute bool) chart.Sweep {
	top := 0.0
	for _, h := range hops {
		top = max(top, h.Value.Center, h.Parts.Center)
	}
	factor, label := unit.Scale(top, hops[0].Unit)
	value := lang.Quantity(hops[0].Metric)
	c := chart.Sweep{X: say("hops"), Y: say("%s, %s", value, label), Alt: word(r.Caption)}
	if !absolute {
		factor, c.Y, c.Reference = 1, say("%s ÷ that of 1 hop", value), 1
	}
	add := func(name string, color int, dashed bool, segments int, v stat.Interval) {
		i := slices.IndexFunc(c.Curves, func(k chart.Curve) bool { return k.Name == name })
		if i < 0 {
			i = len(c.Curves)
			c.Curves = append(c.Curves, chart.Curve{Name: name, Color: color, Dashed: dashed})
		}
		c.Curves[i].Points = append(c.Curves[i].Points, chart.CurvePoint{X: float64(segments), Y: v.Center * factor, Lo: v.Lo * factor, Hi: v.Hi * factor, Bounded: v.Bounded()})
	}
	for _, h := range hops {
		color := slices.Index(r.levels(analysis.Network), h.Network) + 1
		switch {
		case absolute:
			add(h.Network, color, false, h.Segments, h.Value)
		case h.Ratio.N > 0:
			add(h.Network, color, false, h.Segments, h.Ratio)
		case h.Segments == 1: // divides the others
			add(h.Network, color, false, h.Segments, stat.Interval{Center: 1})
		}
		if h.Adds && h.Parts.N > 0 {
			add(say("%s, sum", h.Network), color, true, h.Segments, stat.Interval{Center: h.Parts.Center})
		}
	}
	return c
}
