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
	mostOthers   = 0.3 // cores that programs outside the run may use
	mostSteal    = 0.1 // cores that the hypervisor may take
	leastClock   = 0.9 // of the cell's median clock frequency
)

// disturbed returns for each trial how something outside the run disturbed it, "" if nothing did or
// the trial is not ok. trials are sorted by time; keys names their cells. Leaving disturbed trials
// out favors no network, because the disturbance comes from outside.
//
// Programs outside the run show in user mode. Their kernel time counts only where it exceeds the
// cell's median, because the kernel charges some of the traffic's softirq time to the task that it
// interrupts.
func disturbed(trials []trial, keys []string) []string {
	reasons := make([]string, len(trials))
	if len(trials) == 0 {
		return nil
	}
	type load struct{ middle, weight, others, steal float64 }
	var loads []load
	last := trials[len(trials)-1].Start
	middle := func(t trial) float64 { return t.Start.Sub(last).Seconds() + t.Elapsed/2 }
	system, clock := usual(trials, keys, "others.system"), usual(trials, keys, "cpu.frequency")
	for i, t := range trials {
		if user, ok := t.Get("others.user"); ok {
			kernel, _ := t.Get("others.system")
			steal, _ := t.Get("cpu.steal")
			loads = append(loads, load{middle(t), t.Elapsed, user.Value + max(0, kernel.Value-system[keys[i]]), steal.Value})
		}
	}
	slices.SortStableFunc(loads, func(a, b load) int { return cmp.Compare(a.middle, b.middle) })
	sums := make([]load, len(loads)+1) // prefix sums: a neighborhood is a difference
	for i, l := range loads {
		s := sums[i]
		sums[i+1] = load{0, s.weight + l.weight, s.others + l.others*l.weight, s.steal + l.steal*l.weight}
	}
	for i, t := range trials {
		if t.status != record.OK {
			continue
		}
		own := middle(t)
		from := sums[sort.Search(len(loads), func(j int) bool { return loads[j].middle >= own-neighborhood })]
		to := sums[sort.Search(len(loads), func(j int) bool { return loads[j].middle > own+neighborhood })]
		weight := to.weight - from.weight
		frequency, ok := t.Get("cpu.frequency")
		switch {
		case weight > 0 && (to.others-from.others)/weight > mostOthers:
			reasons[i] = fmt.Sprintf("programs outside the run used more than %g of a core", mostOthers)
		case weight > 0 && (to.steal-from.steal)/weight > mostSteal:
			reasons[i] = fmt.Sprintf("the hypervisor took more than %g of a core", mostSteal)
		case ok && frequency.Value < leastClock*clock[keys[i]]:
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

// mostDisturbed is the largest share of disturbed blocks, or of pairs in all blocks, in a
// comparison. Beyond it, the rest does not represent the time measured.
const mostDisturbed = 1.0 / 3

// Refused says why a comparison of these samples gets no verdict; "" if it gets one.
func Refused(samples ...*Sample) string {
	all, dirty := map[place]bool{}, map[place]bool{}
	noun := "blocks"
	for _, s := range samples {
		for _, t := range s.trials {
			p := placeOf(t.Result)
			if p.pair != "" {
				noun = "pairs of hosts in all blocks"
			}
			switch t.status {
			case record.Disturbed:
				all[p], dirty[p] = true, true
			case record.OK:
				all[p] = true
			}
		}
	}
	if float64(len(dirty)) <= mostDisturbed*float64(len(all)) {
		return ""
	}
	return fmt.Sprintf("no verdict: %d of %d %s were disturbed", len(dirty), len(all), noun)
}
