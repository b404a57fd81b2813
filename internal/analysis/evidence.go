package analysis

import (
	"cmp"
	"math"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// Observed is one trial with what it observed of its path.
type Observed struct {
	*record.Result
	Evidence *evidence.Trial
	Settings *evidence.Settings // that held; nil if unknown
}

// Evidence returns the row's trials that count and have evidence, by block and then by name. Imported and older
// runs have none.
func (r Row) Evidence() []Observed {
	if r.counted == nil {
		return nil
	}
	return r.counted.observed
}

// WithoutValue returns the evidence of the row's trials that failed or are invalid, by block and then by name: what
// their paths were like.
func (r Row) WithoutValue() []Observed {
	if r.sample == nil {
		return nil
	}
	return r.sample.failed
}

// BaseEvidence returns the evidence of the baseline's trials that count, in the blocks that it shares with the
// row; none for the baseline itself.
func (r Row) BaseEvidence() (out []Observed) {
	if r.base == nil {
		return nil
	}
	own := map[int]bool{}
	for _, o := range r.Evidence() {
		own[o.Block] = true
	}
	base := r.base
	if r.Busy != nil {
		base = base.whole()
	}
	for _, o := range base.observed {
		if own[o.Block] {
			out = append(out, o)
		}
	}
	return out
}

// OwnAlone returns the ratio of the row's own CPU cost to the baseline's like OwnCost, with an interval that
// holds by itself: for a question that is about this row alone.
func (r Row) OwnAlone() stat.Interval {
	if len(r.owns.blocks) == 0 {
		return stat.Interval{}
	}
	return stat.Ratio(r.owns.base, r.owns.own, single)
}

// observe adds the evidence of the trials that count to their samples.
func (r *Run) observe(all map[string]*evidence.Trial, settings map[string]*evidence.Settings) {
	for _, one := range r.samples {
		for _, s := range one.variants() {
			for _, t := range s.ok {
				if e := all[t.Trial]; e != nil {
					s.observed = append(s.observed, Observed{t, e, cmp.Or(settings[t.Trial], settings[e.Settings])})
				}
			}
			for _, t := range s.trials {
				if e := all[t.Trial]; e != nil && (t.status == record.Failed || t.status == record.Invalid) {
					s.failed = append(s.failed, Observed{t.Result, e, cmp.Or(settings[t.Trial], settings[e.Settings])})
				}
			}
		}
	}
}

// allAbove is how many blocks, all of them above a threshold, show by their number alone that the median is: by chance, one run
// in 32 has them. A few blocks far above the others make an interval of sums reach below all of them.
const allAbove = 6

// LeastBlocks is the fewest blocks with evidence for a conclusion: in two, a chance event can be the majority.
const LeastBlocks = 3

// Exceeds returns part ÷ whole, both summed over all blocks, with an interval over blocks, and whether it is
// reliably above a threshold: more than half of at least LeastBlocks blocks are above it, and the interval
// excludes 0. A block whose whole is 0 says nothing. Sums suit blocks in which little happened: a median of
// shares would count them like the others. part must not be below 0, so the interval is not, either. Where it reaches below the
// threshold although all blocks, at least allAbove, are above, it begins at the smallest of them.
func Exceeds(all []Observed, threshold float64, of func(Observed) (part, whole float64)) (stat.Interval, bool) {
	var parts, wholes []float64
	above, least := 0, math.Inf(1)
	for i, j := 0, 0; i < len(all); i = j {
		part, whole := 0.0, 0.0
		for ; j < len(all) && all[j].Block == all[i].Block; j++ {
			p, w := of(all[j])
			part, whole = part+p, whole+w
		}
		if whole <= 0 {
			continue
		}
		parts, wholes = append(parts, part), append(wholes, whole)
		least = min(least, part/whole)
		if part/whole > threshold {
			above++
		}
	}
	v := stat.Sums(parts, wholes, single)
	v.Lo = max(v.Lo, 0)
	if v.Bounded() && v.Lo < threshold && above == len(parts) && above >= allAbove {
		v.Lo = least
	}
	return v, len(parts) >= LeastBlocks && 2*above > len(parts) && (!v.Bounded() || v.Lo > 0)
}

// ShareExceeds is Exceeds for a part of the whole, such as of the time: neither the share nor its interval is
// above 1, although clocks at the edges of a window can count a little more than the window.
func ShareExceeds(all []Observed, threshold float64, of func(Observed) (part, whole float64)) (stat.Interval, bool) {
	v, ok := Exceeds(all, threshold, func(o Observed) (part, whole float64) {
		part, whole = of(o)
		return min(part, whole), whole
	})
	v.Hi = min(v.Hi, 1)
	return v, ok
}

// Mostly reports whether something holds in more than half of the blocks, of at least LeastBlocks, and returns
// the share of trials in which it does.
func Mostly(all []Observed, holds func(Observed) bool) (stat.Interval, bool) {
	return ShareExceeds(all, 0.5, func(o Observed) (part, whole float64) {
		if holds(o) {
			part = 1
		}
		return part, 1
	})
}

// RatioOf returns the ratio of another value of the row to the baseline's in the same block, with an interval that holds
// by itself; N is 0 without one.
func (r Row) RatioOf(name record.Quantity) stat.Interval {
	if r.base == nil || r.counted == nil {
		return stat.Interval{}
	}
	base := r.base
	if r.Busy != nil {
		base = base.whole()
	}
	_, v := Common(base.Values(name), r.counted.Values(name))
	return stat.Ratio(v[0], v[1], single)
}
