package explain

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// leastBeside is the least share of a CPU, more than on the baseline, that makes a thread of the kernel part of a cost.
const leastBeside = 0.02

// kernelCarries lists the kernel's threads that carry packets for others.
var kernelCarries = []string{"ksoftirqd", "kworker", "napi", "vhost"}

// beside says what other threads add to a cost by the clocks of the engine's own: programs that the plan makes packets
// pass, and threads of the kernel that are busier than on the baseline. Of several threads of one name in one place only
// the busiest is known, so the amounts are the least; "" if there are none.
func (r Premises) beside(all []cost) lang.Text {
	var parts []lang.Text
	for _, c := range all {
		for _, f := range r.Findings {
			if f.Rule == "service-in-path" && f.Number != nil && about(f.Cells, c.cell) {
				parts = append(parts, lang.T("%s (%s)", lang.T("%s %s per packet", f.Subject, unit.Format(f.Number.Value.Center, "s")), r.name(c.cell)))
			}
		}
		base, _ := c.table.Row(r.Baseline)
		for _, t := range c.row.Threads() {
			more := t.Share.Center - share(base, t)
			if rate := rateOf(c); rate > 0 && more >= leastBeside && (slices.Contains(kernelCarries, t.Program) || strings.HasPrefix(t.Thread, "vhost")) {
				parts = append(parts, lang.T("%s (%s)", lang.T("%s %s", finding.Describe(t).Subject, unit.Format(more/rate, "s")), r.name(c.cell)))
			}
		}
	}
	if parts == nil {
		return ""
	}
	return lang.T(". Other threads add at least: %s", few(parts))
}

// share returns the share of a CPU that the thread of a name and place used on another row.
func share(of analysis.Row, t analysis.Thread) float64 {
	for _, x := range of.Threads() {
		if x.Name() == t.Name() && x.Place == t.Place {
			return x.Share.Center
		}
	}
	return 0
}

// rates are the rates of the work that a cost is per, the first one that a cell has.
var rates = map[record.Quantity][]record.Quantity{record.CPUOwnPerPacket: {record.Sent, record.PacketRate}, record.CPUOwnPerTransaction: {record.Transactions},
	record.CPUOwnPerBit: {record.Throughput}}

// rateOf returns the units of work per second that a cost is per, as its sentence counts them.
func rateOf(c cost) float64 {
	for _, name := range rates[c.row.Own.Name] {
		if v, ok := c.row.Get(name); ok {
			return v.Median / works[c.row.Own.Name].by
		}
	}
	return 0
}
