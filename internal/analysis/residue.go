package analysis

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/record"
)

// A Scope says which numbers a difference can have affected.
type Scope string

const (
	InCell   Scope = "inside a cell"    // trials that were averaged differ
	Networks Scope = "between networks" // networks that were compared differ
)

// A Difference is a key of Observed that was not a factor and still differed
// between ok trials of one table. Factors explain what differs only from table to
// table. (The idea is benchstat's residue,
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

// designed differs between blocks because the study says so, equally often each way.
const designed = "swapped"

// endsOfPairs differ between the pairs of a block.
var endsOfPairs = []string{"client", "server"}

// absent stands for a key that a trial did not observe.
const absent = "(not found)"

// residue names every difference that the layout did not ask for.
func residue(drafts []draft) []Difference {
	keys := map[string]bool{}
	for t := range okTrials(drafts) {
		for k := range t.Observed {
			keys[k] = true
		}
	}
	var out []Difference
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		s := scope(drafts, k)
		if s == "" || k == designed || slices.Contains(endsOfPairs, k) || s != InCell && slices.Contains(known, k) {
			continue
		}
		out = append(out, Difference{Key: k, Scope: s, Values: seen(drafts, k)})
	}
	rank := []Scope{InCell, Networks}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return cmp.Compare(slices.Index(rank, a.Scope), slices.Index(rank, b.Scope))
	})
	return out
}

func okTrials(drafts []draft) iter.Seq[trial] {
	return func(yield func(trial) bool) {
		for _, d := range drafts {
			for _, l := range d.rows {
				for _, t := range l.trials {
					if t.status == record.OK && !yield(t) {
						return
					}
				}
			}
		}
	}
}

func observed(t trial, key string) string {
	if v, ok := t.Observed[key]; ok {
		return v
	}
	return absent
}

// scope returns the worst place where key differs, "" when it does not. A key that no
// trial of a network has belongs to something that the network lacks, such as a daemon:
// that is the network, and no difference.
func scope(drafts []draft, key string) Scope {
	worst := Scope("")
	for _, d := range drafts {
		table, tableSeen := "", false
		differs := false
		for _, l := range d.rows {
			cell, cellSeen := "", false
			for _, t := range l.trials {
				if t.status != record.OK {
					continue
				}
				v := observed(t, key)
				if cellSeen && v != cell {
					return InCell
				}
				cell, cellSeen = v, true
			}
			if cellSeen && cell != absent {
				differs = differs || tableSeen && cell != table
				table, tableSeen = cell, true
			}
		}
		if differs {
			worst = Networks
		}
	}
	return worst
}

func seen(drafts []draft, key string) []Seen {
	byValue := map[string][]trial{}
	all := 0
	for t := range okTrials(drafts) {
		v := observed(t, key)
		byValue[v] = append(byValue[v], t)
		all++
	}
	var out []Seen
	for i, v := range slices.SortedFunc(maps.Keys(byValue), Natural) {
		if i >= most-1 && len(byValue) > most {
			return append(out, Seen{Value: fmt.Sprintf("%d other values", len(byValue)-i), Trials: all, Where: "everywhere else"})
		}
		out = append(out, Seen{Value: v, Trials: len(byValue[v]), Where: where(byValue[v])})
		all -= len(byValue[v])
	}
	return out
}

// most is how many values of a key a difference lists.
const most = 6

// where names the place of some trials: the trials themselves when they are
// few, else their networks and probes.
func where(trials []trial) string {
	if len(trials) <= 2 {
		var names []string
		for _, t := range trials {
			names = append(names, fmt.Sprintf("%s, %s, block %d", t.Config[Network], t.Config[Probe], t.Block))
		}
		return strings.Join(names, "; ")
	}
	networks, probes := map[string]bool{}, map[string]bool{}
	for _, t := range trials {
		networks[t.Config[Network]], probes[t.Config[Probe]] = true, true
	}
	return list(networks) + "; " + list(probes)
}

func list(set map[string]bool) string {
	names := slices.SortedFunc(maps.Keys(set), Natural)
	if len(names) > 4 {
		return fmt.Sprintf("%d of them: %s …", len(names), strings.Join(names[:3], ", "))
	}
	return strings.Join(names, ", ")
}
