package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/record"
)

// OpenMetrics writes runs as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/), which
// GitLab's metrics reports, Prometheus and its node exporter read: the estimate of every number, and the ends
// of its interval in families of their own. All are gauges, so that parsers of the older text format accept
// them too.
func OpenMetrics(w io.Writer, runs []*account.Account) error {
	m := families{}
	estimate := "median over the blocks"
	if len(runs) > 1 {
		estimate = "geometric mean of the medians of runs"
	} else if len(runs) == 1 && runs[0].Analysis.Unpaired {
		estimate = "geometric mean of imported results"
	}
	for _, n := range numbers(runs) {
		labels := n.labels()
		if n.Compared == "" {
			m.estimate(string(n.metric), n.unit, estimate, labels, n)
		} else {
			m.estimate("to_base", "1", "a value ÷ that of the cell with which it is compared", append(labels, fact{"metric", string(n.metric)}), n)
		}
	}
	trials := map[string]float64{}
	for _, run := range runs {
		for t, row := range run.Analysis.Rows() {
			n := number{Cell: t.Cell(*row), factors: t.Config}
			for status, count := range map[record.Status]int{record.OK: row.OK, record.Disturbed: row.Disturbed,
				record.Invalid: row.Invalid, record.Failed: row.Failed, record.Skipped: row.Skipped} {
				trials[block(append(n.labels(), fact{"status", string(status)}))] += float64(count)
			}
			if len(runs) > 1 { // percentiles and shares of several runs are not pooled
				continue
			}
			for _, p := range row.Percentiles {
				n.interval = p.Seconds
				quantile := strconv.FormatFloat(p.P, 'g', -1, 64)
				m.estimate("response_time", "s", "percentile of all responses", append(n.labels(), fact{"quantile", quantile}), n)
			}
			if n.interval = row.Lost; row.Lost.N > 0 {
				m.estimate("loss", "1", "share of all packets or requests that was lost", n.labels(), n)
			}
		}
	}
	for _, labels := range slices.Sorted(maps.Keys(trials)) {
		m.add("trials", "", "trials by status", labels, trials[labels])
	}
	m.add("run_info", "", "what was measured, where and with what", block(about(runs)), 1)
	return m.write(w)
}

// A family is a metric with a name and a unit.
type family struct {
	unit, help string
	labels     []string // in order
	values     map[string]float64
}

type families map[string]*family

// estimate adds a number and the ends of its interval, if it has one.
func (m families) estimate(name, unit, help string, labels []fact, n number) {
	l := block(labels)
	m.add(name, unit, help, l, n.interval.Center)
	if n.interval.Bounded() {
		m.add(name+".low", unit, help+", lower end of the interval", l, n.interval.Lo)
		high := n.interval.Hi
		if n.interval.Open() {
			high = math.Inf(1) // OpenMetrics has it
		}
		m.add(name+".high", unit, help+", upper end of the interval", l, high)
	} else if why := n.interval.Without(); why != "" {
		m.add(name+".without_interval", "", help+": numbers that have no interval, and why", block(append(labels, fact{"why", foreign.Line(why.String())})), 1)
	}
}

// add adds a sample. Units are part of names, as OpenMetrics demands.
func (m families) add(name, unit, help, labels string, v float64) {
	name = "weir_" + metricName(name)
	if unit != "" {
		unit = cmp.Or(unitNames[unit], metricName(unit))
		name += "_" + unit
	}
	f := m[name]
	if f == nil {
		f = &family{unit: unit, help: help, values: map[string]float64{}}
		m[name] = f
	}
	if _, again := f.values[labels]; !again { // two contrasts can state the same ratio
		f.labels = append(f.labels, labels)
		f.values[labels] = v
	}
}

func (m families) write(w io.Writer) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(m)) {
		f := m[name]
		fmt.Fprintf(&b, "# TYPE %s gauge\n", name)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", name, f.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", name, f.help)
		for _, l := range f.labels {
			fmt.Fprintf(&b, "%s%s %s\n", name, l, strconv.FormatFloat(f.values[l], 'g', -1, 64))
		}
	}
	b.WriteString("# EOF\n")
	_, err := w.Write(b.Bytes())
	return err
}

// unitNames are the units of results in words.
var unitNames = map[string]string{"bit/s": "bits_per_second", "packet/s": "packets_per_second", "1/s": "per_second", "s": "seconds",
	"s/bit": "seconds_per_bit", "s/packet": "seconds_per_packet", "s/transaction": "seconds_per_transaction", "core": "cores",
	"byte": "bytes", "1": "ratio"}

// labels returns the labels of a number, with a name for each factor that no other label has.
func (n number) labels() []fact {
	out := []fact{{"network", n.Network}, {"probe", n.Probe}}
	taken := map[string]bool{"network": true, "probe": true, "compared": true, "metric": true, "quantile": true, "status": true, "why": true}
	for _, k := range slices.Sorted(maps.Keys(n.factors)) {
		name := metricName(k)
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		out = append(out, fact{name, n.factors[k]})
	}
	if n.Compared != "" {
		out = append(out, fact{"compared", n.Compared})
	}
	return out
}

// block returns labels as a sample has them.
func block(labels []fact) string {
	if len(labels) == 0 {
		return ""
	}
	var all []string
	for _, l := range labels {
		all = append(all, l.key+`="`+foreign.Label(l.value)+`"`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// metricName keeps of a name what a metric or a label can have.
func metricName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
	return cmp.Or(strings.TrimLeft(s, "_0123456789"), "unnamed")
}
