package explain

import (
	"cmp"
	"slices"

	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// kibibyte is 1024 bytes in bits: CPU time per bit is too small to picture.
const kibibyte = 8 * 1024

// works names the work that a cost is per, and how many units of the stored value make one.
var works = map[record.Quantity]struct {
	name lang.Text
	by   float64
}{
	record.CPUOwnPerPacket:      {lang.T("a datagram"), 1},
	record.CPUOwnPerTransaction: {lang.T("a request"), 1},
	record.CPUOwnPerBit:         {lang.T("a KiB"), kibibyte},
}

// A cost is the CPU time of a cell per unit of work, and the baseline's.
type cost struct {
	cell
	work        lang.Text
	here, there stat.Interval // s per unit of work
}

func (c cost) ratio() stat.Interval { return c.row.Own.Ratio }

// tolerated is the share of lost packets up to which packets of two networks are compared by what they cost.
const tolerated = 0.02

// lossy reports whether a network loses so much more than the baseline that its ends mostly wait and poll: then the CPU
// time for each packet that came through is not what a packet costs.
func lossy(here, there stat.Interval) bool {
	return here.Bounded() && here.Lo > tolerated && here.Lo > there.Hi
}

// negligible is the least difference of CPU time worth a statement: throughput, which it bounds, differs by as much when equal
// networks are built again (τ of TCP in docs/coverage.md).
const negligible = 1.03

// alike reports whether a ratio can be that of networks that cost the same, but for what is negligible.
func alike(i stat.Interval) bool { return i.Lo < negligible && i.Hi > 1/negligible }

// costsOf returns the costs of a network that differ from the baseline's.
func (r Premises) costsOf(network string) (out []cost) {
	for _, c := range r.cells(network) {
		base, ok := c.table.Row(r.Baseline)
		work, known := works[c.row.Own.Name]
		if i := c.row.Own.Ratio; !ok || !known || network == r.Baseline || !i.Bounded() || alike(i) || lossy(c.row.Lost, base.Lost) {
			continue
		}
		out = append(out, cost{c, work.name, c.row.Own.Value.Scaled(work.by), base.Own.Value.Scaled(work.by)})
	}
	return out
}

// costs says how much CPU time the engine's threads use for a packet, against the baseline. Their clocks
// include the softirqs on top of them, and hardly depend on other programs. Threads besides them that carry the
// packets are named beside.
func (r Premises) costs(network string) []Statement {
	all := r.costsOf(network)
	if all == nil {
		return nil
	}
	s := Statement{Subject: Cost, Number: &finding.Number{Name: lang.T("%s, %s ÷ %s", quantity(all[0].row.Own.Name), network, r.Baseline), Unit: "1", Value: all[0].ratio()}}
	many := probesOf(all) > manyProbes
	var keys []string
	of := map[string][]cost{}
	for _, c := range all {
		key := c.table.Probe
		if many {
			key = string(c.work)
		}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], c)
		s.Cells, s.each = append(s.Cells, c.table.Cell(*c.row)), append(s.each, r.clause([]cost{c}, true))
		s.Evidence = append(s.Evidence, lang.T("%s: %s takes %s on %s and %s on %s; over %d blocks, by the clocks of the engine's threads at both ends",
			r.name(c.cell), c.work, prose.Measured(c.here, "s"), network, prose.Measured(c.there, "s"), r.Baseline, c.row.Own.Value.N))
	}
	var clauses []lang.Text
	for i, key := range keys {
		clauses = append(clauses, r.clause(of[key], i == 0))
	}
	s.Text = lang.Join(clauses, lang.T("; ")) + r.beside(all) + r.bytes(network, &s)
	return []Statement{s}
}

// manyProbes is the number of probes beyond which a sentence sums them up by the work that they measure.
const manyProbes = 3

func probesOf(costs []cost) int {
	probes := map[string]bool{}
	for _, c := range costs {
		probes[c.table.Probe] = true
	}
	return len(probes)
}

// bytes says whether the passes or the bytes cost, if the run measured enough sizes for a model.
func (r Premises) bytes(network string, s *Statement) lang.Text {
	for _, m := range r.Models {
		if m.Network != network || m.End != costmodel.Sender || m.Kind != costmodel.UDP || m.Refused != "" {
			continue
		}
		each, resolved := prose.Measured(m.Byte.Scaled(1024), "s"), m.Byte.Lo > 0
		perKiB := lang.T("%s per KiB", each)
		if !resolved {
			perKiB = lang.T("no resolved cost per byte")
		}
		s.Evidence = append(s.Evidence, lang.T("model of the sender, %s: %s per packet and %s; held-out sizes are %.1f %% off on average, at most %.1f %%",
			m.Kind, prose.Measured(m.Pass, "s"), perKiB, 100*m.MeanError, 100*m.LargestError))
		switch {
		case !resolved:
			return lang.T(". The cost is per packet: the run shows none per byte")
		case m.Even.Bounded():
			return lang.T(". 1 KiB more costs its sender %s: the bytes cost as much as the packet from %s on", each, prose.Measured(m.Even, "byte"))
		case m.Pass.Lo > m.Byte.Hi*m.Largest():
			return lang.T(". The cost is per packet, not per byte: 1 KiB more costs its sender %s", each)
		}
	}
	return ""
}

// clause sums up the costs of one probe, or of one kind of work: one cost, or the range over several
// conditions or probes. Only the first clause of a sentence has a verb.
func (r Premises) clause(of []cost, first bool) lang.Text {
	c, in := of[0], lang.Text("")
	if len(r.Tables) > 1 {
		in = lang.T(" (%s)", r.Short(c.table.Probe))
	}
	if len(of) == 1 {
		here, there := unit.Format(c.here.Center, "s"), unit.Format(c.there.Center, "s")
		if first {
			return lang.T("%s costs the sending and receiving threads %s of CPU time instead of %s's %s, %s%s", c.work, here, r.Baseline, there, prose.Times(c.ratio()), in)
		}
		return lang.T("%s %s instead of %s, %s%s", c.work, here, there, prose.Times(c.ratio()), in)
	}
	order := func(a, b cost) int { return cmp.Compare(a.ratio().Center, b.ratio().Center) }
	lo, hi := prose.Fixed(slices.MinFunc(of, order).ratio().Center, 2), prose.Fixed(slices.MaxFunc(of, order).ratio().Center, 2)
	over := lang.T(" under %d conditions%s", len(of), in)
	if n := probesOf(of); n > 1 {
		over = lang.T(" across %d probes", n)
	}
	if first {
		return lang.T("%s costs the sending and receiving threads %s× to %s× %s's CPU time%s", c.work, lo, hi, r.Baseline, over)
	}
	return lang.T("%s %s× to %s×%s", c.work, lo, hi, over)
}

// bare is an estimate without its interval, which is in the evidence: the ratio has one of its own.
func bare(i stat.Interval) stat.Interval { return stat.Interval{Center: i.Center, N: i.N} }

// oneByOne is the confidence of intervals that are not compared.
const oneByOne = 0.95
