package section

import (
	"regexp"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/record"
)

// MetricName names the values of a metric in words.
func MetricName(q record.Quantity) string { return string(lang.Quantity(q)) }

// Value names what a probe measures in a sentence: "TCP throughput", "UDP packet rate".
func Value(w account.Words, probe string, metric record.Quantity) string {
	short, english := w.Short(probe), strings.ToLower(doc.English(w.Short(probe)))
	for _, has := range []string{"time", "latency", "rate", "capacity", "throughput", strings.ToLower(doc.English(MetricName(metric)))} {
		if has != "" && strings.Contains(english, has) {
			return short
		}
	}
	if metric == "" {
		return short
	}
	if what, tool, by := strings.Cut(w[probe].Short, " by "); by {
		return string(lang.T("%s by %[2]s", say("%s %s", lang.Stored(what), MetricName(metric)), tool))
	}
	if what, how, with := strings.Cut(w[probe].Short, " with "); with { // "UDP with GSO"
		return say("%s with %[2]s", say("%s %s", lang.Stored(what), MetricName(metric)), how)
	}
	return say("%s %s", short, MetricName(metric))
}

// Better says in which direction a value of a unit is better.
func Better(q record.Quantity, unit string) string {
	if q.LowerIsBetter(unit) {
		return say("lower is better")
	}
	return say("higher is better")
}

// under adds a condition, if any.
func under(text, condition string) string {
	if condition == "" {
		return text
	}
	return say("%s (%s)", text, condition)
}

// mostWords is the length of a sentence that people read at once. An interval belongs to its number.
const mostWords = 40

var intervals = regexp.MustCompile(`\[[^\]]*[\])]`)

func words(text string) int {
	return len(strings.Fields(intervals.ReplaceAllString(doc.English(text), "")))
}

func long(text string) bool { return words(text) > mostWords }

// shortest tells as much as fits a sentence, one thing at least.
func shortest(most int, tell func(most int) string) string {
	for most > 1 && long(tell(most)) {
		most--
	}
	return tell(most)
}
