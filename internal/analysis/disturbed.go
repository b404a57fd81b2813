package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/weir-bench/weir/record"
)

// Thresholds of a disturbed trial. The kernel accounts in ticks of 4 to 10 ms, so a short trial is
// judged together with its neighbors in time.
const (
	neighborhood = 0.3 // s, to either side of a trial's middle
	leastClock   = 0.9 // of the cell's median clock frequency
)

// tolerated returns the cores that programs outside the run and the hypervisor can use before a
// trial is disturbed. On more CPUs, a program meets the trial's two ends less often, so both bounds
// are shares of the machine: 15 % and 5 %. Neither falls below what ticks resolve. Both stop growing,
// because all CPUs share caches, memory and turbo frequencies, and a trial waits for each of its two
// CPUs that something else takes.
func tolerated(cpus float64) (others, steal float64) {
	return min(1, max(0.3, 0.15*cpus)), min(0.3, max(0.1, 0.05*cpus))
}

// A load is how others used the machine during a trial and its neighbors in time.
type load struct {
	others float64 // cores used by programs outside the run
	steal  float64 // cores taken by the hypervisor
	cpus   float64 // of the hosts; 0 in results of versions that did not record it
	slow   bool    // the clock frequency was low
}

// disturbed sets each trial's load, and returns how something outside the run disturbed the trial,
// "" if nothing did or the trial is not ok. trials are sorted by time; keys names their cells. The
// disturbance comes from outside and the decision ignores values, so neither counting disturbed
// trials nor leaving them out favors a network.
//
// Programs outside the run show in user mode. Their kernel time counts only where it exceeds the
// cell's median, because the kernel charges some of the traffic's softirq time to the task that it
// interrupts.
func disturbed(trials []trial, keys []string) []string {
	reasons := make([]string, len(trials))
	if len(trials) == 0 {
		return nil
	}
	type moment struct{ middle, weight, others, steal float64 }
	var moments []moment
	last := trials[len(trials)-1].Start
	middle := func(t trial) float64 { return t.Start.Sub(last).Seconds() + t.Elapsed/2 }
	system, clock := usual(trials, keys, "others.system"), usual(trials, keys, "cpu.frequency")
	for i, t := range trials {
		if user, ok := t.Get("others.user"); ok {
			kernel, _ := t.Get("others.system")
			steal, _ := t.Get("cpu.steal")
			moments = append(moments, moment{middle(t), t.Elapsed, user.Value + max(0, kernel.Value-system[keys[i]]), steal.Value})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.middle, b.middle) })
	sums := make([]moment, len(moments)+1) // prefix sums: a neighborhood is a difference
	for i, l := range moments {
		s := sums[i]
		sums[i+1] = moment{0, s.weight + l.weight, s.others + l.others*l.weight, s.steal + l.steal*l.weight}
	}
	for i, t := range trials {
		if t.status != record.OK {
			continue
		}
		own := middle(t)
		from := sums[sort.Search(len(moments), func(j int) bool { return moments[j].middle >= own-neighborhood })]
		to := sums[sort.Search(len(moments), func(j int) bool { return moments[j].middle > own+neighborhood })]
		l := &trials[i].load
		if weight := to.weight - from.weight; weight > 0 {
			l.others, l.steal = (to.others-from.others)/weight, (to.steal-from.steal)/weight
		}
		if cpus, ok := t.Get("cpus"); ok {
			l.cpus = cpus.Value
		}
		frequency, ok := t.Get("cpu.frequency")
		l.slow = ok && frequency.Value < leastClock*clock[keys[i]]
		mostOthers, mostSteal := tolerated(l.cpus)
		switch {
		case l.others > mostOthers:
			reasons[i] = fmt.Sprintf("programs outside the run used more than %.2g of a core", mostOthers)
		case l.steal > mostSteal:
			reasons[i] = fmt.Sprintf("the hypervisor took more than %.2g of a core", mostSteal)
		case l.slow:
			reasons[i] = fmt.Sprintf("the CPUs ran at less than %g of their usual clock frequency", leastClock)
		}
	}
	return reasons
}

func usual(trials []trial, keys []string, name string) map[string]float64 {
	all, out := map[string][]float64{}, map[string]float64{}
	for i, t := range trials {
		if v, ok := t.Get(name); ok {
			all[keys[i]] = append(all[keys[i]], v.Value)
		}
	}
	for k, v := range all {
		out[k] = median(v)
	}
	return out
}
