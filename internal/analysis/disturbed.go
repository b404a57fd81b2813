package analysis

import (
	"fmt"
	"slices"
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

// Disturbed returns results, sorted by time, in which the ok trials that something
// outside the run disturbed have the status Disturbed and a reason: they are shown,
// and not aggregated. What disturbs comes from outside, so leaving these trials out
// favours no network.
//
// Programs of others are seen by their time in user mode; by their time in the
// kernel only where it exceeds the cell's median, for the kernel charges some of
// the traffic's own softirq time to whatever it interrupts.
func Disturbed(results []record.Result) []record.Result {
	out := slices.Clone(results)
	slices.SortStableFunc(out, func(a, b record.Result) int { return a.Start.Compare(b.Start) })
	usual := func(name string) map[string]float64 {
		all, of := map[string][]float64{}, map[string]float64{}
		for _, r := range out {
			if v, ok := r.Get(name); ok {
				all[key(r.Config)] = append(all[key(r.Config)], v.Value)
			}
		}
		for k, v := range all {
			of[k] = median(v)
		}
		return of
	}
	system, clock := usual("others.system"), usual("cpu.frequency")

	reasons := make([]string, len(out))
	for i, r := range out {
		others, steal := around(out, i, func(r record.Result) float64 {
			user, _ := r.Get("others.user")
			sys, _ := r.Get("others.system")
			return user.Value + max(0, sys.Value-system[key(r.Config)])
		}), around(out, i, func(r record.Result) float64 {
			v, _ := r.Get("cpu.steal")
			return v.Value
		})
		f, ok := r.Get("cpu.frequency")
		switch {
		case r.Status != record.OK:
		case others > mostOthers:
			reasons[i] = fmt.Sprintf("programs outside the run used more than %g of a core", mostOthers)
		case steal > mostSteal:
			reasons[i] = fmt.Sprintf("the hypervisor took more than %g of a core", mostSteal)
		case ok && f.Value < leastClock*clock[key(r.Config)]:
			reasons[i] = fmt.Sprintf("the CPUs ran at less than %g of their usual clock frequency", leastClock)
		}
	}
	for i, reason := range reasons {
		if reason != "" {
			out[i].Status, out[i].Reason = record.Disturbed, reason
		}
	}
	return out
}

// around returns the mean over trial i and its neighbours in time, weighted by
// how long each took. results are sorted by time.
func around(results []record.Result, i int, of func(record.Result) float64) float64 {
	middle := func(r record.Result) time.Time {
		return r.Start.Add(time.Duration(r.Elapsed / 2 * float64(time.Second)))
	}
	sum, weight := 0.0, 0.0
	add := func(j int) bool {
		d := middle(results[j]).Sub(middle(results[i])).Abs()
		if d > neighbourhood {
			return false
		}
		if _, ok := results[j].Get("others.user"); ok {
			sum += of(results[j]) * results[j].Elapsed
			weight += results[j].Elapsed
		}
		return true
	}
	for j := i; j < len(results) && add(j); j++ {
	}
	for j := i - 1; j >= 0 && add(j); j-- {
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

// mostDisturbed is the share of the blocks of a comparison, or of the pairs of hosts
// in all blocks, that may be disturbed: what is left then is no longer a fair sample of the time that was measured.
const mostDisturbed = 1.0 / 3

// Refused says why a comparison of these cells gets no verdict, "" when it gets one.
func Refused(cells ...[]record.Result) string {
	type place struct {
		block int
		pair  string
	}
	dirty, all := map[place]bool{}, map[place]bool{}
	noun := "blocks"
	for _, trials := range cells {
		for _, t := range trials {
			at := place{t.Block, t.Config[pair]}
			if at.pair != "" {
				noun = "pairs of hosts in all blocks"
			}
			if t.Status == record.OK || t.Status == record.Disturbed {
				all[at] = true
			}
			if t.Status == record.Disturbed {
				dirty[at] = true
			}
		}
	}
	if len(dirty) == 0 || float64(len(dirty)) <= mostDisturbed*float64(len(all)) {
		return ""
	}
	return fmt.Sprintf("no verdict: %d of %d %s were disturbed", len(dirty), len(all), noun)
}
