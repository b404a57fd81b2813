package analysis

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/record"
)

// A Scope says which numbers a difference can affect.
type Scope string

const (
	InCell   Scope = "inside a cell"    // trials that were averaged differ
	Networks Scope = "between networks" // networks that were compared differ
)

// A Difference is a key of Observed that is not a factor but differs between ok trials of one
// table. Factors explain differences between tables. (The idea is benchstat's residue,
// golang.org/x/perf/benchproc.)
type Difference struct {
	Key    string `json:"key"`
	Scope  Scope  `json:"scope"`
	Values []Seen `json:"values"`
}

// Seen is one value of a key and where it was seen.
type Seen struct {
	Value  string `json:"value"`
	Trials int    `json:"trials"`
	Where  string `json:"where"`
}

// known lists keys that differ between networks by nature; reports show them in a separate table.
var known = []string{record.PathMTU.Key(), record.PathOverhead.Key(), record.PathHosts.Key(), record.Ceiling.Key(), record.Link.Key(),
	record.PathDelay.Key(), record.PathJitter.Key(), record.PathLoss.Key(), record.MSS.Key()}

// designed lists keys that differ inside a cell by design: client and server follow the pair or change places,
// equally often each way, and every imported result has its own file.
var designed = []string{record.Swapped.Key(), record.Repeats.Key(), record.Episode.Key(), record.Client.Key(), record.Server.Key(),
	record.ClientHost.Key(), record.ClientDevice.Key(), record.ServerHost.Key(), record.ServerDevice.Key(), record.Source.Key()}

// absent stands for a key that a trial did not observe.
const absent = "(not found)"

// residue returns the differences inside a cell, then those between networks.
func residue(tables []Table) []Difference {
	keys, trials := map[string]bool{}, 0
	for t := range okTrials(tables) {
		trials++
		for k := range t.Observed {
			keys[k] = true
		}
	}
	for _, k := range designed {
		delete(keys, k)
	}
	var inside, between []Difference
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		switch scope(tables, k) {
		case InCell:
			inside = append(inside, Difference{Key: k, Scope: InCell, Values: seen(tables, k, trials)})
		case Networks:
			if !slices.Contains(known, k) {
				between = append(between, Difference{Key: k, Scope: Networks, Values: seen(tables, k, trials)})
			}
		}
	}
	return append(inside, between...)
}

func okTrials(tables []Table) iter.Seq[*record.Result] {
	return func(yield func(*record.Result) bool) {
		for _, r := range rowsOf(tables) {
			for _, t := range r.counted.ok {
				if !yield(t) {
					return
				}
			}
		}
	}
}

func observed(t *record.Result, key string) string {
	if v, ok := t.Observed[key]; ok {
		return v
	}
	return absent
}

// scope returns the worst scope where key differs, "" if none. A key missing from all trials of a
// network belongs to something that the network lacks, such as a daemon, and is not a difference.
func scope(tables []Table, key string) Scope {
	worst := Scope("")
	for _, t := range tables {
		first := absent // of the rows
		for _, r := range t.Rows {
			ok := r.counted.ok
			if len(ok) == 0 {
				continue
			}
			cell := observed(ok[0], key)
			if slices.ContainsFunc(ok, func(t *record.Result) bool { return observed(t, key) != cell }) {
				return InCell
			}
			if first == absent {
				first = cell
			}
			if cell != absent && cell != first {
				worst = Networks
			}
		}
	}
	return worst
}

// seen lists the values of a key with their number of trials.
func seen(tables []Table, key string, all int) (out []Seen) {
	byValue := map[string][]*record.Result{}
	for t := range okTrials(tables) {
		v := observed(t, key)
		byValue[v] = append(byValue[v], t)
	}
	for i, v := range slices.SortedFunc(maps.Keys(byValue), Natural) {
		if i >= most-1 && len(byValue) > most {
			return append(out, Seen{Value: fmt.Sprintf("%d other values", len(byValue)-i), Trials: all, Where: "everywhere else"})
		}
		out = append(out, Seen{Value: v, Trials: len(byValue[v]), Where: where(byValue[v])})
		all -= len(byValue[v])
	}
	return out
}

// most is the largest number of values that a difference lists.
const most = 6

// where names trials if they are few, otherwise their networks and probes.
func where(trials []*record.Result) string {
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
