package analysis

import (
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Cost is the CPU time of both ends per unit of work, split by CPU mode.
type Cost struct {
	Name  string  // cpu.per.packet, cpu.per.transaction or cpu.per.bit
	Unit  string  // s/packet, s/transaction, s/bit
	Total float64 // in Unit
	Modes []Mode  // sum to Total; empty if unknown
}

// A Mode is the part of a cost spent in one CPU mode.
type Mode struct {
	Name  string
	Share float64 // of Total, in 0..1
}

// ModeNames lists the modes of a Cost, as in /proc/stat (proc_stat(5)). Stolen time is a condition,
// not a cost of the network.
var ModeNames = []string{"user", "system", "softirq", "irq", "guest"}

// costs lists the values that Cost uses, and the work rate of each.
var costs = []struct{ name, of string }{
	{"cpu.per.packet", "packet.rate"}, {"cpu.per.transaction", "transactions"}, {"cpu.per.bit", "throughput"},
}

// Per returns the CPU time of all ok trials divided by their work. /proc/stat counts in steps of 10
// ms, a large part of a short trial, but its errors cancel in the sum.
func (r Row) Per(name string) (v float64, unit string, ok bool) {
	for _, c := range costs {
		s, has := r.Get(name)
		busy, _ := r.Get("cpu.busy")
		work, _ := r.Get(c.of)
		if c.name == name && has && busy.Mean > 0 && work.Mean > 0 {
			return busy.Mean / work.Mean, s.Unit, true
		}
	}
	return 0, "", false
}

// Loss returns the fraction of packets sent in ok trials that was not delivered.
func (r Row) Loss() (float64, bool) {
	sent, ok := r.Get("sent")
	if delivered, has := r.Get("delivered"); ok && has && sent.Mean > 0 {
		return 1 - delivered.Mean/sent.Mean, true
	}
	loss, ok := r.Get("loss")
	return loss.Mean, ok
}

// Cost returns the cost per packet, else per transaction, else per bit, as for TCP, which does not
// choose its packets.
func (r Row) Cost() (Cost, bool) {
	_, datagrams := r.Get("delivered")
	for _, c := range costs {
		if v, unit, ok := r.Per(c.name); ok && (datagrams || c.name != "cpu.per.packet") {
			return Cost{Name: c.name, Unit: unit, Total: v, Modes: r.modes()}, true
		}
	}
	return Cost{}, false
}

func (r Row) modes() []Mode {
	var out []Mode
	sum := 0.0
	for _, n := range ModeNames {
		s, _ := r.Get("cpu." + n)
		v := max(0, s.Mean) // subtracting the idle baseline can give a value below zero
		out = append(out, Mode{n, v})
		sum += v
	}
	if sum == 0 {
		return nil
	}
	for i := range out {
		out[i].Share /= sum
	}
	return out
}

// An OwnCost is the CPU time of the workload's own threads at both ends per unit of work, by the
// clock of each thread (ADR 10). Other programs do not add to it, so it uses disturbed trials too.
type OwnCost struct {
	Name  string        `json:"name"`           // cpu.own.per.packet, .transaction or .bit
	Unit  string        `json:"unit"`           // s/packet, s/transaction, s/bit
	Value stat.Interval `json:"value"`          // median over blocks; the interval holds by itself
	Ratio stat.Interval `json:"ratio,omitzero"` // ÷ the baseline in the same block; N is 0 if there is none
}

// OwnCost returns the ratio of the row's own CPU cost to the baseline's, paired by block, with the
// confidence of the row's Ratio. It does not need the row to have a verdict: a busy machine changes
// a throughput, and hardly the time that a packet takes.
func (r Row) OwnCost() (ratio stat.Interval, ok bool) { return r.Own.Ratio, r.Own.Ratio.N > 0 }

// ownCost returns the name and unit of the sample's own cost, and its values by place in all trials
// that ran to their end, disturbed or not.
func (s *Sample) ownCost() (name named, costs Series) {
	var usable []*record.Result
	for _, t := range s.trials {
		if t.status == record.OK || t.status == record.Disturbed {
			usable = append(usable, t.Result)
		}
	}
	for _, of := range []string{"packet", "transaction", "bit"} {
		costs, n := seriesOf(usable, "cpu.own.per."+of)
		if of == "packet" && !anyHas(usable, "delivered") {
			continue // TCP does not choose its packets
		}
		if costs = costs.Positive(); costs.Len() > 0 {
			return n, costs
		}
	}
	return named{}, Series{}
}

func anyHas(results []*record.Result, name string) bool {
	for _, r := range results {
		if _, ok := r.Get(name); ok {
			return true
		}
	}
	return false
}

// seriesOf returns one value of results, which are in the order of their places' blocks.
func seriesOf(results []*record.Result, name string) (Series, named) {
	places, at := placesOf(results)
	m, n := newMeans(places, at), named{}
	for i, r := range results {
		if v, ok := r.Get(name); ok {
			m.add(i, v.Value)
			n = named{v.Name, v.Unit}
		}
	}
	return m.series(), n
}
