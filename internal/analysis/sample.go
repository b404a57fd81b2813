package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-bench/weir/record"
)

// pair is the factor whose levels are two hosts, A-B. It makes no cell of its own: a
// block measures all pairs and is still one sample, because its pairs are measured at
// the same time on the same machine.
const pair = "pair"

// A trial is a result, and what became of it: Disturbed is decided here.
type trial struct {
	*record.Result
	status record.Status
	reason string
}

// A Sample is the trials of one cell: they have the same level of every factor, except
// for the pair of hosts.
type Sample struct {
	config         map[string]string // without the pair
	probe, network string
	trials         []trial // by block, then by name
	firsts         map[named]int
	names          []named // of the values of ok trials, in their order
	values         map[string]Series
}

// named is a value's name and unit.
type named struct{ name, unit string }

// index sorts results into samples and marks what was disturbed.
func (r *Run) index(results []record.Result) {
	r.trials = make([]trial, len(results))
	for i := range results {
		r.trials[i] = trial{&results[i], results[i].Status, results[i].Reason}
	}
	slices.SortStableFunc(r.trials, func(a, b trial) int { return a.Start.Compare(b.Start) })
	keys := make([]string, len(r.trials)) // by time
	r.byKey = map[string]*Sample{}
	for i, t := range r.trials {
		keys[i] = key(t.Config, pair)
		if r.byKey[keys[i]] == nil {
			config := maps.Clone(t.Config)
			delete(config, pair)
			r.byKey[keys[i]] = &Sample{config: config, probe: t.Config[Probe], network: t.Config[Network]}
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
		r.samples = append(r.samples, s)
	}
}

// fill makes the series of all values of the ok trials.
func (s *Sample) fill() {
	places, at := s.places()
	type sum struct {
		mean, n []float64 // by place
		last    int       // trial that gave a value: of two with one name the first counts
	}
	sums := map[string]*sum{}
	s.firsts, s.values = map[named]int{}, map[string]Series{}
	for i, t := range s.trials {
		if t.status != record.OK {
			continue
		}
		for j, v := range t.Values {
			if j == 0 {
				s.firsts[named{v.Name, v.Unit}]++
			}
			c := sums[v.Name]
			if c == nil {
				c = &sum{mean: make([]float64, len(places)), n: make([]float64, len(places)), last: -1}
				sums[v.Name] = c
				s.names = append(s.names, named{v.Name, v.Unit})
			}
			if p := at[i]; c.last != i {
				c.last = i
				c.n[p]++
				c.mean[p] += v.Value/c.n[p] - c.mean[p]/c.n[p] // a sum can overflow
			}
		}
	}
	for name, c := range sums {
		s.values[name] = compact(places, c.mean, c.n)
	}
}

// places returns the places of the ok trials, sorted, and which of them each trial has.
func (s *Sample) places() (places []place, at []int32) {
	for _, t := range s.trials {
		if p := t.place(); t.status == record.OK && (len(places) == 0 || places[len(places)-1] != p) {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, place.compare) // sorted already where there are no pairs
	places = slices.Compact(places)
	at = make([]int32, len(s.trials))
	for i, t := range s.trials {
		n, _ := slices.BinarySearchFunc(places, t.place(), place.compare)
		at[i] = int32(n)
	}
	return places, at
}

// compact leaves out the places that have no value.
func compact(places []place, mean, n []float64) Series {
	if !slices.Contains(n, 0) {
		return Series{places, mean}
	}
	var out Series
	for i, p := range places {
		if n[i] > 0 {
			out.places, out.v = append(out.places, p), append(out.v, mean[i])
		}
	}
	return out
}

// Metric returns the value that most ok trials put first, "" when no trial is ok.
func (s *Sample) Metric() string {
	m, _ := mostFrequent(s.firsts)
	return m.name
}

func mostFrequent(count map[named]int) (best named, n int) {
	for f, n := range count {
		if c := cmp.Or(cmp.Compare(n, count[best]), cmp.Compare(best.name, f.name), cmp.Compare(best.unit, f.unit)); c > 0 {
			best = f
		}
	}
	return best, count[best]
}

// Values returns the value called name of all ok trials.
func (s *Sample) Values(name string) Series {
	if s == nil {
		return Series{}
	}
	return s.values[name]
}

// Status returns what became of the first trial that is not ok and why, and OK when
// all are.
func (s *Sample) Status() (record.Status, string) {
	for _, t := range s.trials {
		if t.status != record.OK {
			return t.status, t.reason
		}
	}
	return record.OK, ""
}

// levels returns the distinct levels of a factor.
func (r *Run) levels(factor string) []string {
	set := map[string]bool{}
	if factor == pair {
		for _, t := range r.trials {
			set[t.Config[pair]] = true
		}
	}
	for _, s := range r.samples {
		if factor != pair {
			set[s.config[factor]] = true
		}
	}
	return slices.Collect(maps.Keys(set))
}
