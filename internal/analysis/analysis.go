// Package analysis groups results into tables: one per probe and combination of
// the other factor levels, with one row per network.
//
// It must not format numbers, draw, or judge what caused a difference. It reads
// its arguments and nothing else, and the same results in any order give the
// same tables.
package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// The factors that name rows and tables.
const (
	Network = "network"
	Probe   = "probe"
)

// Options says how to read results.
type Options struct {
	Baseline      string   // the network that the others are divided by; "" is none
	Confidence    float64  // of all ratios together, in 0..1; 0 is 0.95
	KeepDisturbed bool     // disturbed trials count
	Networks      []string // order of the rows; what is not named follows, sorted
	Probes        []string // order of the tables; what is not named follows, sorted
}

// A Pivot is everything that a report shows of the numbers.
type Pivot struct {
	Baseline    string   `json:"baseline"`
	Confidence  float64  `json:"confidence"`      // with which all ratios hold together
	Comparisons int      `json:"comparisons"`     // the number of ratios
	Each        float64  `json:"each"`            // the confidence of each one, so that all hold
	Blocks      int      `json:"blocks"`          // that have any trial
	Pairs       int      `json:"pairs,omitempty"` // of hosts, that a block measures
	Networks    []string `json:"networks"`        // all of them, the baseline first
	Tables      []Table  `json:"tables"`
	Chains      []Chain  `json:"chains,omitempty"` // lines of hosts, over several segments and over each
	// Residue is what differed without being a factor.
	Residue  []Difference `json:"residue,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

// A Table holds the networks under one probe and one combination of levels.
type Table struct {
	Probe  string            `json:"probe"`
	Config map[string]string `json:"asked,omitempty"`  // all other factors
	Levels map[string]string `json:"levels,omitempty"` // those that vary between tables of this probe
	Metric string            `json:"metric"`           // the first value of the trials; "" when no trial is ok
	Unit   string            `json:"unit"`
	Rows   []Row             `json:"rows"`
}

// A Row is one network: a cell and its comparison with the baseline's.
type Row struct {
	Network  string `json:"network"`
	Baseline bool   `json:"baseline,omitempty"`
	// Value is the median over blocks, with an interval that holds by itself.
	Value stat.Interval `json:"value"`
	// Ratio is this network divided by the baseline of the same block. N is 0
	// when there is nothing to divide.
	Ratio      stat.Interval `json:"ratio,omitzero"`
	Detectable float64       `json:"detectable,omitempty"` // the smallest relative difference that would have shown
	Same       bool          `json:"same,omitempty"`       // the interval of Ratio contains 1
	// Path is the ratio of the network's part of the response times alone. N is 0
	// when the trials do not take them apart.
	Path    stat.Interval `json:"path,omitzero"`
	Values  []Summary     `json:"values,omitempty"` // in the order of the trials
	Points  []Point       `json:"points"`           // every trial, by block
	OK      int           `json:"ok"`
	Invalid int           `json:"invalid,omitempty"`
	Failed  int           `json:"failed,omitempty"`
	Skipped int           `json:"skipped,omitempty"`
	// Disturbed counts the trials during which something outside the run used the
	// machine. They are left out.
	Disturbed int `json:"disturbed,omitempty"`
	// Refused says why there is no verdict: too much was disturbed.
	Refused string `json:"refused,omitempty"`
	// Observed is what all ok trials of the cell saw alike.
	Observed map[string]string `json:"found,omitempty"`
	// Warnings are about the trials; those about the numbers are in Value and Ratio.
	Warnings []string `json:"warnings,omitempty"`

	// Hist is the latency of all ok trials together, in nanoseconds; nil when
	// the probe gives none.
	Hist *hdrhistogram.Histogram `json:"-"`
}

// A Summary is one named value over the blocks.
type Summary struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	// Mean is for what adds up, such as packets and the shares that were lost: a
	// median would hide a loss that happens in few blocks.
	Mean float64 `json:"mean"`
	N    int     `json:"n"` // blocks
}

// A Point is one trial.
type Point struct {
	Trial   string        `json:"trial"`
	Block   int           `json:"block"`
	Pair    string        `json:"pair,omitempty"`    // of hosts, A-B, when the study measures all
	Swapped bool          `json:"swapped,omitempty"` // client and server have changed places
	Status  record.Status `json:"status"`
	Reason  string        `json:"reason,omitempty"`
	Value   float64       `json:"value"` // of the table's metric
	Has     bool          `json:"has"`   // whether the trial gave one
}

// Trials returns the number of all trials of the row.
func (r Row) Trials() int { return r.OK + r.Invalid + r.Failed + r.Skipped + r.Disturbed }

// Get returns the summary called name.
func (r Row) Get(name string) (Summary, bool) {
	for _, s := range r.Values {
		if s.Name == name {
			return s, true
		}
	}
	return Summary{}, false
}

// New groups results.
func New(results []record.Result, o Options) Pivot {
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	marked := Disturbed(results)
	outside := count(marked, record.Disturbed)
	if results = slices.Clone(results); !o.KeepDisturbed {
		results = marked
	}
	slices.SortStableFunc(results, func(a, b record.Result) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Trial, b.Trial))
	})
	p := Pivot{Baseline: o.Baseline, Confidence: o.Confidence}
	p.Networks = order(levels(results, Network), append([]string{o.Baseline}, o.Networks...))
	blocks := map[int]bool{}
	for _, r := range results {
		blocks[r.Block] = true
	}
	p.Blocks = len(blocks)
	p.Pairs = len(slices.DeleteFunc(levels(results, pair), func(of string) bool { return of == "" }))

	groups := group(results, o.Probes)
	for _, g := range groups {
		p.Comparisons += g.comparisons(o.Baseline)
	}
	p.Chains = chains(groups)
	for _, c := range p.Chains {
		p.Comparisons += c.comparisons()
	}
	p.Each = stat.Adjust(o.Confidence, max(1, p.Comparisons))
	for _, g := range groups {
		t := g.table(p.Networks, o.Baseline)
		g.compare(&t, o.Baseline, p.Each)
		p.Tables = append(p.Tables, t)
	}
	for _, c := range p.Chains {
		c.compare(p.Each)
	}
	p.Residue = residue(groups)
	p.Warnings = p.warn(o)
	if outside > 0 && o.KeepDisturbed {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d of %d trials were disturbed by something outside the run, and count all the same", outside, len(results)))
	}
	const about = "%d of %d trials ran in %s (QEMU without KVM): their numbers say nothing about absolute speed, and ratios are of what emulation makes dear"
	if n := foundIn(results, "guest", "qemu-tcg"); n > 0 {
		p.Warnings = append([]string{fmt.Sprintf(about, n, len(results), "an emulated machine")}, p.Warnings...)
	}
	if n := foundIn(results, "vm.accelerator", "tcg"); n > 0 {
		p.Warnings = append([]string{fmt.Sprintf(about, n, len(results), "emulated guests")}, p.Warnings...)
	}
	return p
}

// foundIn counts the trials that found text in what they recorded as key.
func foundIn(results []record.Result, key, text string) (n int) {
	for _, r := range results {
		if strings.Contains(r.Observed[key], text) {
			n++
		}
	}
	return n
}

func (p Pivot) warn(o Options) []string {
	var out []string
	switch {
	case len(p.Tables) == 0:
		return []string{"no trials"}
	case o.Baseline == "":
		out = append(out, "no baseline is named, so nothing is compared")
	case !slices.Contains(p.Networks, o.Baseline):
		out = append(out, fmt.Sprintf("no trial of the baseline %q, so nothing is compared", o.Baseline))
	case len(p.Networks) == 1 && p.Chains == nil:
		out = append(out, fmt.Sprintf("%q is the only network, so nothing is compared", o.Baseline))
	}
	if need := stat.MinPairs(p.Each); p.Comparisons > 0 && p.Blocks < need {
		out = append(out, fmt.Sprintf("too few blocks for intervals: there are %d, and %d ratios that hold together at %g %% need at least %d blocks",
			p.Blocks, p.Comparisons, 100*p.Confidence, need))
	}
	return out
}

func count(results []record.Result, s record.Status) (n int) {
	for _, r := range results {
		if r.Status == s {
			n++
		}
	}
	return n
}

// levels returns the distinct levels of a factor.
func levels(results []record.Result, key string) []string {
	set := map[string]bool{}
	for _, r := range results {
		set[r.Config[key]] = true
	}
	return slices.Collect(maps.Keys(set))
}

// order sorts names: first those of the list, in its order, then the others.
func order(names, first []string) []string {
	place := func(s string) int {
		if i := slices.Index(first, s); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), Natural(a, b))
	})
	return names
}
