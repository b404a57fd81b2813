package costmodel

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
)

// even returns the payload at which bytes cost as much as a pass, and no estimate where a byte costs
// nothing that the run can show, or beyond the largest size: no run has shown that the line goes on there,
// and most passes cannot carry as much.
func (m Model) even() stat.Interval {
	if !(m.Byte.Lo > 0 && m.Pass.Lo > 0) {
		return stat.Interval{}
	}
	i, j := slices.Index(m.terms, perPass), slices.Index(m.terms, perByte)
	var vs []float64
	for _, c := range m.by {
		vs = append(vs, meeting(c[i], c[j]))
	}
	if even := shown(stat.Median(vs, confidence)); even.Center <= m.Largest() {
		return even
	}
	return stat.Interval{}
}

// Largest returns the largest payload of a pass that the model was fitted to, bytes.
func (m Model) Largest() float64 { return m.Points[len(m.Points)-1].payload() }

// A Crossing is the payload at which two networks cost the same by their models: below it A is cheaper,
// above it B.
type Crossing struct {
	Traffic
	A     string        `json:"a"`
	B     string        `json:"b"`
	End   string        `json:"end"`
	Bytes stat.Interval `json:"bytes"` // payload of a pass
}

// Crossings returns where the costs of any two networks meet, for models of traffic without segments. It
// leaves out those that the run does not show: whose interval has no end, or which lie beyond the largest
// size that was measured.
func Crossings(models []Model) (out []Crossing) {
	for i, a := range models {
		for _, b := range models[i+1:] {
			if a.key() != b.key() || a.End != b.End || a.Refused+b.Refused != "" || a.Segment.N+b.Segment.N > 0 {
				continue
			}
			low, high := a, b
			if a.Pass.Center > b.Pass.Center {
				low, high = b, a
			}
			bytes := meet(low, high)
			if bytes.Bounded() && bytes.Center <= min(a.Largest(), b.Largest()) {
				out = append(out, Crossing{Traffic: a.Traffic, A: low.Network, B: high.Network, End: a.End, Bytes: bytes})
			}
		}
	}
	return out
}

// meet returns the payload at which a, whose pass is cheaper, becomes as expensive as b.
func meet(a, b Model) stat.Interval {
	var vs []float64
	p, q := slices.Index(a.terms, perPass), slices.Index(a.terms, perByte)
	for i, n := range a.blocks {
		if j, ok := slices.BinarySearch(b.blocks, n); ok {
			x, y := a.by[i], b.by[j]
			vs = append(vs, meeting(y[p]-x[p], x[q]-y[q]))
		}
	}
	return shown(stat.Median(vs, confidence))
}

// meeting returns the payload at which bytes make up for a difference of passes. It is 0 if they need not,
// and infinite if they never do.
func meeting(pass, each float64) float64 {
	switch {
	case pass <= 0:
		return 0
	case each <= 0:
		return math.Inf(1)
	}
	return pass / each
}

// shown returns i if it has both ends, and nothing otherwise.
func shown(i stat.Interval) stat.Interval {
	if !i.Bounded() || !(i.Lo > 0) || math.IsInf(i.Hi, 1) || i.Hi >= math.MaxFloat64 {
		return stat.Interval{}
	}
	return i
}
