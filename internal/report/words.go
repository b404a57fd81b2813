package report

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// groups are lists by key, in order of first use.
type groups[K comparable, V any] struct {
	keys []K
	of   map[K][]V
}

func (g *groups[K, V]) add(k K, v V) {
	if g.of == nil {
		g.of = map[K][]V{}
	}
	if g.of[k] == nil {
		g.keys = append(g.keys, k)
	}
	g.of[k] = append(g.of[k], v)
}

func metricName(m string) string { return word(figure.ValueName(m)) }

func better(unit string) string {
	if record.LowerIsBetter(unit) {
		return say("lower is better")
	}
	return say("higher is better")
}

// levelText formats factor levels: "offload off, size 1400".
func levelText(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+m[k])
	}
	return list(parts)
}

func under(w account.Words, probe string, levels map[string]string) string {
	return comma(w.Title(probe), levelText(levels))
}

// comma appends a qualifier, such as a unit, to a name.
func comma(name, more string) string {
	if more == "" {
		return name
	}
	return say("%s, %s", name, more)
}

// ratioDigits returns the decimals that the intervals support and their ends need.
func ratioDigits(is ...stat.Interval) int {
	d := 2
	for _, i := range is {
		if i.N > 0 && (math.Abs(i.Center) < 0.1 || i.Bounded() && i.Hi-i.Lo < 0.03) {
			d = 3
		}
	}
	return d
}

func fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) { // scaling overflowed
		return "n/a"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func bracket(i stat.Interval, digits int) string {
	return "[" + fixed(i.Lo, digits) + ", " + fixed(i.Hi, digits) + "]"
}

func percent(v float64) string {
	p := 100 * v
	switch {
	case p == 0:
		return "0 %"
	case math.Abs(p) < 0.01:
		return "<0.01 %"
	case math.Abs(p) < 1:
		return fixed(p, 2) + " %"
	}
	return fixed(p, 1) + " %"
}

func coarse(v float64) string {
	if v >= 0.1 {
		return fixed(100*v, 0) + " %"
	}
	return fixed(100*v, 1) + " %"
}
