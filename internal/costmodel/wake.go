package costmodel

import (
	"math"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// A Wake is what waiting adds to the CPU time of a message, at both ends together: on a path that is not
// busy, threads go to sleep and are woken. Without one, a model of a busy path promises nothing for such
// traffic.
type Wake struct {
	Traffic
	Network string `json:"network"`
	// Factor is the measured cost ÷ what the models of the busy path predict, and Extra the difference, s
	// per message. Both are of all sizes together.
	Factor stat.Interval `json:"factor"`
	Extra  stat.Interval `json:"extra"`
	// MeanError and LargestError are those of predictions with Extra from all other sizes, as shares.
	MeanError    float64 `json:"meanError"`
	LargestError float64 `json:"largestError"`
	Sizes        int     `json:"sizes"`
	// Refused says why Extra does not predict; "" means that it does.
	Refused string `json:"refused,omitempty"`
}

// Wakes compares traffic that waits with models of the busy path of single datagrams.
func Wakes(run *analysis.Run, models []Model) (out []Wake) {
	if models == nil {
		return nil
	}
	for _, g := range groups(run) {
		if g.traffic.busy() {
			continue
		}
		var ends []Model
		for _, m := range models {
			if m.Kind == UDP && m.Refused == "" && m.Network == g.network && levels(m.Levels) == levels(g.traffic.Levels) {
				ends = append(ends, m)
			}
		}
		if len(ends) == 2 { // a sender and a receiver
			out = append(out, g.wake(ends))
		}
	}
	return out
}

func (g group) wake(ends []Model) Wake {
	w := Wake{Traffic: g.traffic, Network: g.network, Sizes: len(g.cells)}
	blocks := common(g.cells)
	var factors, extras []float64
	by := make([][]float64, len(g.cells)) // extra cost by size and block
	predicted := make([]float64, len(g.cells))
	for i, c := range g.cells {
		for _, m := range ends {
			predicted[i] += m.At(c.size).Center
		}
		for _, b := range blocks {
			by[i] = append(by[i], c.by[b].sender+c.by[b].receiver-predicted[i])
		}
	}
	for b := range blocks {
		extra, factor := 0.0, 0.0
		for i := range g.cells {
			extra += by[i][b] / float64(len(g.cells))
			factor += (by[i][b]/predicted[i] + 1) / float64(len(g.cells))
		}
		extras, factors = append(extras, extra), append(factors, factor)
	}
	w.Extra, w.Factor = stat.Median(extras, confidence), stat.Median(factors, confidence)
	for i := range g.cells {
		others, n := 0.0, 0.0
		for j := range g.cells {
			if j != i {
				others, n = others+median(by[j]), n+1
			}
		}
		wrong := math.Abs((predicted[i]+others/max(n, 1))/(predicted[i]+median(by[i])) - 1)
		w.MeanError += wrong / float64(len(g.cells))
		w.LargestError = max(w.LargestError, wrong)
	}
	switch {
	case len(g.cells) < 2:
		w.Refused = "one size shows a wake-up, and not that it is the same at other sizes"
	case !(w.MeanError <= MostError):
		w.Refused = "the wake-up differs between sizes"
	case !w.Extra.Bounded():
		w.Refused = "too few blocks for an interval"
	}
	return w
}
