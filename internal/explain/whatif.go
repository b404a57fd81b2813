package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/stat"
)

// under names the levels of a cell after its probe.
func under(c analysis.Cell) string {
	if l := levels(c.Levels); l != "" {
		return ", " + l
	}
	return ""
}

// whatIfs returns the leading bounds of a network.
func (r Run) whatIfs(network string) []costmodel.Bound {
	return slices.DeleteFunc(costmodel.Leading(r.Bounds), func(b costmodel.Bound) bool { return b.Network != network })
}

// inWork returns an interval in seconds per unit of work that a reader knows, and what that is.
func inWork(i stat.Interval, unit string) (stat.Interval, string) {
	if unit == "s/byte" {
		return scaled(i, 1024), "KiB"
	}
	return i, "datagram"
}

// parts takes apart what a network adds to the baseline's cost: its tunnel, its veths and bridges, and of
// these what passing packets to netfilter costs.
func (r Run) parts(network string) []Statement {
	s := Statement{Subject: Parts}
	var clauses []string
	for _, b := range r.whatIfs(network) {
		if !b.Encapsulation.Bounded() || !(b.Encapsulation.Lo > 0) || b.Host.N == 0 || b.Cost.N == 0 {
			continue
		}
		e, work := inWork(b.Encapsulation, b.Unit)
		cost, _ := inWork(b.Cost, b.Unit)
		host, _ := inWork(b.Host, b.Unit)
		more := cost.Center - host.Center
		whose := "the sender's"
		if clauses != nil {
			whose = "its"
		}
		text := fmt.Sprintf("of %s +%s per %s (%s%s), encapsulation is %s", whose, measured(stat.Interval{Center: more, N: 1}, "s"), work, r.Short(b.Probe), under(b.Cell), measured(e, "s"))
		if bridging, _ := inWork(b.Bridging, b.Unit); b.Bridging.Bounded() && b.Bridging.Lo > 0 {
			text += ", veths and bridges " + measured(bridging, "s")
		} else if b.Bridging.Bounded() {
			text += ", veths and bridges not resolved"
		}
		for _, h := range r.Hooks {
			if h.Cell.String() == b.Cell.String() { // the bound with the hook; others do not contain its cost
				extra, _ := inWork(h.Extra, h.Unit)
				text += "; bridge-nf-call-iptables is " + measured(extra, "s") + " of it"
			}
		}
		clauses = append(clauses, text)
		s.Cells = append(s.Cells, b.Cell)
		if s.Number == nil {
			s.Number = &finding.Number{Name: "encapsulation, CPU time of the sender", Unit: b.Unit, Value: b.Encapsulation}
		}
		if b.Sum.N > 0 {
			sum, _ := inWork(b.Sum, b.Unit)
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the segments add up to %s, and the path takes %s: %s", r.Short(b.Probe), measured(sum, "s"), measured(cost, "s"), times(b.OfMeasured)))
		}
	}
	if clauses == nil {
		return nil
	}
	s.Text = strings.Join(clauses, "; ")
	return []Statement{s}
}

// bounds says what free encapsulation would give at most. The bridged pods can refute it, in the run itself
// or in a run of their own.
func (r Run) bounds(network string) []Statement {
	s := Statement{Subject: Bound}
	var most, limits, verdicts []string
	for _, b := range r.whatIfs(network) {
		if !b.Free.Bounded() || b.Free.Contains(1) {
			if b.Why != "" {
				s.Evidence = append(s.Evidence, fmt.Sprintf("no bound for %s: %s", r.Short(b.Probe), b.Why))
			}
			continue
		}
		name := r.Short(b.Probe) + under(b.Cell)
		most, limits = append(most, times(b.Free)+" for "+name), append(limits, limitOf(b))
		s.Cells = append(s.Cells, b.Cell)
		if s.Number == nil || b.Free.Hi/b.Free.Lo < s.Number.Value.Hi/s.Number.Value.Lo { // the easiest to refute
			s.Number = &finding.Number{Name: "work with free encapsulation ÷ work now", Unit: "1", Value: b.Free}
			if s.Test = nil; b.Testable() {
				s.Test = r.bridgedTest(b)
			}
			last := len(s.Cells) - 1
			s.Cells[0], s.Cells[last] = s.Cells[last], s.Cells[0] // the first is tested
		}
		if gain, delivered := b.Gained(); gain.N > 0 && b.Verdict != "" {
			verdicts = append(verdicts, fmt.Sprintf("%s%s for %s (%s)", times(gain), ofWork(delivered), name, b.Verdict))
		}
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: at %s, free encapsulation would save %s", name, rate(b), measured(b.Saved, "core")))
	}
	if most == nil {
		return nil
	}
	common := ""
	if len(slices.Compact(slices.Clone(limits))) == 1 {
		if limits[0] != "" {
			common = "; " + limits[0]
		}
	} else {
		for i, l := range limits {
			if l != "" {
				most[i] += " (" + l + ")"
			}
		}
	}
	s.Text = "free encapsulation would give at most " + list(most) + common
	if verdicts != nil {
		s.Test = nil // this run was it
		s.Text += ". Refuted if bridging the same pods without the tunnel gains more: it gained " + list(verdicts)
	}
	return []Statement{s}
}

// limitOf says what limits the network that a bound is about, "" if it is the thread that encapsulates, and
// remains it.
func limitOf(b costmodel.Bound) string {
	switch {
	case b.Limit == nil:
		return "no thread is full, so this is work per CPU time, not throughput"
	case !b.Inside:
		return fmt.Sprintf("%s limits throughput and does not encapsulate, so this is work per CPU time", finding.Describe(b.Limit.Thread).Subject)
	case b.Most > 0 && b.Next != nil:
		return fmt.Sprintf("from %s× on, %s would be the limit", fixed(b.Most, 2), finding.Describe(b.Next.Thread).Subject)
	}
	return ""
}

// ofWork says what a gain is of if that is not what arrived.
func ofWork(delivered bool) string {
	if delivered {
		return ""
	}
	return " the work per CPU time"
}

func rate(b costmodel.Bound) string {
	if b.Unit == "s/byte" {
		return value(8*b.Rate, "bit/s")
	}
	return value(b.Rate, "packet/s")
}

// bridgedTest is the run that can refute a bound.
func (r Run) bridgedTest(b costmodel.Bound) *finding.Test {
	_, delivered := b.Gained()
	metric := delivers
	if !delivered {
		metric = map[string]string{"s/byte": "cpu.own.per.bit"}[b.Unit]
		metric = cmp.Or(metric, "cpu.own.per.packet")
	}
	return &finding.Test{Text: fmt.Sprintf("Refuted if bridging the same pods without the tunnel gains more than %s×%s for %s", fixed(b.Free.Hi, 2), ofWork(delivered), r.Short(b.Probe)),
		Network: costmodel.Without, Metric: metric, Factor: b.Free.Hi, AtMost: true}
}

// delivers is the metric of a bound on what arrives; the others are on the work per CPU time.
const delivers = "throughput"

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
