package section

import (
	"math"
	"strconv"

	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
)

// near is the error of a prediction that predictSection counts as right.
const near = 0.15

// predictSection has the time of applications' requests as the price of the path predicts it, beside the measured time.
func predictSection(s source) []doc.Section {
	all := s.Predictions()
	if len(all) == 0 {
		return nil
	}
	x := doc.Section{ID: "predictions", Title: say("What the path alone predicts for applications"), Data: all, In: doc.Full,
		About: say("Of a request's time, a network changes only the part that its packets take. The prediction is the time on %s plus, for each round trip, what tcp-rr (over UDP, udp-rr) takes longer in the same block. "+
			"With one request in flight that is response time; with more, client and server work all the time, and it is CPU time of one end. "+
			"Each interval holds by itself.", s.p.Baseline),
		Tables: []doc.Table{doc.Tabulate("predictions table", s.predictionColumns(all)...)}}
	right, shown := 0, 0
	for _, p := range all {
		if math.Abs(p.Ratio.Center-1) <= near {
			right++
		}
		if p.Ratio.Bounded() && p.Ratio.Lo >= 1-near && p.Ratio.Hi <= 1+near {
			shown++
		}
	}
	x.Notes = []string{say("The median of %d of %d predictions is within %.0f %% of the measured time, and so is the whole interval of %d. The price of the path does not explain what is left over.", right, len(all), 100*near, shown)}
	return []doc.Section{x}
}

func (s source) predictionColumns(all []costmodel.Prediction) []doc.Filled {
	cs := []doc.Filled{doc.Names("network", all, func(p costmodel.Prediction) string { return p.Network }),
		doc.Layout(doc.Column{Head: say("application"), Left: true, Keep: 9}, all, func(p costmodel.Prediction) doc.Cell {
			return doc.Cell{Text: s.Under(p.Probe, p.Levels)}
		}),
		doc.Layout(doc.Column{Head: say("pays"), Left: true, Keep: 6}, all, func(p costmodel.Prediction) doc.Cell {
			if p.Waits {
				return doc.Cell{Text: say("response time")}
			}
			return doc.Cell{Text: say("CPU time")}
		}),
		doc.Layout(doc.Column{Head: say("round trips"), Keep: 5}, all, func(p costmodel.Prediction) doc.Cell {
			return doc.Cell{Text: strconv.Itoa(p.RoundTrips), Value: doc.Number(float64(p.RoundTrips))}
		})}
	add := func(head string, keep int, bounded bool, get func(costmodel.Prediction) stat.Interval) {
		value := doc.Numbers(head, "s", keep, all, func(p costmodel.Prediction) (float64, bool) { return doc.Center(get(p)) })
		for i, p := range all {
			value.Cells[i].Bounds(get(p))
		}
		if cs = append(cs, value); bounded {
			cs = append(cs, doc.Intervals("s", all, get))
		}
	}
	add(s.p.Baseline, 7, false, func(p costmodel.Prediction) stat.Interval { return p.Base })
	add("+ path", 8, true, func(p costmodel.Prediction) stat.Interval { return p.Added })
	add("= predicted", 9, false, func(p costmodel.Prediction) stat.Interval { return p.Predicted })
	add("measured", 9, false, func(p costmodel.Prediction) stat.Interval { return p.Measured })
	cs = append(cs, doc.Ratios(all, "predicted ÷ measured", func(p costmodel.Prediction) (stat.Interval, bool) { return p.Ratio, p.Ratio.Contains(1) })...)
	add("left over", 8, true, func(p costmodel.Prediction) stat.Interval { return p.Residue })
	return cs
}
