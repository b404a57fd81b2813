package section

import (
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/record"
)

// MetricName names the values of a metric in words.
func MetricName(m string) string { return word(figure.ValueName(m)) }

// Better says in which direction a value of a unit is better.
func Better(unit string) string {
	if record.LowerIsBetter(unit) {
		return say("lower is better")
	}
	return say("higher is better")
}
