package analysis

import (
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

// Cores says that the CPUs of the machine were at two distances in the run, and how many trials saw which. A hypervisor
// can move the CPUs of a virtual machine: two that share a cache now need not share one a second later. Then both
// ends of a trial work as before, but all that passes from one to the other takes longer.
//
// Each trial measures before and after its traffic how long a cache line takes from one CPU to the other and back. Traffic
// can move the CPUs, so only the reading before it says which trials of a block compare (see Steady): a choice by the
// reading after it would depend on the network.
type Cores struct {
	Near        float64 `json:"near"`  // s, median of the readings below the gap between the distances
	Far         float64 `json:"far"`   // s, of those above
	NearTrials  int     `json:"close"` // trials near each other before and after
	FarTrials   int     `json:"apart"` // trials far from each other before and after
	MovedTrials int     `json:"moved"` // trials with one of each

	bound float64 // s, between near and far
}

const (
	// leastGap is the least ratio of two neighboring readings between which there is a gap: all readings of one
	// distance are within 1.6 of each other, and the two distances differ by 4 to 5 (ADR 60).
	leastGap = 1.5
	// leastSide is the least share of readings on either side of the gap: a program on one of the CPUs delays some readings.
	leastSide = 0.05
)

// A coreDistance is what a trial saw.
type coreDistance int8

const (
	coresAny coreDistance = iota // unknown, or the run has only one; compares with all
	coresNear
	coresFar
	coresMoved // from one to the other
)

// coresOf returns nil if all readings are of one distance. The gap between two is the widest one, as a ratio.
func coresOf(trials []trial) *Cores {
	var all []float64
	for _, t := range trials {
		before, after, ok := readings(t.Result)
		if ok {
			all = append(all, before, after)
		}
	}
	slices.Sort(all)
	least := max(1, int(math.Ceil(leastSide*float64(len(all)))))
	gap, at := leastGap, 0
	for i := least; i+least <= len(all); i++ {
		if g := all[i] / all[i-1]; g >= gap {
			gap, at = g, i
		}
	}
	if at == 0 {
		return nil
	}
	c := &Cores{Near: stat.Middle(all[:at]), Far: stat.Middle(all[at:]), bound: math.Sqrt(all[at-1] * all[at])}
	for _, t := range trials {
		switch c.saw(t.Result) {
		case coresNear:
			c.NearTrials++
		case coresFar:
			c.FarTrials++
		case coresMoved:
			c.MovedTrials++
		}
	}
	return c
}

// CoreToCore returns the median of the latencies that trials read before their traffic, s; false if none did.
func (r *Run) CoreToCore() (latency float64, ok bool) {
	var all []float64
	for t := range r.Results() {
		if before, _, ok := readings(t); ok {
			all = append(all, before)
		}
	}
	return stat.Middle(all), all != nil
}

// CoresDiffer returns the runs' core-to-core latencies if those of two differ as two distances do.
func CoresDiffer(runs []*Run) (d facts.Difference, ok bool) {
	d.Key = "core-to-core latency"
	least, most := math.Inf(1), 0.0
	for _, r := range runs {
		latency, ok := r.CoreToCore()
		text := ""
		if ok {
			text = unit.Format(latency, "s")
			least, most = min(least, latency), max(most, latency)
		}
		d.Values = append(d.Values, text)
	}
	return d, most >= leastGap*least
}

func readings(r *record.Result) (before, after float64, ok bool) {
	a, okBefore := r.Get(record.CoreToCore)
	b, okAfter := r.Get(record.CoreToCoreAfter)
	return a.Value, b.Value, okBefore && okAfter && a.Value > 0 && b.Value > 0
}

func (c *Cores) saw(r *record.Result) coreDistance {
	if c == nil {
		return coresAny
	}
	before, after, ok := readings(r)
	switch {
	case !ok:
		return coresAny
	case before < c.bound && after < c.bound:
		return coresNear
	case before > c.bound && after > c.bound:
		return coresFar
	}
	return coresMoved
}

// WereFar reports whether the CPUs were far apart in a trial; ok is false if they moved, or the run has only one distance.
func (c *Cores) WereFar(r *record.Result) (far, ok bool) {
	d := c.saw(r)
	return d == coresFar, d == coresNear || d == coresFar
}

// slotOf returns the slot of a trial with the distance before its traffic; that of nil Cores has none.
func (c *Cores) slotOf(r *record.Result) slot {
	p := slotOf(r)
	if c == nil {
		return p
	}
	if before, ok := r.Get(record.CoreToCore); ok && before.Value > 0 {
		if p.cores = coresNear; before.Value > c.bound {
			p.cores = coresFar
		}
	}
	return p
}
