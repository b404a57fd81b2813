package explain

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// under names the levels of a cell after its probe.
func under(c analysis.Cell) lang.Text {
	if l := prose.Levels(c.Levels); l != "" {
		return lang.T(", %s", l)
	}
	return ""
}

// whatIfs returns the leading bounds of a network.
func (r Premises) whatIfs(network string) []costmodel.Bound {
	return slices.DeleteFunc(costmodel.Leading(r.Bounds), func(b costmodel.Bound) bool { return b.Network != network })
}

// inWork returns an interval in seconds per unit of work that a reader knows, and what that is.
func inWork(i stat.Interval, unit string) (stat.Interval, lang.Text) {
	if unit == "s/byte" {
		return i.Scaled(1024), "KiB"
	}
	return i, lang.T("datagram")
}

// parts takes apart what a network adds to the baseline's cost: its tunnel, its veths and bridges, and of
// these what passing packets to netfilter costs.
func (r Premises) parts(network string) []Statement {
	s := Statement{Subject: Parts}
	var clauses []lang.Text
	for _, b := range r.whatIfs(network) {
		if !b.Encapsulation.Bounded() || !(b.Encapsulation.Lo > 0) || b.Host.N == 0 || b.Cost.N == 0 {
			continue
		}
		e, work := inWork(b.Encapsulation, b.Unit)
		cost, _ := inWork(b.Cost, b.Unit)
		host, _ := inWork(b.Host, b.Unit)
		more := cost.Center - host.Center
		added := lang.T("+%s per %s (%s%s), encapsulation is %s", prose.Measured(stat.Interval{Center: more, N: 1}, "s"), work, r.Short(b.Probe), under(b.Cell), prose.Measured(e, "s"))
		text := lang.T("of the sender's %s", added)
		if clauses != nil {
			text = lang.T("of its %s", added)
		}
		if bridging, _ := inWork(b.Bridging, b.Unit); b.Bridging.Bounded() && b.Bridging.Lo > 0 {
			text += lang.T(", veths and bridges %s", prose.Measured(bridging, "s"))
		} else if b.Bridging.Bounded() {
			text += lang.T(", veths and bridges not resolved")
		}
		for _, h := range r.Hooks {
			if h.Cell.String() == b.Cell.String() { // the bound with the hook; others do not contain its cost
				extra, _ := inWork(h.Extra, h.Unit)
				text += lang.T("; bridge-nf-call-iptables is %s of it", prose.Measured(extra, "s"))
			}
		}
		clauses = append(clauses, text)
		s.Cells = append(s.Cells, b.Cell)
		if s.Number == nil {
			s.Number = &finding.Number{Name: lang.T("encapsulation, CPU time of the sender"), Unit: b.Unit, Value: b.Encapsulation}
		}
		if b.Sum.N > 0 {
			sum, _ := inWork(b.Sum, b.Unit)
			s.Evidence = append(s.Evidence, lang.T("%s: the segments add up to %s, and the path takes %s: %s", r.Short(b.Probe), prose.Measured(sum, "s"), prose.Measured(cost, "s"), prose.Times(b.OfMeasured)))
		}
	}
	if clauses == nil {
		return nil
	}
	s.Text = lang.Join(clauses, lang.T("; "))
	return []Statement{s}
}

