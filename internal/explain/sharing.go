package explain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A pass is what one packet carries on the sender's first device.
type pass struct {
	cell
	size stat.Interval // bytes with headers, median over blocks
}

const (
	// leastSharing is how many times as much a pass must carry under TCP to explain why TCP is cheaper.
	leastSharing = 2
	// mostLost is the largest share of datagrams that a stream can lose and still be limited by what it sends.
	mostLost = 0.01
	// sharedGain is the least that UDP gains when its datagrams share passes too, if passes limit it.
	sharedGain = 1.25
)

// sharing explains why TCP keeps more of a path than UDP: many segments share one pass through the stack,
// and an overlay costs per pass. Both streams must be of weir's engine, send as fast as they can, lose nothing, and
// have no other limit than a thread that is full: otherwise passes are not what holds UDP back.
func (r Premises) sharing(network string) []Statement {
	for _, udp := range r.passes(network, "udp") {
		for _, tcp := range r.passes(network, "tcp") {
			if !agree(tcp.table.Levels, udp.table.Levels) ||
				record.Streams.Of(tcp.row.Observed) != record.Streams.Of(udp.row.Observed) || !tcp.size.Bounded() || tcp.size.Lo < leastSharing*udp.size.Hi || !r.full(udp.cell) {
				continue
			}
			if s, ok := r.shares(network, tcp, udp); ok {
				return []Statement{s}
			}
		}
	}
	return nil
}

// agree reports whether two cells have the same levels of the factors that both have.
func agree(a, b map[string]string) bool {
	for factor, level := range a {
		if other, both := b[factor]; both && other != level {
			return false
		}
	}
	return true
}

// shares says how TCP and UDP differ; false if they do not, or if something else is known to limit one of them.
func (r Premises) shares(network string, tcp, udp pass) (s Statement, ok bool) {
	s = Statement{Subject: Sharing, Cells: []analysis.Cell{udp.table.Cell(*udp.row), tcp.table.Cell(*tcp.row)},
		Number: &finding.Number{Name: lang.T("bytes per pass, TCP"), Unit: "byte", Value: tcp.size}}
	names := []lang.Text{lang.Text(r.Short(tcp.table.Probe)), lang.Text(r.Short(udp.table.Probe))}
	share := lang.T("%s share a pass through the stack in TCP, %s in UDP", prose.Measured(bare(tcp.size), "byte"), prose.Measured(bare(udp.size), "byte"))
	t, u := tcp.row.Ratio, udp.row.Ratio
	switch both := r.ratio(tcp.cell, udp.cell); {
	case network != r.Baseline && t.Bounded() && u.Bounded():
		if t.Lo <= u.Hi || !r.unlimitedBaseline(tcp, udp) {
			return s, false // both keep as much, or the baseline's numbers have another reason
		}
		s.Text = lang.T("%s keeps %s of %s's throughput, %s %s: %s", names[0], prose.Times(t), r.Baseline, names[1], prose.Times(u), share)
	case both.Bounded() && both.Lo > 1:
		s.Text = lang.T("%s carries %s of what %s carries: %s", names[0], prose.Times(both), names[1], share)
	default:
		return s, false
	}
	for _, p := range []pass{tcp, udp} {
		s.Evidence = append(s.Evidence, lang.T("%s: %s per packet on the sender's first device, median of %d blocks", r.Short(p.table.Probe), prose.Measured(p.size, "byte"), p.size.N))
	}
	if _, varied := udp.table.Config["send"]; !varied && record.Send.Of(udp.row.Observed) == "single" {
		s.Test = &finding.Test{Text: lang.T("Refuted if UDP whose datagrams share passes (UDP_SEGMENT) gains less than %s×", prose.Fixed(sharedGain, 2)),
			Options: map[string]string{"send": "gso"}, Metric: record.Throughput, Factor: sharedGain}
	}
	return s, true
}

// unlimitedBaseline reports whether the baseline's streams of the same tables have no limit but a full thread.
func (r Premises) unlimitedBaseline(all ...pass) bool {
	return !slices.ContainsFunc(all, func(p pass) bool {
		base, ok := p.table.Row(r.Baseline)
		return !ok || r.limited(cell{p.table, &base})
	})
}

// limited reports whether a stream loses packets, keeps a rate that it was given, or has a cause of its own: anything
// but a full thread.
func (r Premises) limited(c cell) bool {
	if record.Rate.In(c.row.Observed) || c.table.Config["rate"] != "" {
		return true
	}
	if load := c.table.Config["load"]; load != "" && load != "idle" || c.row.Lost.N > 0 && !(c.row.Lost.Hi < mostLost && c.row.Lost.Center < mostLost) {
		return true
	}
	return slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
		return causal(f) && f.Rule != "full-thread" && f.Rule != "one-cpu" && f.Rule != "tool-limited" && about(f.Cells, c)
	})
}

// full reports whether a finding says that a thread is the limit of a cell.
func (r Premises) full(c cell) bool {
	return slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
		return (f.Rule == "full-thread" || f.Rule == "one-cpu") && about(f.Cells, c)
	})
}

// about reports whether cells include one.
func about(cells []analysis.Cell, c cell) bool {
	name := c.table.Cell(*c.row).String()
	return slices.ContainsFunc(cells, func(x analysis.Cell) bool { return x.String() == name })
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

// passes returns the cells of a protocol's streams without another limit, those whose packets carry most first. GSO
// is not compared: UDP shares passes then, too. Nor are foreign tools, whose pace no trial records.
func (r Premises) passes(network, protocol string) (all []pass) {
	for _, c := range r.cells(network) {
		if c.table.Metric != record.Throughput || record.Send.Of(c.row.Observed) == "gso" || record.Tool.Of(c.row.Observed) != record.Engine || r.limited(c) {
			continue
		}
		var sizes []float64
		for _, o := range c.row.Evidence() {
			if path := o.Evidence.Path; o.Evidence.Protocol == protocol && len(path) > 0 && path[0].Data.Packets > 0 {
				sizes = append(sizes, path[0].Data.Size())
			}
		}
		if p := (pass{c, stat.Median(sizes, oneByOne)}); p.size.N > 0 {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b pass) int { return cmp.Compare(b.size.Center, a.size.Center) })
	return all
}
