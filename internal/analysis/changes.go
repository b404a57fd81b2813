package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/stat"
)

// A Told is a change that the kernel reported in the trials of a Downtime.
type Told struct {
	// As in evidence.Change.
	In    string `json:"in"`
	What  string `json:"what"`
	Dev   string `json:"dev,omitempty"`
	To    string `json:"to,omitempty"`
	State string `json:"state"`

	Trials int     `json:"trials"` // in which the kernel reported it; the first report in each counts
	At     float64 `json:"at"`     // s, median since the event began
	// Resumed is the median of the time from it until traffic flowed again, s, and Meets the number of trials in which the
	// two are so close that one can be the other's reason. The kernel reports a change a moment after it happened, so
	// Resumed can be negative.
	Resumed float64 `json:"resumed"`
	Meets   int     `json:"meets,omitempty"`
}

const (
	// A change can be the reason if its report came at most early before traffic flowed again, or at most late after
	// that, ns: the traffic and the report both take a wake-up, on a busy machine several.
	early, late = 5e6, 2e6
	// leastShare is the share of trials in which the kernel must report a change for it to be one
	// of the event's.
	leastShare = 0.5
	// leastStops is the fewest trials in which traffic must have stopped for a change to be the
	// reason why it flowed again.
	leastStops = 3
	// mostTold bounds the list: a routing daemon can change hundreds of routes.
	mostTold = 20
)

// told returns the changes that the kernel reported in at least half of the trials, in order of time.
func told(all []Observed) (out []Told) {
	type times struct{ at, resumed []float64 }
	seen := map[Told]*times{}
	for _, o := range all {
		e := o.Evidence.Event
		if e == nil || e.Begin == 0 {
			continue
		}
		end := resumed(e)
		first, met := map[Told]bool{}, map[Told]bool{}
		for _, c := range e.Changes {
			k := Told{In: c.In, What: c.What, Dev: c.Dev, To: c.To, State: c.State}
			if seen[k] == nil {
				seen[k] = &times{}
			}
			if !first[k] {
				first[k] = true
				seen[k].at = append(seen[k].at, seconds(c.At-e.Begin))
			}
			if before := float64(end - c.At); !met[k] && end > 0 && -late <= before && before <= early {
				met[k] = true
				seen[k].resumed = append(seen[k].resumed, before/1e9)
			}
		}
	}
	for k, t := range seen {
		if k.Trials = len(t.at); float64(k.Trials) < math.Max(1, leastShare*float64(len(all))) {
			continue
		}
		k.At, k.Resumed, k.Meets = stat.Middle(t.at), stat.Middle(t.resumed), len(t.resumed)
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Told) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.In, b.In), cmp.Compare(a.Dev+a.To, b.Dev+b.To), cmp.Compare(a.What+a.State, b.What+b.State))
	})
	return out[:min(len(out), mostTold)]
}

// resumed returns when traffic flowed again after the longest outage since the event; 0 if it did not stop, or did not flow
// again.
func resumed(e *evidence.Event) int64 {
	var longest evidence.Gap
	for _, g := range e.Gaps {
		if g.Way == evidence.RoundTrip && g.End > e.Begin && g.End-g.Begin > longest.End-longest.Begin {
			longest = g
		}
	}
	if longest.Open {
		return 0
	}
	return longest.End
}

// Reasons returns the changes that the kernel reported when traffic flowed again after the event was undone, in nearly all
// trials in which it stopped: the change closest to that moment, and those of the same kind reported with it, as when both ends
// learn each other's address. There is none if traffic flowed as soon as the event was undone.
func (d Downtime) Reasons() (out []Told) {
	if d.Stopped < max(d.Of, leastStops) || d.Open > 0 || d.After.Center < seconds(early) {
		return nil
	}
	var best Told
	for _, t := range d.Told {
		if float64(t.Meets) < 0.8*float64(d.Stopped) {
			continue
		}
		out = append(out, t)
		if len(out) == 1 || math.Abs(t.Resumed) < math.Abs(best.Resumed) {
			best = t
		}
	}
	return slices.DeleteFunc(out, func(t Told) bool {
		return t.What != best.What || t.State != best.State || math.Abs(t.Resumed-best.Resumed) > late/1e9
	})
}
