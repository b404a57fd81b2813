// Package analysis reads the results of a run once and lays them out: tables with a
// row per network, chains of hosts, the gap between UDP and TCP, tools that measure
// the same, two runs side by side. All of them pair values within blocks, in one way
// (see Common).
//
// It must not format numbers, draw, or judge what caused a difference (package
// finding does). It reads its arguments and nothing else, and the same results in any
// order give the same Run.
package analysis

import (
	"iter"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// Factors that every trial has.
const (
	Network = "network"
	Probe   = "probe"
)

// Options says how to read results.
type Options struct {
	Baseline      string   // network that the others are divided by; "" for none
	Confidence    float64  // of all ratios together, in 0..1; 0 means 0.95
	KeepDisturbed bool     // count disturbed trials
	Networks      []string // order of the rows; unnamed networks follow, sorted
	Probes        []string // order of the tables; unnamed probes follow, sorted
}

// A Run is the results of a run, read and indexed once. Everything that a report says
// comes from one Run. Its slices and maps are shared and must not be changed.
type Run struct {
	Baseline    string   `json:"baseline"`
	Confidence  float64  `json:"confidence"`      // with which all ratios hold together
	Comparisons int      `json:"comparisons"`     // number of ratios
	Each        float64  `json:"each"`            // confidence of each one, so that all hold
	Blocks      int      `json:"blocks"`          // that have any trial
	Pairs       int      `json:"pairs,omitempty"` // of hosts that a block measures
	Networks    []string `json:"networks"`        // all of them, the baseline first
	Tables      []Table  `json:"tables"`
	Chains      []Chain  `json:"chains,omitempty"` // lines of hosts, over several segments and over each
	// Residue is what differed without being a factor.
	Residue []Difference `json:"residue,omitempty"`
	// Disturbed counts the trials that something outside the run disturbed. They count
	// like any other where Kept is set, and are left out otherwise.
	Disturbed int  `json:"disturbed,omitempty"`
	Kept      bool `json:"kept,omitempty"`

	probes  []string // their order
	trials  []trial  // by block, then by name
	samples []*Sample
	byKey   map[string]*Sample
}

// New reads results. It keeps references to them.
func New(results []record.Result, o Options) *Run {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	r := &Run{Baseline: o.Baseline, Confidence: o.Confidence, Kept: o.KeepDisturbed}
	r.index(results)
	r.Networks = r.levels(Network, append([]string{o.Baseline}, o.Networks...)...)
	r.probes = r.levels(Probe, o.Probes...)

	r.Tables = r.layout(Projection{Row: Network, Baseline: o.Baseline, Order: r.Networks})
	r.Chains = chains(r.Tables)
	r.Comparisons = comparisons(r.Tables, r.Chains)
	r.Each = stat.Adjust(o.Confidence, max(1, r.Comparisons))
	compareRows(r.Tables, r.Each)
	for _, c := range r.Chains {
		c.compare(r.Each)
	}
	r.Residue = residue(r.Tables)
	return r
}

// Results yields all results, by block and name of the trial. Their Status does not
// know what was disturbed.
func (r *Run) Results() iter.Seq[*record.Result] {
	return func(yield func(*record.Result) bool) {
		for _, t := range r.trials {
			if !yield(t.Result) {
				return
			}
		}
	}
}

// Rows yields the rows of all tables.
func (r *Run) Rows() iter.Seq2[*Table, *Row] { return rowsOf(r.Tables) }

func rowsOf(tables []Table) iter.Seq2[*Table, *Row] {
	return func(yield func(*Table, *Row) bool) {
		for i := range tables {
			t := &tables[i]
			for j := range t.Rows {
				if !yield(t, &t.Rows[j]) {
					return
				}
			}
		}
	}
}

// Trials returns the number of results.
func (r *Run) Trials() int { return len(r.trials) }

// Sample returns the trials whose factors have exactly these levels, and nil when
// there is none. The pair of hosts is no part of the levels.
func (r *Run) Sample(config map[string]string) *Sample { return r.byKey[key(config)] }
