package pivot

// A Cost is CPU time of both ends per unit of work, and in which mode the CPUs
// spent it.
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
// (proc_stat(5)). Stolen time is no cost of the network; it is a condition.
var ModeNames = []string{"user", "system", "softirq", "irq", "guest"}

// Cost returns the cost per packet, or else per transaction, or else per bit.
func (r Row) Cost() (Cost, bool) {
	for _, name := range []string{"cpu.per.packet", "cpu.per.transaction", "cpu.per.bit"} {
		if s, ok := r.Get(name); ok && s.Median > 0 {
			return Cost{Name: name, Unit: s.Unit, Total: s.Median, Modes: r.modes()}, true
		}
	}
	return Cost{}, false
}

func (r Row) modes() []Mode {
	var out []Mode
	sum := 0.0
	for _, n := range ModeNames {
		s, _ := r.Get("cpu." + n)
		v := max(0, s.Median) // less the idle baseline, a mode may come out below zero
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
