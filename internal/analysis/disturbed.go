package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/weir-bench/weir/internal/stat"
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

// A load is how others used the machine during a trial and its neighbors in time. Of several machines,
// it is the one that they disturbed most.
type load struct {
	machine string // its name; "" where the machine is the run's, or all machines in older results

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
// interrupts. Each machine is judged by itself: a program on one does not disturb the trials of others.
func disturbed(trials []trial, keys []string) []string {
	reasons := make([]string, len(trials))
	if len(trials) == 0 {
		return nil
	}
	type moment struct{ middle, weight, others, steal float64 }
	moments := map[string][]moment{} // by machine
	last := trials[len(trials)-1].Start
	middle := func(t trial) float64 { return t.Start.Sub(last).Seconds() + t.Elapsed/2 }
	machines := make([][]string, len(trials))
	for i, t := range trials {
		machines[i] = machinesOf(t.Result)
	}
	system, clock := usual(trials, keys, machines, record.OthersSystem), usual(trials, keys, machines, record.CPUFrequency)
	for i, t := range trials {
		for _, m := range machines[i] {
			if user, ok := t.Value(record.OthersUser.On(m)); ok {
				kernel, _ := t.Value(record.OthersSystem.On(m))
				steal, _ := t.Value(record.CPUSteal.On(m))
				moments[m] = append(moments[m], moment{middle(t), t.Elapsed, user.Value + max(0, kernel.Value-system[[2]string{keys[i], m}]), steal.Value})
			}
		}
	}
	sums := map[string][]moment{} // prefix sums: a neighborhood is a difference
	for m, all := range moments {
		slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.middle, b.middle) })
		sum := make([]moment, len(all)+1)
		for i, l := range all {
			s := sum[i]
			sum[i+1] = moment{0, s.weight + l.weight, s.others + l.others*l.weight, s.steal + l.steal*l.weight}
		}
		sums[m] = sum
	}
	for i, t := range trials {
		if t.status != record.OK {
			continue
		}
		own, worst := middle(t), -1.0
		for _, m := range machines[i] {
			l := load{machine: m}
			if all := moments[m]; all != nil {
				from := sums[m][sort.Search(len(all), func(j int) bool { return all[j].middle >= own-neighborhood })]
				to := sums[m][sort.Search(len(all), func(j int) bool { return all[j].middle > own+neighborhood })]
				if weight := to.weight - from.weight; weight > 0 {
					l.others, l.steal = (to.others-from.others)/weight, (to.steal-from.steal)/weight
				}
			}
			if cpus, ok := t.Value(record.CPUs.On(m)); ok {
				l.cpus = cpus.Value
			}
			frequency, ok := t.Value(record.CPUFrequency.On(m))
			l.slow = ok && frequency.Value < leastClock*clock[[2]string{keys[i], m}]
			if excess, reason := l.judge(); excess > worst {
				worst, trials[i].load, reasons[i] = excess, l, reason
			}
		}
	}
	return reasons
}

// judge returns how near to a bound a load is, more than 1 if the trial was disturbed, and then why.
func (l load) judge() (excess float64, reason string) {
	on := ""
	if l.machine != "" {
		on = " on " + l.machine
	}
	mostOthers, mostSteal := tolerated(l.cpus)
	excess = max(0, l.others/mostOthers, l.steal/mostSteal)
	switch {
	case l.others > mostOthers:
		reason = fmt.Sprintf("programs outside the run used more than %.2g of a core%s", mostOthers, on)
	case l.steal > mostSteal:
		reason = fmt.Sprintf("the hypervisor took more than %.2g of a core%s", mostSteal, on)
	case l.slow:
		excess, reason = 1, fmt.Sprintf("the CPUs%s ran at less than %g of their usual clock frequency", on, leastClock)
	}
	return excess, reason
}

// machinesOf returns the machines of a trial that others can use, too, by name, or one "" for all machines
// together.
func machinesOf(r *record.Result) (all []string) {
	for _, v := range r.Values {
		if k := v.Key(); v.Name == record.CPUs && k.Host != "" {
			all = append(all, k.Host)
		}
	}
	if all == nil {
		return []string{""}
	}
	return all
}

// usual returns the median of a value by cell and machine.
func usual(trials []trial, keys []string, machines [][]string, q record.Quantity) map[[2]string]float64 {
	all, out := map[[2]string][]float64{}, map[[2]string]float64{}
	for i, t := range trials {
		for _, m := range machines[i] {
			if v, ok := t.Value(q.On(m)); ok {
				k := [2]string{keys[i], m}
				all[k] = append(all[k], v.Value)
			}
		}
	}
	for k, v := range all {
		out[k] = stat.Middle(v)
	}
	return out
}
