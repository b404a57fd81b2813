// Package analysis reads the results of a run once and lays them out: tables with a row per
// network, the contrasts that a study states, chains of hosts, the gap between UDP and TCP, tools
// compared, runs pooled and compared. All of them pair values within blocks through Common, except
// imported results, which have no blocks.
//
// It must not format numbers, draw, read anything except its arguments, or judge causes (package
// finding does). The order of the results does not matter.
package analysis

import (
	"iter"
	"slices"

	"github.com/weir-bench/weir/internal/analysis/standing"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

const (
	Network = "network"
	Probe   = "probe"
)

// Options controls how results are read.
type Options struct {
	Baseline      string   // network that divides the others; "" for none
	Confidence    float64  // of all ratios together, in 0..1; 0 means 0.95
	KeepDisturbed bool     // count disturbed trials
	Unpaired      bool     // results have no common blocks, as those of imported files
	Networks      []string // order of the rows; unnamed networks follow, sorted
	Probes        []string // order of the tables; unnamed probes follow, sorted
	Others        *Others  // programs outside the run; nil if unknown
	// Inside is what trials sampled inside their windows, by trial.
	Inside map[string][]sample.Series
	// Evidence is what trials observed of their paths, and Settings what held on them, both by trial.
	Evidence map[string]*evidence.Trial
	Settings map[string]*evidence.Settings
	// Machines are the hosts that a target found, in their order; none in the lab.
	Machines []Machine
	// Contrasts are the comparisons that the study states. If there are any, Baseline is "" unless one
	// of them compares with it (see Contrast.Baseline).
	Contrasts []Contrast
}

// A Run is indexed results. Its slices and maps are shared and must not be changed.
type Run struct {
	Baseline    string  `json:"baseline"`
	Confidence  float64 `json:"confidence"`  // of all ratios together
	Comparisons int     `json:"comparisons"` // number of ratios
	Each        float64 `json:"each"`        // confidence of each ratio
	Blocks      int     `json:"blocks"`      // with at least one trial
	// Unpaired means that no block pairs results. Value is then a geometric mean, and Ratio a ratio of two.
	Unpaired bool     `json:"unpaired,omitempty"`
	Pairs    int      `json:"pairs,omitempty"` // of hosts per block
	Networks []string `json:"networks"`        // the baseline first
	// Episodes counts the builds of the networks; 0 if the run is too old to say.
	Episodes int     `json:"episodes,omitempty"`
	Tables   []Table `json:"tables"`
	Chains   []Chain `json:"chains,omitempty"` // paths over several segments, and over each segment
	// Contrasts holds the comparisons that the study states, in its order, without the one that is
	// Baseline: Tables has its ratios.
	Contrasts []Contrasted `json:"contrasts,omitempty"`
	Machines  []Machine    `json:"machines,omitempty"` // that a target found, in the order of hosts
	// Standings compare machines if the run measured all pairs of three or more.
	Standings []standing.Standing `json:"standings,omitempty"`
	// Residue lists the differences that are not factors.
	Residue []Difference `json:"residue,omitempty"`
	// Disturbed counts disturbed trials. All count like the others if Kept is set; otherwise only
	// in comparisons that are marked Busy.
	Disturbed int  `json:"disturbed,omitempty"`
	Kept      bool `json:"kept,omitempty"`
	// Busy is the disturbance of the whole run if disturbed trials count in any row.
	Busy   *Disturbance `json:"busy,omitempty"`
	Others *Others      `json:"others,omitempty"` // programs outside the run; nil if unknown
	// Cores is set if the machine's CPUs were at two distances during the run.
	Cores *Cores `json:"cores,omitempty"`

	options    Options // that the run was made with
	directions map[way]int
	ways       []*Run // see Ways
	byHost     map[string]Machine
	probes     []string // their order
	inside     map[string][]sample.Series
	trials     []trial // by block, then by name
	samples    []*Sample
	byKey      map[string]*Sample
	// measured holds the levels of each factor of a probe's cells; nil without contrasts.
	measured map[probeFactor]map[string]bool
}

// New indexes results and keeps references to them.
func New(results []record.Result, o Options) *Run {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	r := &Run{Baseline: o.Baseline, Confidence: o.Confidence, Kept: o.KeepDisturbed, Others: o.Others, inside: o.Inside, Machines: o.Machines, byHost: map[string]Machine{}, options: o}
	for i, m := range o.Machines {
		r.byHost[topo.HostName(i+1)] = m
	}
	r.index(results)
	r.observe(o.Evidence, o.Settings)
	r.Unpaired = o.Unpaired
	r.Networks = r.levels(Network, append([]string{o.Baseline}, o.Networks...)...)
	r.probes = r.levels(Probe, o.Probes...)

	r.Tables = r.layout(Projection{Row: Network, Baseline: o.Baseline, Order: r.Networks})
	if r.Unpaired {
		r.compareUnpaired()
		r.Residue = residue(r.Tables)
		return r
	}
	r.Chains = chains(r.Tables)
	r.Contrasts = r.contrasts(o.Contrasts)
	r.Comparisons = comparisons(r.Tables, r.Chains, r.Contrasts)
	r.Each = stat.Adjust(o.Confidence, max(1, r.Comparisons))
	compareRows(r.Tables, r.Each)
	for _, c := range r.Chains {
		c.compare(r.Each)
	}
	busy := false
	for _, c := range r.Contrasts {
		c.compare(r.Each)
		busy = busy || slices.ContainsFunc(c.Rows, func(x ContrastRow) bool { return x.Busy != nil })
	}
	for _, row := range r.Rows() {
		busy = busy || row.Busy != nil
	}
	if busy {
		d := disturbance(r.samples)
		r.Busy = &d
	}
	r.Standings = r.standings(o.Confidence)
	r.Residue = residue(r.Tables)
	r.Episodes = episodes(results)
	return r
}

// Results yields all results by block, then by trial name. Their Status is never Disturbed.
func (r *Run) Results() iter.Seq[*record.Result] {
	return func(yield func(*record.Result) bool) {
		for _, t := range r.trials {
			if !yield(t.Result) {
				return
			}
		}
	}
}

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

// Sample returns the trials with exactly these levels (without the pair of hosts), or nil.
func (r *Run) Sample(config map[string]string) *Sample { return r.byKey[key(config)] }

// Inside returns what those trials of a row that count sampled inside their windows.
func (r *Run) Inside(row *Row) (out []sample.Series) {
	for _, trial := range row.counted.ok {
		out = append(out, r.inside[trial.Trial]...)
	}
	return out
}
