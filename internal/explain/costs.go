package explain

import (
	"cmp"
	"maps"
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

// costsOf returns the costs of a network that differ from the baseline's.
func (r Premises) costsOf(network string) (out []cost) {
	for _, c := range r.cells(network) {
		base, ok := c.table.Row(r.Baseline)
		work, known := works[c.row.Own.Name]
		if i := c.row.Own.Ratio; !ok || !known || network == r.Baseline || !i.Bounded() || i.Contains(1) {
			continue
		}
		out = append(out, cost{c, work.name, c.row.Own.Value.Scaled(work.by), base.Own.Value.Scaled(work.by)})
	}
	return out
}

// costs says how much CPU time the engine's threads use for a packet, against the baseline. Their clocks
// include the softirqs on top of them, and hardly depend on other programs.
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
		s.Cells = append(s.Cells, c.table.Cell(*c.row))
		s.Evidence = append(s.Evidence, lang.T("%s: %s takes %s on %s and %s on %s; medians of %d blocks, by the clocks of the engine's threads at both ends",
			r.name(c.cell), c.work, prose.Measured(c.here, "s"), network, prose.Measured(c.there, "s"), r.Baseline, c.row.Own.Value.N))
	}
	var clauses []lang.Text
	for i, key := range keys {
		clauses = append(clauses, r.clause(of[key], i == 0))
	}
	s.Text = lang.Join(clauses, lang.T("; ")) + r.bytes(network, &s)
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
			return lang.T("%s costs %s of CPU time at both ends instead of %s's %s, %s%s", c.work, here, r.Baseline, there, prose.Times(c.ratio()), in)
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
		return lang.T("%s costs %s× to %s× %s's CPU time at both ends%s", c.work, lo, hi, r.Baseline, over)
	}
	return lang.T("%s %s× to %s×%s", c.work, lo, hi, over)
}

// bare is an estimate without its interval, which is in the evidence: the ratio has one of its own.
func bare(i stat.Interval) stat.Interval { return stat.Interval{Center: i.Center, N: i.N} }

// A pass is what one packet carries on the sender's first device.
type pass struct {
	cell
	size stat.Interval // bytes with headers, median over blocks
}

// leastSharing is how many times as much a pass must carry under TCP to explain why TCP is cheaper.
const leastSharing = 2

// sharing explains why TCP keeps more of a path than UDP: many segments share one pass through the stack,
// and an overlay costs per pass.
func (r Premises) sharing(network string) []Statement {
	tcp, udp := r.passes(network, "tcp"), r.passes(network, "udp")
	if tcp == nil || udp == nil || !tcp.size.Bounded() || tcp.size.Lo < leastSharing*udp.size.Hi {
		return nil
	}
	s := Statement{Subject: Sharing, Cells: []analysis.Cell{tcp.table.Cell(*tcp.row), udp.table.Cell(*udp.row)},
		Number: &finding.Number{Name: lang.T("bytes per pass, TCP"), Unit: "byte", Value: tcp.size}}
	share := lang.T("%s share a pass through the stack in TCP, %s in UDP", prose.Measured(bare(tcp.size), "byte"), prose.Measured(bare(udp.size), "byte"))
	t, u := tcp.row.Ratio, udp.row.Ratio
	switch both := r.ratio(tcp.cell, udp.cell); {
	case network != r.Baseline && t.Bounded() && u.Bounded():
		if t.Lo <= u.Hi {
			return nil // both keep as much
		}
		s.Text = lang.T("TCP keeps %s of %s's throughput, UDP %s: %s", prose.Times(t), r.Baseline, prose.Times(u), share)
	case both.Bounded() && both.Lo > 1:
		s.Text = lang.T("TCP carries %s of what UDP carries: %s", prose.Times(both), share)
	default:
		return nil
	}
	for _, p := range []*pass{tcp, udp} {
		s.Evidence = append(s.Evidence, lang.T("%s: %s per packet on the sender's first device, median of %d blocks", r.Short(p.table.Probe), prose.Measured(p.size, "byte"), p.size.N))
	}
	if _, varied := tcp.table.Config["offload"]; !varied {
		s.Test = &finding.Test{Text: lang.T("Refuted if TCP keeps more than %s× of its throughput without segmentation offload", prose.Fixed(unshared, 2)),
			Levels: map[string]string{"offload": "off"}, Metric: record.Throughput, Factor: unshared}
	}
	return []Statement{s}
}

// ratio returns the throughput of one cell ÷ another's in the same blocks.
func (r Premises) ratio(of, to cell) stat.Interval {
	var all []analysis.Series
	for _, c := range []cell{to, of} {
		config := maps.Clone(c.table.Config)
		if config == nil {
			config = map[string]string{}
		}
		config[analysis.Network], config[analysis.Probe] = c.row.Network, c.table.Probe
		sample := r.Sample(config)
		if sample == nil {
			return stat.Interval{}
		}
		all = append(all, sample.Values(c.table.Metric))
	}
	_, v := analysis.Common(all...)
	return stat.Ratio(v[0], v[1], oneByOne)
}

// unshared is the most that a TCP stream keeps of its throughput when its segments pass one by one, if
// sharing passes is what makes it fast. Published streams without it keep half (claim tso-doubles-tcp).
const unshared = 0.8

// passes returns the cell of a protocol's stream whose packets carry most, nil if the network has none. GSO is
// not compared: UDP shares passes then, too.
func (r Premises) passes(network, protocol string) (most *pass) {
	for _, c := range r.cells(network) {
		if c.table.Metric != record.Throughput || record.Send.Of(c.row.Observed) == "gso" {
			continue
		}
		var sizes []float64
		for _, o := range c.row.Evidence() {
			if path := o.Evidence.Path; o.Evidence.Protocol == protocol && len(path) > 0 && path[0].Data.Packets > 0 {
				sizes = append(sizes, path[0].Data.Size())
			}
		}
		if p := (pass{c, stat.Median(sizes, oneByOne)}); p.size.N > 0 && (most == nil || p.size.Center > most.size.Center) {
			most = &p
		}
	}
	return most
}

// oneByOne is the confidence of intervals that are not compared.
const oneByOne = 0.95
