package report

import (
	"github.com/weir-bench/weir/internal/finding"
)

// busy leads the answer of a run on a busy machine; "" if disturbed trials do not count.
func (s source) busy() string {
	if s.p.Busy == nil {
		return ""
	}
	return "The machine was busy: " + finding.Took(*s.p.Busy) + ". Disturbed trials count, and the intervals are wider for it."
}
