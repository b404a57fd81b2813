package analysis

import (
	"fmt"
	"time"

	"github.com/weir-bench/weir/record"
)

// What disturbs a trial, in cores and as a share. The kernel accounts in ticks of
// 4 to 10 ms, so a short trial is judged together with its neighbours in time.
const (
	neighbourhood = 300 * time.Millisecond // to either side of a trial's middle
	mostOthers    = 0.3                    // cores that programs outside the run may use
	mostSteal     = 0.1                    // cores that the hypervisor may take
	leastClock    = 0.9                    // of the cell's median clock frequency
)

// disturbed returns for each trial why something outside the run disturbed it, "" for
// those that nothing did and for those that are not ok. Disturbed trials are shown and
// not aggregated. Disturbance comes from outside, so leaving these trials out favours
// no network. The trials are sorted by time; keys names the cell of each.
//
// Programs outside the run show in user mode. Their time in the kernel counts only
// where it exceeds the cell's median, because the kernel charges some of the traffic's
// own softirq time to whatever it interrupts.
func disturbed(trials []trial, keys []string) []string {
	// Everything that is looked at, read once: a trial is looked at by its neighbours, too.
	type load struct {
		trial               int
		middle              time.Time
		weight              float64
		others, steal, syst float64
	}
	loads := make([]load, 0, len(trials))
	system, clock := map[string][]float64{}, map[string][]float64{}
	frequency := make([]float64, len(trials))
	at := make([]int, len(trials)) // in loads: the trial's own, or the first one after it
	for i, t := range trials {
		sys, hasSystem := t.Get("others.system")
		if hasSystem {
			system[keys[i]] = append(system[keys[i]], sys.Value)
		}
		if f, ok := t.Get("cpu.frequency"); ok {
			frequency[i] = f.Value
			clock[keys[i]] = append(clock[keys[i]], f.Value)
		}
		at[i] = len(loads)
		if user, ok := t.Get("others.user"); ok {
			steal, _ := t.Get("cpu.steal")
			loads = append(loads, load{i, middle(t), t.Elapsed, user.Value, steal.Value, sys.Value})
		}
	}
	usual, usualClock := medians(system), medians(clock)
	for i := range loads {
		l := &loads[i]
		l.others += max(0, l.syst-usual[keys[l.trial]])
	}
	reasons := make([]string, len(trials))
	for i, t := range trials {
		if t.status != record.OK {
			continue
		}
		// The mean over the trial and its neighbours in time, weighted by how long each took.
		others, steal, weight := 0.0, 0.0, 0.0
		own := middle(t)
		near := func(l load) bool {
			if l.middle.Sub(own).Abs() > neighbourhood {
				return false
			}
			others += l.others * l.weight
			steal += l.steal * l.weight
			weight += l.weight
			return true
		}
		for j := at[i]; j < len(loads) && near(loads[j]); j++ {
		}
		for j := at[i] - 1; j >= 0 && near(loads[j]); j-- {
		}
		if weight > 0 {
			others, steal = others/weight, steal/weight
		} else {
			others, steal = 0, 0
		}
		switch {
		case others > mostOthers:
			reasons[i] = fmt.Sprintf("programs outside the run used more than %g of a core", mostOthers)
		case steal > mostSteal:
			reasons[i] = fmt.Sprintf("the hypervisor took more than %g of a core", mostSteal)
		case frequency[i] > 0 && frequency[i] < leastClock*usualClock[keys[i]]:
			reasons[i] = fmt.Sprintf("the CPUs ran at less than %g of their usual clock frequency", leastClock)
		}
	}
	return reasons
}

func middle(t trial) time.Time {
	return t.Start.Add(time.Duration(t.Elapsed / 2 * float64(time.Second)))
}

func medians(of map[string][]float64) map[string]float64 {
	out := map[string]float64{}
	for k, v := range of {
		out[k] = median(v)
	}
	return out
}

// mostDisturbed is the share of the blocks of a comparison, or of the pairs of hosts
// in all blocks, that may be disturbed: the rest of more is no fair sample of the time
// that was measured.
const mostDisturbed = 1.0 / 3

// Refused says why a comparison of these samples gets no verdict, "" when it gets one.
func Refused(samples ...*Sample) string {
	dirty, all := map[place]bool{}, map[place]bool{}
	noun := "blocks"
	for _, s := range samples {
		if s == nil {
			continue
		}
		for _, t := range s.trials {
			p := t.place()
			if p.pair != "" {
				noun = "pairs of hosts in all blocks"
			}
			if t.status == record.OK || t.status == record.Disturbed {
				all[p] = true
			}
			if t.status == record.Disturbed {
				dirty[p] = true
			}
		}
	}
	if len(dirty) == 0 || float64(len(dirty)) <= mostDisturbed*float64(len(all)) {
		return ""
	}
	return fmt.Sprintf("no verdict: %d of %d %s were disturbed", len(dirty), len(all), noun)
}
