package group

import (
	"math"

	"github.com/weir-bench/weir/internal/stat"
)

// Of returns the estimate of a ratio. Its standard error is that of a normal interval as wide as the ratio's, which allows
// for few blocks and for disturbances; a ratio without an interval gives no estimate.
func Of(ratio stat.Interval) Estimate {
	if !ratio.Bounded() || ratio.Open() || !(ratio.Lo > 0) || !(ratio.Center > 0) {
		return Estimate{}
	}
	half := (math.Log(ratio.Hi) - math.Log(ratio.Lo)) / 2
	e := Estimate{Log: math.Log(ratio.Center), SE: half / (math.Sqrt2 * math.Erfinv(ratio.Confidence))}
	if e.SE == 0 {
		e.SE = smallest
	}
	return e
}

// smallest is the standard error of values that do not differ at all, such as counts.
const smallest = 1e-6
