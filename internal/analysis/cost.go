package analysis

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
