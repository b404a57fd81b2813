package packettrace

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/lang"
)

// colors are what happens at a hop, by the color of its bar.
var colors = [6][]Does{
	{DoesSoftirq, DoesGRO}, {DoesCross, DoesWire}, {DoesBridge, DoesRoute}, {DoesUser}, {DoesEncap, DoesDecap}, {DoesQueue, DoesKernel},
}

func colorOf(d Does) int {
	return max(0, slices.IndexFunc(colors[:], func(ds []Does) bool { return slices.Contains(ds, d) }))
}

// Picture draws both ways, a lane per node, up to where the path ends.
func (t Trace) Picture() chart.Lanes {
	axis := lang.T("time since the first device, µs")
	if t.TwoMachines {
		axis = lang.T("time on the machines, without the time between them, µs")
	}
	v := chart.Lanes{Axis: string(axis),
		Alt: string(lang.T("The path of a request from %s to %s over %s, and of its reply, by the time at every device.", t.Client, t.Server, t.Network))}
	for _, x := range []struct {
		name string
		Way
	}{{"request", t.Request}, {"reply", t.Reply}} {
		p := chart.LanePanel{Name: string(lang.T("%s, %s", lang.Stored(x.name), micro(x.Path)))}
		for i, h := range x.Counted() {
			lane := slices.Index(v.Lanes, h.Node)
			if lane < 0 {
				lane, v.Lanes = len(v.Lanes), append(v.Lanes, h.Node)
			}
			s := chart.Stop{Lane: lane, At: h.At * 1e6, Label: h.Dev}
			if i > 0 {
				s.Color, s.Value = colorOf(h.Does), fmt.Sprintf("%.1f", h.Time*1e6)
			}
			if h.Does == DoesWire {
				s.Value = ""
			}
			p.Stops = append(p.Stops, s)
		}
		v.Panels = append(v.Panels, p)
	}
	sums := map[Does]float64{}
	for _, w := range []Way{t.Request, t.Reply} {
		for _, h := range w.Counted() {
			if h.Does != DoesWire {
				sums[h.Does] += h.Time
			}
		}
	}
	for i, ds := range colors {
		var names []lang.Text
		sum := 0.0
		for _, d := range ds {
			if s, ok := sums[d]; ok {
				names, sum = append(names, lang.Stored(string(d))), sum+s
			}
		}
		if names != nil {
			v.Parts[i] = string(lang.T("%s %s", lang.Join(names, lang.T(", ")), micro(sum)))
		}
	}
	return v
}
