package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

const (
	// Event is the factor whose levels happen within trials, and NoEvent the level at which nothing does.
	Event   = "event"
	NoEvent = "none"
)

// leastOutage is the shortest outage that a probe can see, s.
const leastOutage = 1e-3

// LeastP99 is the fewest trials whose 99th percentile is not the worst of them.
const LeastP99 = 100

// A Downtime is how long traffic stopped in the trials of one cell of a probe that sees outages. Its intervals hold together
// with those of the run's other Downtimes. Times are s.
type Downtime struct {
	Cell         // Levels without the event
	Event string `json:"event"` // NoEvent: nothing happened
	Of    int    `json:"of"`    // trials that count
	// Limit is the longest gap between arrivals that is not an outage: 1 ms, or three intervals of a slow probe.
	Limit float64 `json:"limit"`
	// Stopped counts the trials in which traffic stopped for longer than that, and Open those in which it did not
	// flow again before the window ended: the outages of the latter are at least as long as what was seen of them.
	Stopped int `json:"stopped"`
	Open    int `json:"open,omitempty"`
	// Outage is the median of the longest outage of each trial, 0 in those without one, and Worst the longest of all.
	// AtLeast: so many are open that the median is at least Outage.
	Outage  stat.Interval `json:"outage"`
	AtLeast bool          `json:"atLeast,omitempty"`
	Worst   float64       `json:"worst"`
	// P99 is the 99th percentile of the trials by nearest rank; 0 in fewer than LeastP99, where it would be the worst.
	P99 float64 `json:"p99,omitempty"`
	// More is the median of Outage − the baseline's in the same block; N is 0 for the baseline, and where an outage of either
	// is open: the difference from an outage of unknown length has no bound.
	More stat.Interval `json:"more,omitzero"`
	// Lasted is the median of how long the event lasted, from its start until it was undone. ToEnd: it was undone after the
	// window had ended.
	Lasted float64 `json:"lasted,omitempty"`
	ToEnd  bool    `json:"toEnd,omitempty"`
	// Delay is the median of the time from the event to the outage, and After that from the moment that the event was
	// undone until traffic flowed again, in the trials where it stopped and flowed again.
	Delay stat.Interval `json:"delay,omitzero"`
	After stat.Interval `json:"after,omitzero"`
	// Noticed and UndoNoticed are the medians of the time from the event, and from the moment that it was undone, until a kernel
	// reported a change of routes or rules, in the trials in which one did.
	Noticed     stat.Interval `json:"noticed,omitzero"`
	UndoNoticed stat.Interval `json:"undoNoticed,omitzero"`
	// Passed and PassedFor are the medians of how many requests were answered, and for how long, although the event should have stopped
	// them; N is 0 for other events. PassedMost is the most of a trial.
	Passed     stat.Interval `json:"passed,omitzero"`
	PassedFor  stat.Interval `json:"passedFor,omitzero"`
	PassedMost float64       `json:"passedMost,omitempty"`
	// Lost is the median of requests lost in a trial.
	Lost float64 `json:"lost,omitempty"`
	// Told is what the kernel reported while the event happened, in order of time.
	Told []Told `json:"told,omitempty"`
	// Lines are what arrived at the client over time in each trial.
	Lines []Arrivals `json:"-"`
	Busy  bool       `json:"busy,omitempty"` // disturbed trials count
	Each  float64    `json:"-"`              // confidence of each interval
}

// Arrivals are what arrived over the time of one trial.
type Arrivals struct {
	Trial string
	Zero  float64   // s from the start of the window to the event; 0 without an event
	Bin   float64   // s
	Rate  []float64 // 1/s in each bin since the start of the window
}

