package analysis

import (
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Cost is the CPU time of both ends' machines per unit of work, split by CPU mode.
type Cost struct {
	Name  record.Quantity // cpu.per.packet, cpu.per.transaction or cpu.per.bit
	Unit  string          // s/packet, s/transaction, s/bit
	Total float64         // in Unit: the time of all ok trials divided by their work
	// Interval is around Total and holds by itself. It covers how blocks differ, including the 10 ms
	// steps in which /proc/stat counts.
	Interval stat.Interval
	// ByIdle means that the time is the complement of idle. Results of older programs have the sum of
	// the busy modes, which misses work in pieces shorter than a tick.
	ByIdle bool
	// Unresolved means that the counters cannot resolve this little work: Total is not a number to
	// print.
	Unresolved bool
	Modes      []Mode // sum to Total; empty if unknown
}

// A Mode is the part of a cost spent in one CPU mode.
type Mode struct {
	Name  record.Quantity
	Share float64 // of Total, in 0..1
}

// ModeNames lists the modes of a Cost, as in /proc/stat (proc_stat(5)). Stolen time is a condition,
// not a cost of the network.
var ModeNames = []record.Quantity{record.CPUUser, record.CPUSystem, record.CPUSoftirq, record.CPUIRQ, record.CPUGuest}

// costs lists the values that Cost uses, and the work rate of each.
var costs = []struct {
	name record.Quantity
	unit string
	of   record.Quantity
}{
	{record.CPUPerPacket, "s/packet", record.PacketRate}, {record.CPUPerTransaction, "s/transaction", record.Transactions}, {record.CPUPerBit, "s/bit", record.Throughput},
}

// leastErrors is the least distance of a resolved cost from 0, in standard errors.
const leastErrors = 2

// clockStep is the unit in which /proc/stat counts, s (proc_stat(5)).
const clockStep = 0.01

// Resolved reports whether the number of a trial's value can be printed. It cannot if it is a CPU time below
// 0, or a cost from less CPU time in the window than the step in which the kernel counts. Trials store such
// numbers, because sums over trials would be biased without them (ADR 10).
func Resolved(t *record.Result, v record.Value) bool {
	if Impossible(v.Unit, v.Value) {
		return false
	}
	of, _ := workOf(v.Name)
	rate, ok := t.Get(of)
	window, timed := t.Get(record.Window)
	return !ok || !timed || v.Value*rate.Value*window.Value >= clockStep
}

// Per returns a cost's total by its name, false if the counters do not resolve it.
func (r Row) Per(name record.Quantity) (v float64, unit string, ok bool) {
	c, ok := r.CostPer(name)
	return c.Total, c.Unit, ok && !c.Unresolved
}

// CostPer returns the cost called name; false if the trials have none.
func (r Row) CostPer(name record.Quantity) (c Cost, ok bool) {
	if r.sample == nil {
		return c, false
	}
	_, has := r.Get(name)
	if c, ok = r.sample.costPer(name); !ok {
		return c, false
	}
	c.Modes = r.modes()
	// Trials without the value had a background, whose time counts too, or a time that is never above 0.
	return c, has || c.Total <= 0
}

// workOf returns the rate of the work of a cost and the cost's unit, "" for another value.
func workOf(cost record.Quantity) (of record.Quantity, unit string) {
	for _, c := range costs {
		if c.name == cost {
			return c.of, c.unit
		}
	}
	return "", ""
}

// costPer returns the cost called name without its modes.
func (s *Sample) costPer(name record.Quantity) (c Cost, ok bool) {
	of, unit := workOf(name)
	if of == "" {
		return c, false
	}
	time, baseline, byIdle := s.time()
	blocks, v := blockMeans(time, s.Values(of))
	if len(blocks) == 0 {
		return c, false
	}
	c = Cost{Name: name, Unit: unit, Interval: stat.Sums(v[0], v[1], single), ByIdle: byIdle}
	c.Total = c.Interval.Center
	// In a lab the idle baseline was measured once, before the run: its error is in every block, and no
	// interval shows it. On machines that others use, each block has its own.
	c.Unresolved = c.Total <= 0 || c.Total < leastErrors*c.Interval.SE || mean(v[0]) < baseline
	c.Interval.Lo = max(0, c.Interval.Lo) // no work costs less
	return c, c.Interval.N > 0
}

// Unresolved reports whether a value is a cost that the counters do not resolve.
func (s *Sample) Unresolved(name record.Quantity) bool {
	c, ok := s.costPer(name)
	return ok && c.Unresolved
}

// Accounted returns the sum of the modes of /proc/stat as a share of the time of all CPUs, which
// should be 1; false if the trials did not store it.
func (r Row) Accounted() (share stat.Interval, ok bool) {
	if r.sample == nil {
		return share, false
	}
	sums := r.sample.Values(record.CPUAccounted).perBlock(mean)
	share = stat.Sums(sums, slices.Repeat([]float64{1}, len(sums)), single)
	return share, share.N > 0
}

// time returns the cores that both ends' machines used beyond their idle use, the idle use, and
// whether the complement of idle time measured them.
func (s *Sample) time() (cores Series, baseline float64, byIdle bool) {
	if used, idle := s.Values(record.CPUUsed), s.Values(record.CPUUsedBaseline); used.Len() > 0 && used.Len() == idle.Len() {
		cores = Series{used.slots, slices.Clone(used.v)}
		for i := range cores.v {
			cores.v[i] -= idle.v[i]
		}
		return cores, mean(idle.v), true
	}
	return s.Values(record.CPUBusy), mean(s.Values(record.CPUIdleBaseline).v), false
}

// blockMeans returns the blocks in which both series share a slot, and the means over the shared
// ones.
func blockMeans(a, b Series) (blocks []int, values [2][]float64) {
	a = a.at(b.slots)
	b = b.at(a.slots)
	for _, p := range a.slots {
		blocks = append(blocks, p.block)
	}
	return slices.Compact(blocks), [2][]float64{a.perBlock(mean), b.perBlock(mean)}
}

// Cost returns the cost per packet, else per transaction, else per bit, as for TCP, which does not
// choose its packets.
func (r Row) Cost() (Cost, bool) {
	_, datagrams := r.Get(record.Delivered)
	for _, c := range costs {
		if c, ok := r.CostPer(c.name); ok && !c.Unresolved && (datagrams || c.Name != record.CPUPerPacket) {
			return c, true
		}
	}
	return Cost{}, false
}

func (r Row) modes() []Mode {
	var out []Mode
	sum := 0.0
	for _, n := range ModeNames {
		s, _ := r.Get(n)
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
	Name  record.Quantity `json:"name"`           // cpu.own.per.packet, .transaction or .bit
	Unit  string          `json:"unit"`           // s/packet, s/transaction, s/bit
	Value stat.Interval   `json:"value"`          // the time of all trials divided by their work; the interval holds by itself
	Ratio stat.Interval   `json:"ratio,omitzero"` // ÷ the baseline in the same block; N is 0 if there is none
}

// own reports whether a value is CPU time by the threads' own clocks, which uses disturbed trials too
// (see OwnCost).
func own(value record.Quantity) bool {
	return value.In(record.CPUOwnPerPacket, record.CPUOwnPerTransaction, record.CPUOwnPerBit)
}

// OwnCost returns the ratio of the row's own CPU cost to the baseline's, paired by block, with the
// confidence of the row's Ratio. A busy machine changes throughput, but hardly the CPU time of a
// packet.
func (r Row) OwnCost() (ratio stat.Interval, ok bool) { return r.Own.Ratio, r.Own.Ratio.N > 0 }

// ownCosts lists the own costs, and the work rate of each.
var ownCosts = []struct{ name, of record.Quantity }{
	{record.CPUOwnPerPacket, record.PacketRate}, {record.CPUOwnPerTransaction, record.Transactions}, {record.CPUOwnPerBit, record.Throughput},
}

// ownCost returns the sample's own cost, and its values by slot in all trials that ran to their end, disturbed or not.
func (s *Sample) ownCost() (cost OwnCost, costs Series) {
	var usable []*record.Result
	for _, t := range s.trials {
		if t.status == record.OK || t.status == record.Disturbed {
			usable = append(usable, t.Result)
		}
	}
	slots, at := s.cores.slotsOf(usable)
	series := func(name record.Quantity, of func(*record.Result, record.Value) float64) (Series, named) {
		m, n := newMeans(slots, at), named{}
		for i, r := range usable {
			if v, ok := r.Get(name); ok {
				m.add(i, of(r, v))
				n = named{v.Name, v.Unit}
			}
		}
		return m.series(), n
	}
	asStored := func(_ *record.Result, v record.Value) float64 { return v.Value }
	for _, own := range ownCosts {
		costs, n := series(own.name, ownCostOf)
		if delivered, _ := series(record.Delivered, asStored); own.name == record.CPUOwnPerPacket && delivered.Len() == 0 {
			continue // TCP does not choose its packets
		}
		if costs = costs.Positive(); costs.Len() > 0 {
			rates, _ := series(own.of, asStored)
			return OwnCost{Name: n.name, Unit: n.unit, Value: ownMean(costs, rates)}, costs
		}
	}
	return OwnCost{}, Series{}
}

// estimate is the value of the sample as tables have it: the median, or the time of all trials divided by their work.
func (s *Sample) estimate(name record.Quantity, values Series) stat.Interval {
	if cost, _ := s.ownCost(); own(name) && cost.Name == name {
		return cost.Value
	}
	if cost, ok := s.costPer(name); ok {
		return cost.Interval
	}
	return stat.Median(values.medians(), single)
}

// ownMean divides the time of all trials by their work, as Cost does. Where the work is unknown, all blocks count alike.
func ownMean(costs, rates Series) stat.Interval {
	if rates.Len() == 0 {
		rates = Series{costs.slots, slices.Repeat([]float64{1}, costs.Len())}
	}
	_, v := blockMeans(costs, rates)
	for i, rate := range v[1] {
		v[0][i] *= rate
	}
	mean := stat.Sums(v[0], v[1], single)
	mean.Lo = max(0, mean.Lo)
	return mean
}

// ownCostOf returns an own cost as trials of this version store it. Older ones divided the time of both ends by the
// datagrams that were delivered, so that a loss looked like a cost.
func ownCostOf(r *record.Result, v record.Value) float64 {
	sent, a := r.Get(record.Sent)
	received, b := r.Get(record.Received)
	client, c := r.Value(record.CPUOwn.At("client"))
	server, d := r.Value(record.CPUOwn.At("server"))
	if v.Name != record.CPUOwnPerPacket || !a || !b || !c || !d || sent.Value <= 0 || received.Value <= 0 {
		return v.Value
	}
	return client.Value/sent.Value + server.Value/received.Value
}
