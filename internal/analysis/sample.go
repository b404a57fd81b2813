package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/weir-bench/weir/record"
)

// hostPair is the factor whose levels are two hosts, A-B. It does not split cells: a block measures
// all pairs at the same time on the same machine, so they are one sample.
const hostPair = "pair"

// A trial is a result with its final status, which can be Disturbed.
type trial struct {
	*record.Result
	status record.Status
	reason string
	load   load
}

// A Sample is the trials of one cell: all factors are equal except the pair of hosts.
type Sample struct {
	config         map[string]string // without the pair
	probe, network string
	trials         []trial          // by block, then by trial name
	ok             []*record.Result // those that count
	busy           bool             // disturbed trials count
	all            *Sample          // the same trials, busy; nil if none is disturbed
	byDistance     *Sample          // the same trials, whose slots have the distances of the CPUs; nil if the run has one
	cores          *Cores           // nil: slots have no distance
	slots          []slot           // of ok, sorted
	at             []int            // of each of ok, in slots
	firsts         map[named]int
	names          []valued // of ok trials' values, in order
	values         map[record.Key]Series
	threads        *[]Thread  // of ok; nil until somebody asks
	observed       []Observed // of ok
	failed         []Observed // of those that failed or are invalid
}

// named is a metric, and valued any value, with their units.
type (
	named struct {
		name record.Quantity
		unit string
	}
	valued struct {
		record.Key
		unit string
	}
)

// index sorts results into samples and marks disturbed trials.
func (r *Run) index(results []record.Result) {
	r.trials = make([]trial, len(results))
	for i := range results {
		r.trials[i] = trial{Result: &results[i], status: results[i].Status, reason: results[i].Reason}
	}
	slices.SortStableFunc(r.trials, func(a, b trial) int { return a.Start.Compare(b.Start) })
	keys := make([]string, len(r.trials)) // by time
	r.byKey = map[string]*Sample{}
	hostPairs := map[int]map[string]bool{} // by block: random rounds have others in each
	for i, t := range r.trials {
		if of := t.Config[hostPair]; of != "" {
			if hostPairs[t.Block] == nil {
				hostPairs[t.Block] = map[string]bool{}
			}
			hostPairs[t.Block][of] = true
			r.Pairs = max(r.Pairs, len(hostPairs[t.Block]))
		}
		keys[i] = key(t.Config, hostPair)
		if r.byKey[keys[i]] == nil {
			r.byKey[keys[i]] = &Sample{config: without(t.Config, hostPair), probe: t.Config[Probe], network: t.Config[Network]}
		}
	}
	for i, reason := range disturbed(r.trials, keys) {
		if reason == "" {
			continue
		}
		if r.Disturbed++; !r.Kept {
			r.trials[i].status, r.trials[i].reason = record.Disturbed, reason
		}
	}
	r.Cores = coresOf(r.trials)
	for i, t := range r.trials {
		s := r.byKey[keys[i]]
		s.trials = append(s.trials, t)
	}
	byName := func(a, b trial) int { return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Trial, b.Trial)) }
	slices.SortStableFunc(r.trials, byName)
	for i, t := range r.trials {
		if i == 0 || t.Block != r.trials[i-1].Block {
			r.Blocks++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.byKey)) {
		s := r.byKey[k]
		slices.SortStableFunc(s.trials, byName)
		s.fill()
		if slices.ContainsFunc(s.trials, func(t trial) bool { return t.status == record.Disturbed }) {
			s.all = &Sample{config: s.config, probe: s.probe, network: s.network, trials: s.trials, busy: true}
			s.all.fill()
		}
		for _, x := range []*Sample{s, s.all} {
			if r.Cores != nil && x != nil {
				x.byDistance = &Sample{config: x.config, probe: x.probe, network: x.network, trials: x.trials, busy: x.busy, cores: r.Cores}
				x.byDistance.fill()
			}
		}
		r.samples = append(r.samples, s)
	}
}

