package analysis

// A Cost is CPU time of both ends per unit of work, split by the mode of the CPUs.
type Cost struct {
	Name  string  // of the value: cpu.per.packet, cpu.per.transaction or cpu.per.bit
	Unit  string  // s/packet, s/transaction, s/bit
	Total float64 // in Unit
	Modes []Mode  // they sum to Total; empty when the modes are not known
}

// A Mode is the part of a cost that was spent in one mode of the CPU.
type Mode struct {
	Name  string
	Share float64 // of Total, in 0..1
}

// ModeNames lists the modes that a Cost is split into, as in /proc/stat
// (proc_stat(5)). Stolen time is a condition, not a cost of the network.
var ModeNames = []string{"user", "system", "softirq", "irq", "guest"}

// costs are the values that Cost counts, and the rate of work of each.
var costs = []struct{ name, of string }{
	{"cpu.per.packet", "packet.rate"}, {"cpu.per.transaction", "transactions"}, {"cpu.per.bit", "throughput"},
}

// Per returns the CPU time per unit of work: that of all ok trials together
// divided by the work of all. /proc/stat counts in steps of 10 ms, a large part of a
// short trial, but its errors cancel in the sum.
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

// Loss returns the share of all packets sent in ok trials that was not delivered.
func (r Row) Loss() (float64, bool) {
	sent, ok := r.Get("sent")
	if delivered, has := r.Get("delivered"); ok && has && sent.Mean > 0 {
		return 1 - delivered.Mean/sent.Mean, true
	}
	loss, ok := r.Get("loss")
	return loss.Mean, ok
}

// Cost returns the cost per packet, or else per transaction, or else per bit.
// TCP does not choose its packets, so its cost is per bit.
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
		v := max(0, s.Mean) // less the idle baseline, a mode can come out below zero
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
