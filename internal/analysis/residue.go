package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/record"
)

// A Scope says what a difference may have disturbed.
type Scope string

const (
	InCell   Scope = "inside a cell"    // trials that were averaged differ
	Networks Scope = "between networks" // networks that were compared differ
)

// A Difference is a key of Observed that was not a factor and still differed
// between ok trials of one table. What differs only from table to table is
// explained by their factors. (The idea is benchstat's residue,
// golang.org/x/perf/benchproc.)
type Difference struct {
	Key    string `json:"key"`
	Scope  Scope  `json:"scope"`
	Values []Seen `json:"values"`
}

// Seen is one value of a key, and where it was seen.
type Seen struct {
	Value  string `json:"value"`
	Trials int    `json:"trials"`
	Where  string `json:"where"`
}

// known lists keys that differ between networks by their nature; reports show
// them in a table of their own.
var known = []string{"path.mtu", "path.overhead", "path.hosts", "ceiling", "link", "mss"}

// designed differs between blocks because the study says so, as often one way as
// the other.
const designed = "swapped"

// endsOfPairs differ between the pairs of a block.
var endsOfPairs = []string{"client", "server"}

// absent stands for a key that a trial did not find.
const absent = "(not found)"

// residue names every difference that the grouping did not ask for.
func residue(groups []cells) []Difference {
	keys := map[string]bool{}
	for r := range okTrials(groups) {
		for k := range r.Observed {
			keys[k] = true
		}
	}
	var out []Difference
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		s := scope(groups, k)
		if s == "" || k == designed || slices.Contains(endsOfPairs, k) || s != InCell && slices.Contains(known, k) {
			continue
		}
		out = append(out, Difference{Key: k, Scope: s, Values: seen(groups, k)})
	}
	rank := []Scope{InCell, Networks}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return cmp.Compare(slices.Index(rank, a.Scope), slices.Index(rank, b.Scope))
	})
	return out
}

func okTrials(groups []cells) func(func(record.Result) bool) {
	return func(yield func(record.Result) bool) {
		for _, g := range groups {
			for _, n := range slices.Sorted(maps.Keys(g.trials)) {
				for _, r := range g.trials[n] {
					if r.Status == record.OK && !yield(r) {
						return
					}
				}
			}
		}
	}
}

func found(r record.Result, key string) string {
	if v, ok := r.Observed[key]; ok {
		return v
	}
	return absent
}

// scope returns the worst place where key differs, "" when it does not. A network in
// whose trials it never is lacks what the key is of, such as a daemon: that is the
// network, and no difference.
func scope(groups []cells, key string) Scope {
	worst := Scope("")
	for _, g := range groups {
		table := map[string]bool{}
		for _, trials := range g.trials {
			cell := map[string]bool{}
			for _, r := range trials {
				if r.Status == record.OK {
					cell[found(r, key)] = true
				}
			}
			if len(cell) > 1 {
				return InCell
			}
			if !cell[absent] {
				maps.Copy(table, cell)
			}
		}
		if len(table) > 1 {
			worst = Networks
		}
	}
	return worst
}

func seen(groups []cells, key string) []Seen {
	byValue := map[string][]record.Result{}
	for r := range okTrials(groups) {
		v := found(r, key)
		byValue[v] = append(byValue[v], r)
	}
	var out []Seen
	for i, v := range slices.SortedFunc(maps.Keys(byValue), Natural) {
		if i >= most-1 && len(byValue) > most {
			rest := 0
			for _, s := range out {
				rest -= s.Trials
			}
			for _, rs := range byValue {
				rest += len(rs)
			}
			return append(out, Seen{Value: fmt.Sprintf("%d other values", len(byValue)-i), Trials: rest, Where: "everywhere else"})
		}
		out = append(out, Seen{Value: v, Trials: len(byValue[v]), Where: where(byValue[v])})
	}
	return out
}

// where names the place of some trials: the trials themselves when they are
// few, else their networks and probes.
func where(trials []record.Result) string {
	if len(trials) <= 2 {
		var names []string
		for _, r := range trials {
			names = append(names, fmt.Sprintf("%s, %s, block %d", r.Config[Network], r.Config[Probe], r.Block))
		}
		return strings.Join(names, "; ")
	}
	return list(levels(trials, Network)) + "; " + list(levels(trials, Probe))
}

func list(names []string) string {
	slices.SortFunc(names, Natural)
	if len(names) > 4 {
		return fmt.Sprintf("%d of them: %s …", len(names), strings.Join(names[:3], ", "))
	}
	return strings.Join(names, ", ")
}