// bounds says what free encapsulation would give at most. The bridged pods can refute it, in the run itself
// or in a run of their own.
func (r Premises) bounds(network string) []Statement {
	s := Statement{Subject: Bound}
	var most, limits, verdicts []lang.Text
	for _, b := range r.whatIfs(network) {
		if !b.Free.Bounded() || b.Free.Contains(1) {
			if b.Why != "" {
				s.Evidence = append(s.Evidence, lang.T("no bound for %s: %s", r.Short(b.Probe), b.Why))
			}
			continue
		}
		name := lang.Text(r.Short(b.Probe)) + under(b.Cell)
		most, limits = append(most, lang.T("%s for %s", prose.Times(b.Free), name)), append(limits, limitOf(b))
		s.Cells = append(s.Cells, b.Cell)
		if s.Number == nil || b.Free.Hi/b.Free.Lo < s.Number.Value.Hi/s.Number.Value.Lo { // the easiest to refute
			s.Number = &finding.Number{Name: lang.T("work with free encapsulation ÷ work now"), Unit: "1", Value: b.Free}
			if s.Test = nil; b.Testable() {
				s.Test = r.bridgedTest(b)
			}
			last := len(s.Cells) - 1
			s.Cells[0], s.Cells[last] = s.Cells[last], s.Cells[0] // the first is tested
		}
		if gain, delivered := b.Gained(); gain.N > 0 && b.Verdict != "" {
			verdicts = append(verdicts, lang.T("%s%s for %s (%s)", prose.Times(gain), ofWork(delivered), name, Outcome(b.Verdict).Say()))
		}
		s.Evidence = append(s.Evidence, lang.T("%s: at %s, free encapsulation would save %s", name, rate(b), prose.Measured(b.Saved, "core")))
	}
	if most == nil {
		return nil
	}
	common := lang.Text("")
	if len(slices.Compact(slices.Clone(limits))) == 1 {
		if limits[0] != "" {
			common = lang.T("; ") + limits[0]
		}
	} else {
		for i, l := range limits {
			if l != "" {
				most[i] += lang.T(" (%s)", l)
			}
		}
	}
	s.Text = lang.T("free encapsulation would give at most %s%s", prose.And(most), common)
	if verdicts != nil {
		s.Test = nil // this run was it
		s.Text += lang.T(". Refuted if bridging the same pods without the tunnel gains more: it gained %s", prose.And(verdicts))
	}
	return []Statement{s}
}

// limitOf says what limits the network that a bound is about, "" if it is the thread that encapsulates, and
// remains it.
func limitOf(b costmodel.Bound) lang.Text {
	switch {
	case b.Limit == nil:
		return lang.T("no thread is full, so this is work per CPU time, not throughput")
	case !b.Inside:
		return lang.T("%s limits throughput and does not encapsulate, so this is work per CPU time", finding.Describe(b.Limit.Thread).Subject)
	case b.Most > 0 && b.Next != nil:
		return lang.T("from %s× on, %s would be the limit", prose.Fixed(b.Most, 2), finding.Describe(b.Next.Thread).Subject)
	}
	return ""
}

// ofWork says what a gain is of if that is not what arrived.
func ofWork(delivered bool) lang.Text {
	if delivered {
		return ""
	}
	return lang.T(" in work per CPU time")
}

func rate(b costmodel.Bound) string {
	if b.Unit == "s/byte" {
		return unit.Format(8*b.Rate, "bit/s")
	}
	return unit.Format(b.Rate, "packet/s")
}

// bridgedTest is the run that can refute a bound.
func (r Premises) bridgedTest(b costmodel.Bound) *finding.Test {
	_, delivered := b.Gained()
	metric := delivers
	if !delivered {
		metric = map[string]record.Quantity{"s/byte": record.CPUOwnPerBit}[b.Unit]
		metric = cmp.Or(metric, record.CPUOwnPerPacket)
	}
	return &finding.Test{Text: lang.T("Refuted if bridging the same pods without the tunnel gains more than %s×%s for %s", prose.Fixed(b.Free.Hi, 2), ofWork(delivered), r.Short(b.Probe)),
		Network: costmodel.Without, Metric: metric, Factor: b.Free.Hi, AtMost: true}
}

// delivers is the metric of a bound on what arrives; the others are on the work per CPU time.
var delivers = record.Throughput

// readBound judges the refuting run of a bound: it has the segments and the pods without the tunnel.
func (v *Verdict) readBound(run *analysis.Run) {
	for _, b := range costmodel.WhatIf(run) {
		if b.Network == v.Cell.Network && b.Probe == v.Cell.Probe { // its levels do not vary in this run
			if b.Why != "" { // this run has no bound to compare with
				v.Reason = b.Why
				continue
			}
			if v.Ratio = b.GainCPU; v.Test.Metric == delivers { // what the test's text says, whichever thread is full in this run
				v.Ratio = b.Gain
			}
		}
	}
}
