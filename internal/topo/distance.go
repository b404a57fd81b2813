package topo

import (
	"fmt"
	"slices"
	"time"
)

// A Distance is what packets meet on a segment between hosts, in each direction. They stay in order.
type Distance struct {
	Delay  time.Duration // of every packet; 0 to MaxDelay, in whole microseconds
	Jitter time.Duration // the delay of a packet is uniform in Delay ± Jitter; 0 to Delay
	Loss   float64       // share of packets that are lost, at random; 0 or more, below 1
}

// Check returns an error if d is out of bounds.
func (d Distance) Check() error {
	switch {
	case d.Delay < 0 || d.Delay > MaxDelay || d.Delay%time.Microsecond != 0:
		return fmt.Errorf("invalid delay %v: want whole microseconds from 0s to %v", d.Delay, MaxDelay)
	case d.Jitter < 0 || d.Jitter > d.Delay || d.Jitter%time.Microsecond != 0:
		return fmt.Errorf("invalid jitter %v with a delay of %v: want whole microseconds, at most the delay", d.Jitter, d.Delay)
	case !(d.Loss >= 0 && d.Loss < 1):
		return fmt.Errorf("invalid loss %g %%: want 0 %% or more, and less than 100 %%", 100*d.Loss)
	}
	return nil
}

// LeastRTT is the shortest time of a packet and its answer.
func (d Distance) LeastRTT() time.Duration { return 2 * (d.Delay - d.Jitter) }

// Segment returns the distance of segment n.
func (t Topology) Segment(n int) Distance {
	d := t.Distance
	if n < len(t.Delays) {
		d.Delay += t.Delays[n]
	}
	return d
}

// Between returns what packets meet between two hosts: on a line, the sum of the segments in between.
func (t Topology) Between(a, b string) (sum Distance) {
	index := func(name string) int { return slices.IndexFunc(t.Hosts, func(h Host) bool { return h.Name == name }) }
	from, to := min(index(a), index(b)), max(index(a), index(b))
	if from == to {
		return Distance{}
	}
	if t.Shape != Line {
		return t.Distance
	}
	passed := 1.0
	for n := from; n < to; n++ {
		s := t.Segment(n)
		sum.Delay, sum.Jitter, passed = sum.Delay+s.Delay, sum.Jitter+s.Jitter, passed*(1-s.Loss)
	}
	sum.Loss = 1 - passed
	return sum
}
