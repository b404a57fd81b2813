package analysis

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Disturbance says how others used the machine during a comparison in which disturbed trials count.
type Disturbance struct {
	Blocks int     `json:"blocks"`          // disturbed
	Of     int     `json:"of"`              // blocks
	Pairs  bool    `json:"pairs,omitempty"` // both numbers are pairs of hosts in all blocks
	Others float64 `json:"others"`          // cores that programs outside the run used, the mean over the trials
	Steal  float64 `json:"steal,omitempty"` // cores that the hypervisor took, likewise
	Slow   int     `json:"slow,omitempty"`  // trials with a low clock frequency
	CPUs   float64 `json:"cpus,omitempty"`  // of the hosts; 0 means unknown
	// Machines are the disturbed ones where the run used several; CPUs is then the most of one.
	Machines []string `json:"machines,omitempty"`
}

// mostDisturbed is the largest share of disturbed blocks, or of pairs in all blocks, that a
// comparison leaves out, and of those in which the CPUs moved. Beyond it, the rest does not represent the time measured.
const mostDisturbed = 1.0 / 3

// Steady returns the trials of a comparison that count. It leaves disturbed trials out if at least two
// thirds of the blocks remain and they suffice for an interval at the confidence (or even all blocks
// would not). Otherwise all count, in every sample alike, and the Disturbance says so. It leaves out
// the trials that other samples' trials of the block do not match in the distance of the CPUs before the traffic, if as many
// blocks remain and suffice for an interval. The choice does not depend on values.
func Steady(confidence float64, samples ...*Sample) ([]*Sample, *Disturbance) {
	all, disturbed := make([]*Sample, len(samples)), false
	for i, s := range samples {
		if all[i] = s; s.all != nil {
			all[i], disturbed = s.all, true
		}
	}
	if !disturbed {
		return sameDistance(confidence, samples), nil
	}
	d := disturbance(samples)
	if enough(confidence, d.Blocks, d.Of, shared(samples), shared(all)) {
		return sameDistance(confidence, samples), nil
	}
	return sameDistance(confidence, all), &d
}

// sameDistance returns the samples so that Common pairs trials at the same distance of the CPUs, if enough blocks remain.
func sameDistance(confidence float64, samples []*Sample) []*Sample {
	byDistance := make([]*Sample, len(samples))
	for i, s := range samples {
		if byDistance[i] = s.byDistance; s.byDistance == nil {
			return samples
		}
	}
	remain, all := shared(byDistance), shared(samples)
	if remain >= stat.MinPairs(confidence) && enough(confidence, all-remain, all, remain, all) {
		return byDistance
	}
	return samples
}

// enough reports whether a comparison can leave lost of its slots out: the rest represents the time measured, and its
// remaining blocks suffice for an interval, or even all would not.
func enough(confidence float64, lost, of, remain, all int) bool {
	least := stat.MinPairs(confidence)
	return float64(lost) <= mostDisturbed*float64(of) && (remain >= least || all < least)
}

// shared counts the blocks in which all samples have a trial that counts.
func shared(samples []*Sample) int {
	var all []Series
	for _, s := range samples {
		all = append(all, Series{s.slots, make([]float64, len(s.slots))})
	}
	blocks, _ := Common(all...)
	return len(blocks)
}

func disturbance(samples []*Sample) (d Disturbance) {
	all, dirty := map[slot]bool{}, map[slot]bool{}
	trials := 0.0
	for _, s := range samples {
		for _, t := range s.trials {
			if t.status != record.OK && t.status != record.Disturbed {
				continue
			}
			p := slotOf(t.Result)
			d.Pairs = d.Pairs || p.pair != ""
			all[p] = true
			if t.status == record.Disturbed {
				dirty[p] = true
				if m := t.load.machine; m != "" && !slices.Contains(d.Machines, m) {
					d.Machines = append(d.Machines, m)
				}
			}
			if t.load.slow {
				d.Slow++
			}
			trials++
			d.Others += (t.load.others - d.Others) / trials
			d.Steal += (t.load.steal - d.Steal) / trials
			d.CPUs = max(d.CPUs, t.load.cpus)
		}
	}
	slices.Sort(d.Machines)
	d.Blocks, d.Of, d.Others, d.Steal = len(dirty), len(all), max(0, d.Others), max(0, d.Steal)
	return d
}

// paired is stat.Ratio with the interval widened.
func (d *Disturbance) paired(base, other []float64, confidence float64) stat.Interval {
	return d.Widen(stat.Ratio(base, other, confidence))
}

// means returns the ratio of the means of pairs if some of them are 0, as in a stall.
func (d *Disturbance) means(p pairs) stat.Interval {
	if !slices.Contains(p.own, 0) && !slices.Contains(p.base, 0) {
		return stat.Interval{}
	}
	i := d.Widen(stat.Sums(p.own, p.base, single))
	i.Lo = max(0, i.Lo)
	return i
}

// shift is the largest relative change of a ratio when others use the whole machine. A load on a
// CPU changes a ratio, not only its noise, and more blocks do not help: others that used a quarter
// of the machine moved VXLAN's packet rate by 3.6 % (ADR 18), for which this gives 3.75 %.
const shift = 0.15

// Widen adds to a ratio's interval the part of a disturbance that does not average out over blocks. A
// nil Disturbance adds nothing.
func (d *Disturbance) Widen(i stat.Interval) stat.Interval {
	if d == nil || !i.Bounded() {
		return i
	}
	by := d.factor()
	open := i.Open()
	if i.Lo, i.Hi = i.Lo/by, i.Hi*by; open {
		i.Hi = math.MaxFloat64
	}
	if i.SE > 0 {
		i.SE = math.Hypot(i.SE, math.Log(by)/2) // takes the bound as two standard errors
	}
	return i
}

// widenDifference is Widen for the interval of a difference of values up to size.
func (d *Disturbance) widenDifference(i stat.Interval, size float64) stat.Interval {
	if d == nil || !i.Bounded() {
		return i
	}
	by := (d.factor() - 1) * size
	i.Lo, i.Hi = i.Lo-by, min(i.Hi+by, math.MaxFloat64)
	if i.SE > 0 {
		i.SE = math.Hypot(i.SE, by/2)
	}
	return i
}

// factor is how much a ratio can be off.
func (d *Disturbance) factor() float64 {
	cpus := d.CPUs
	if cpus == 0 {
		cpus = 2 // the fewest on which two ends do not share one
	}
	return 1 + shift*min(1, (d.Others+d.Steal)/cpus)
}