// variants returns the samples of these trials that Steady can choose.
func (s *Sample) variants() (all []*Sample) {
	for _, x := range []*Sample{s, s.byDistance, s.all, s.whole().byDistance} {
		if x != nil && !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// whole returns the sample in which disturbed trials count.
func (s *Sample) whole() *Sample {
	if s.all != nil {
		return s.all
	}
	return s
}

func (s *Sample) fill() {
	for _, t := range s.trials {
		if s.counts(t) {
			s.ok = append(s.ok, t.Result)
		}
	}
	s.slots, s.at = s.cores.slotsOf(s.ok)
	type sum struct {
		means
		last int // trial that gave a value: the first of a name counts
	}
	sums := map[record.Key]*sum{}
	s.firsts, s.values = map[named]int{}, map[record.Key]Series{}
	for i, t := range s.ok {
		for j, v := range t.Values {
			if j == 0 {
				s.firsts[named{v.Name, v.Unit}]++
			}
			k := v.Key()
			c := sums[k]
			if c == nil {
				c = &sum{newMeans(s.slots, s.at), -1}
				sums[k] = c
				s.names = append(s.names, valued{k, v.Unit})
			}
			if c.last != i {
				c.last = i
				c.add(i, v.Value)
			}
		}
	}
	for k, c := range sums {
		s.values[k] = c.series()
	}
}

// slotsOf returns the sorted slots of results, and the index of each result's slot.
func (c *Cores) slotsOf(results []*record.Result) (slots []slot, at []int) {
	all, at := make([]slot, len(results)), make([]int, len(results))
	for i, t := range results {
		all[i] = c.slotOf(t)
	}
	slots = slices.Compact(slices.Clone(all))
	if !slices.IsSortedFunc(slots, slot.compare) { // they are where there are no pairs
		slices.SortFunc(slots, slot.compare)
		slots = slices.Compact(slots)
	}
	n := 0
	for i, p := range all {
		if n < len(slots) && p != slots[n] {
			n, _ = slices.BinarySearchFunc(slots, p, slot.compare)
		}
		at[i] = n
	}
	return slots, at
}

// means holds the means of one value by slot.
type means struct {
	slots   []slot
	at      []int // of each ok trial
	mean, n []float64
}

func newMeans(slots []slot, at []int) means {
	return means{slots, at, make([]float64, len(slots)), make([]float64, len(slots))}
}

func (m means) add(trial int, v float64) {
	p := m.at[trial]
	m.n[p]++
	if math.IsInf(v, 0) || math.IsInf(m.mean[p], 0) {
		m.mean[p] = math.Inf(1)
		return
	}
	m.mean[p] += v/m.n[p] - m.mean[p]/m.n[p] // a sum can overflow
}

// series omits the slots without a value.
func (m means) series() (out Series) {
	if !slices.Contains(m.n, 0) {
		return Series{m.slots, m.mean}
	}
	for i, p := range m.slots {
		if m.n[i] > 0 {
			out.slots, out.v = append(out.slots, p), append(out.v, m.mean[i])
		}
	}
	return out
}

// Metric returns the value that most ok trials put first, "" if no trial is ok.
func (s *Sample) Metric() record.Quantity { return mostFrequent(s.firsts).name }

func mostFrequent(count map[named]int) (best named) {
	for f, n := range count {
		if cmp.Or(cmp.Compare(n, count[best]), cmp.Compare(best.name, f.name), cmp.Compare(best.unit, f.unit)) > 0 {
			best = f
		}
	}
	return best
}

// Values returns q of all ok trials. A trial without any reply has no response time;
// here it is infinite, longer than all others.
func (s *Sample) Values(q record.Quantity) Series {
	series := s.values[q.Whole()]
	if !q.ResponseTime() || series.Len() == 0 {
		return series
	}
	m, silent := newMeans(s.slots, s.at), false
	for i, t := range s.ok {
		v, ok := t.Get(q)
		if !ok && unanswered(t) {
			v.Value, ok, silent = math.Inf(1), true, true
		}
		if ok {
			m.add(i, v.Value)
		}
	}
	if !silent {
		return series
	}
	return m.series()
}

// unanswered reports whether all requests of a trial were lost.
func unanswered(t *record.Result) bool {
	loss, ok := t.Get(record.Loss)
	return ok && loss.Value == 1
}

// Observations has what each trial that counts observed.
func (s *Sample) Observations() (all []record.Observed) {
	for _, r := range s.ok {
		all = append(all, r.Observed)
	}
	return all
}

// Unit returns the unit of q, "" if no ok trial has it.
func (s *Sample) Unit(q record.Quantity) string {
	for _, n := range s.names {
		if n.Key == q.Whole() {
			return n.unit
		}
	}
	return ""
}

func (s *Sample) counts(t trial) bool {
	return t.status == record.OK || s.busy && t.status == record.Disturbed
}

// Status returns the status and reason of the first trial that does not count, OK if all do.
func (s *Sample) Status() (record.Status, string) {
	for _, t := range s.trials {
		if !s.counts(t) {
			return t.status, t.reason
		}
	}
	return record.OK, ""
}

// levels returns the distinct levels of a factor, those in first before the others.
func (r *Run) levels(factor string, first ...string) []string {
	set := map[string]bool{}
	for _, s := range r.samples {
		set[s.config[factor]] = true
	}
	return order(slices.Collect(maps.Keys(set)), first)
}