// Downtimes returns a Downtime for each cell of the probes that see outages: by probe, levels, event (none last) and network.
func (r *Run) Downtimes() (out []Downtime) {
	type cell struct {
		d    Downtime
		t    *Table
		row  *Row
		base *Row
	}
	var cells []cell
	n := 0
	for i := range r.Tables {
		t := &r.Tables[i]
		if t.Metric != record.Outage {
			continue
		}
		var base *Row
		for j := range t.Rows {
			row := &t.Rows[j]
			d := Downtime{Cell: t.Cell(*row), Event: cmp.Or(t.Config[Event], NoEvent)}
			d.Levels = maps.Clone(d.Levels)
			delete(d.Levels, Event)
			if row.Network == r.Baseline {
				base = row
			}
			if row.Counted() == 0 {
				continue
			}
			if n++; base != nil && row != base {
				n++
			}
			cells = append(cells, cell{d, t, row, base})
		}
	}
	each := stat.Adjust(r.Confidence, max(1, n))
	for _, c := range cells {
		c.d.fill(c.row, c.base, each)
		out = append(out, c.d)
	}
	slices.SortStableFunc(out, func(a, b Downtime) int {
		return cmp.Or(cmp.Compare(slices.Index(r.probes, a.Probe), slices.Index(r.probes, b.Probe)), compareLevels(a.Levels, b.Levels),
			cmp.Compare(btoi(a.Event == NoEvent), btoi(b.Event == NoEvent)), Natural(a.Event, b.Event))
	})
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *Downtime) fill(row, base *Row, each float64) {
	s := row.counted
	d.Of, d.Busy, d.Each = len(s.ok), row.Busy != nil, each
	outages, open := s.Values(record.Outage), s.open()
	d.Open = len(open)
	d.Outage, d.AtLeast = s.outage(outages, open, each)
	var all []float64
	for _, t := range s.ok {
		v, _ := t.Get(record.Outage)
		all = append(all, v.Value)
		if v.Value > 0 {
			d.Stopped++
		}
	}
	slices.Sort(all)
	d.Worst = all[len(all)-1]
	if len(all) >= LeastP99 {
		d.P99 = all[(99*len(all)+99)/100-1]
	}
	if base != nil && base != row && base.counted != nil && len(open)+len(base.counted.open()) == 0 {
		if _, v := Common(base.counted.Values(record.Outage), outages); len(v[0]) > 0 {
			more := make([]float64, len(v[0]))
			for i := range more {
				more[i] = v[1][i] - v[0][i]
			}
			d.More = stat.Median(more, each)
		}
	}
	d.Lasted = stat.Middle(s.Values(record.EventLasted).medians())
	d.Lost = stat.Middle(s.Values(record.LostRequests).medians())
	d.Delay = stat.Median(s.Values(record.OutageDelay).medians(), each)
	d.After = stat.Median(s.Values(record.Recovery).medians(), each)
	d.Noticed = stat.Median(s.Values(record.Noticed).medians(), each)
	d.UndoNoticed = stat.Median(s.Values(record.UndoNoticed).medians(), each)
	d.Passed = stat.Median(s.Values(record.Passed).medians(), each)
	d.PassedFor = stat.Median(s.Values(record.PassedFor).medians(), each)
	for _, t := range s.ok {
		v, _ := t.Get(record.Passed)
		d.PassedMost = max(d.PassedMost, v.Value)
	}
	d.Told, d.Limit = told(s.observed), leastOutage
	for _, o := range s.observed {
		if e := o.Evidence.Event; e != nil && e.Bin > 0 {
			d.Limit, d.ToEnd = math.Max(d.Limit, seconds(e.Limit)), d.ToEnd || e.ToEnd
			line := Arrivals{Trial: o.Trial, Bin: seconds(e.Bin)}
			if e.Begin > 0 {
				line.Zero = seconds(e.Begin - e.From)
			}
			for _, n := range e.Arrivals {
				line.Rate = append(line.Rate, float64(n)/line.Bin)
			}
			d.Lines = append(d.Lines, line)
		}
	}
}

// open returns the trials in which traffic did not flow again before the window ended.
func (s *Sample) open() map[string]bool {
	open := map[string]bool{}
	for _, o := range s.observed {
		e := o.Evidence.Event
		if e != nil && slices.ContainsFunc(e.Gaps, func(g evidence.Gap) bool { return g.Open && g.Way == evidence.RoundTrip }) {
			open[o.Trial] = true
		}
	}
	return open
}

// outage is the median of outages; those of open trials can be longer by any amount. atLeast: so can the median.
func (s *Sample) outage(outages Series, open map[string]bool, each float64) (median stat.Interval, atLeast bool) {
	median = stat.Median(outages.medians(), each)
	if len(open) == 0 {
		return median, false
	}
	m := newMeans(s.slots, s.at)
	for i, t := range s.ok {
		if v, ok := t.Get(record.Outage); open[t.Trial] {
			m.add(i, math.Inf(1))
		} else if ok {
			m.add(i, v.Value)
		}
	}
	if longest := stat.Median(m.series().medians(), each); longest.N > 0 {
		return longest, false
	}
	if median.Bounded() {
		median.Hi = math.MaxFloat64
	}
	return median, true
}

// mostBins bounds the points of a line that Aligned returns.
const mostBins = 150

// Aligned returns the arrivals of all trials of several cells, 1/s, in common steps of time from the event, s: those that
// every trial has.
func Aligned(all []Downtime) (times []float64, rates [][][]float64) {
	first, last, bin := math.Inf(-1), math.Inf(1), 0.0
	for _, d := range all {
		for _, l := range d.Lines {
			bin = math.Max(bin, l.Bin)
			first, last = math.Max(first, -l.Zero), math.Min(last, float64(len(l.Rate))*l.Bin-l.Zero)
		}
	}
	if bin == 0 || last-first < 2*bin {
		return nil, nil
	}
	step := bin * math.Ceil((last-first)/bin/mostBins)
	n := int((last-first)/step + 1e-9)
	for i := range n {
		times = append(times, first+(float64(i)+0.5)*step)
	}
	rates = make([][][]float64, len(all))
	for i, d := range all {
		for _, l := range d.Lines {
			rates[i] = append(rates[i], l.steps(first, step, n))
		}
	}
	return times, rates
}

// steps adds up the bins into n steps of time. A bin counts where its middle is.
func (l Arrivals) steps(first, step float64, n int) []float64 {
	sum := make([]float64, n)
	for i, r := range l.Rate {
		if at := int(math.Floor(((float64(i)+0.5)*l.Bin - l.Zero - first) / step)); at >= 0 && at < n {
			sum[at] += r * l.Bin / step
		}
	}
	return sum
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
