package costmodel

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
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
	Refused lang.Text `json:"refused,omitempty"`
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
		if len(ends) != 2 { // a sender and a receiver
			continue
		}
		if w := g.wake(ends); w.Factor.N > 0 {
			out = append(out, w)
		}
	}
	return out
}

func (g group) wake(ends []Model) Wake {
	w := Wake{Traffic: g.traffic, Network: g.network, Sizes: len(g.cells)}
	// By size and block. The prediction is that of the same block, so intervals include the models' errors.
	predicted, extra := make([][]float64, len(g.cells)), make([][]float64, len(g.cells))
	var factors, extras []float64
	for _, b := range slices.DeleteFunc(common(g.cells), func(b int) bool { return !known(ends, b) }) {
		sum, factor := 0.0, 0.0
		for i, c := range g.cells {
			busy := 0.0
			for _, m := range ends {
				v, _ := m.in(b, c.size)
				busy += v
			}
			x := c.by[b].sender + c.by[b].receiver
			predicted[i], extra[i] = append(predicted[i], busy), append(extra[i], x-busy)
			sum, factor = sum+x-busy, factor+x/busy
		}
		n := float64(len(g.cells))
		extras, factors = append(extras, sum/n), append(factors, factor/n)
	}
	w.Extra, w.Factor = stat.Median(extras, confidence), stat.Median(factors, confidence)
	for i := range g.cells {
		others, n := 0.0, 0.0
		for j := range g.cells {
			if j != i {
				others, n = others+stat.Middle(extra[j]), n+1
			}
		}
		busy := stat.Middle(predicted[i])
		wrong := math.Abs((busy+others/max(n, 1))/(busy+stat.Middle(extra[i])) - 1)
		w.MeanError += wrong / float64(len(g.cells))
		w.LargestError = max(w.LargestError, wrong)
	}
	switch {
	case len(g.cells) < 2:
		w.Refused = lang.T("one size shows a wake-up, and not that it is the same at other sizes")
	case !w.Extra.Bounded():
		w.Refused = lang.T("too few blocks for an interval")
	case !(w.MeanError <= MostError): // also if it is not a number
		w.Refused = lang.T("the wake-up differs between sizes")
	}
	return w
}

// known reports whether all models have a prediction for a block.
func known(models []Model, block int) bool {
	return !slices.ContainsFunc(models, func(m Model) bool { _, ok := m.in(block, Size{}); return !ok })
}
