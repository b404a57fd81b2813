package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/record"
)

// ownValue is the CPU time of the engine's threads at both ends, in cores, which native probes
// report by the clocks of these threads. Other programs do not add to it, so concurrent trials and
// background have it too.
const ownValue = "cpu.own"

const (
	// step is the unit of /proc/stat, s. Idle, iowait and steal time are rounded down to it, at both
	// edges of a window.
	step = 0.01
	// late is the largest delay of a busy thread in reading its clock at an edge, as a share of the window.
	late = 0.05
)

// own adds the cost by the threads' own clocks, which include the softirqs that interrupted the threads
// but not those on other CPUs. It removes an impossible value, with a warning: a part
// of the machine's work cannot exceed all of it.
func (s *Setup) own(r *record.Result, x *execution) {
	own, ok := r.Get(ownValue)
	if !ok {
		return
	}
	all := spans(s.hosts(), x.readings.Begin, x.readings.End)
	if cpus := capacity(all); cpus > 0 {
		// A thread's clock includes stolen time, unless the kernel has CONFIG_PARAVIRT_TIME_ACCOUNTING.
		u := usage(all)
		most, unsure := u.Used+u.Steal, 0.0
		for _, h := range all {
			unsure += 3 * step / h.seconds
		}
		if own.Value > most*(1+late)+unsure {
			r.Values = slices.DeleteFunc(r.Values, func(v record.Value) bool {
				return v.Name == ownValue || strings.HasPrefix(v.Name, ownValue+".")
			})
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s is left out: the engine's threads report %.2f cores, but all programs together used %.2f", ownValue, own.Value, most))
			return
		}
	}
	if len(s.steered()) > 0 {
		// A cost per packet would seem to fall by whatever the other CPUs do for it.
		r.Observed[ownValue] = "without the packets that rps gave to other CPUs"
		return
	}
	perWork(r, ownValue+".per.", own.Value)
	perDatagram(r)
}

// perDatagram corrects the cost of a datagram where some are lost: the sender's threads spend theirs on each that was
// sent, the receiver's on each that was received. Per datagram that was delivered, a loss would look like a cost.
func perDatagram(r *record.Result) {
	of := map[string]float64{}
	for _, name := range []string{"sent", "received", ownValue + ".client", ownValue + ".server"} {
		v, ok := r.Get(name)
		if of[name] = v.Value; !ok {
			return
		}
	}
	i := slices.IndexFunc(r.Values, func(v record.Value) bool { return v.Name == ownValue+".per.packet" })
	if i >= 0 && of["sent"] > 0 && of["received"] > 0 {
		r.Values[i].Value = of[ownValue+".client"]/of["sent"] + of[ownValue+".server"]/of["received"]
	}
}
