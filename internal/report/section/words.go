package section

import (
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// MetricName names the values of a metric in words.
func MetricName(q record.Quantity) string { return string(lang.Quantity(q)) }

// Better says in which direction a value of a unit is better.
func Better(q record.Quantity, unit string) string {
	if q.LowerIsBetter(unit) {
		return say("lower is better")
	}
	return say("higher is better")
}
