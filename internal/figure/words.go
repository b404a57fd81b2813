package figure

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
)

// say is a sentence, and word a text of the data, which is English, as a string that lang.In translates.
func say(format string, args ...any) string { return string(lang.T(format, args...)) }
func word(s string) string                  { return string(lang.Stored(s)) }

var axes = map[string]string{"size": "size, bytes", "packets": "packets per send", "clients": "clients"}

func axisX(factor string) string {
	if s := axes[factor]; s != "" {
		return s
	}
	return factor
}

// ToName names the cell that divides the others.
func (f Figure) ToName() string {
	var to []string
	for _, k := range []string{analysis.Network, analysis.Probe} {
		if l := f.To[k]; l != "" {
			to = append(to, l)
		}
	}
	for _, k := range sortedKeys(f.To) {
		if k != analysis.Network && k != analysis.Probe {
			to = append(to, k+" "+f.To[k])
		}
	}
	return strings.Join(to, ", ")
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func fixed(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }

func ratioText(v float64, digits int) string { return fixed(v, digits) + "×" }

func scaled(r chart.Row, by float64) chart.Row {
	r.Value, r.Lo, r.Hi = r.Value*by, r.Lo*by, r.Hi*by
	return r
}

// digits gives the largest value three significant digits and the smallest two.
func (r Result) digits(g []Point, look Look, factor float64) int {
	var shown []float64
	for _, p := range g {
		if row, _, ok := p.shown(look); ok && row.Value > 0 {
			shown = append(shown, row.Value)
		}
	}
	return unit.Decimals(3, factor, shown...)
}

// label prints a value with its interval.
func label(r chart.Row, digits int, ratio bool) string {
	s := fixed(r.Value, digits)
	if ratio {
		s += "×"
	}
	if r.Bounded {
		s += " " + prose.Bracket(stat.Interval{Lo: r.Lo, Hi: r.Hi}, digits)
	}
	return s
}

var statusOf = regexp.MustCompile(`^(skipped|failed|invalid): `)

// Lacking is an item of a result's Missing: names, and the reason for all of them.
func Lacking(item string) lang.Text {
	names, why, ok := strings.Cut(item, ": ")
	if !ok {
		return lang.Stored(item)
	}
	reason := lang.Stored(statusOf.ReplaceAllString(why, ""))
	if m := statusOf.FindStringSubmatch(why); m != nil {
		reason = lang.T("%s: %s", lang.Stored(m[1]), reason)
	}
	return lang.T("%s: %s", names, reason)
}

// crowded reports whether levels of the horizontal axis are too close to each other to be told apart.
func (r Result) crowded() bool {
	var xs []float64
	for _, l := range r.levels(r.X) {
		if x, ok := analysis.Quantity(l); ok {
			xs = append(xs, x)
		}
	}
	slices.Sort(xs)
	for i := 1; i < len(xs); i++ {
		if xs[i]-xs[i-1] < (xs[len(xs)-1]-xs[0])/50 {
			return true
		}
	}
	return false
}
