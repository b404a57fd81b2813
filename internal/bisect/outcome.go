package bisect

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// Format is the version of an Outcome as JSON.
const Format = 1

// What an Outcome can be.
const (
	Open  = "open"  // not decided yet
	Found = "found" // a commit, or a range of which only the last can be measured
	None  = "none"  // no commit changed the value by Least or more
)

// An Outcome is what is known about a search among commits of a repository, among kernels, or between two groups of
// nodes. Kernels and groups stand for commits: a kernel's hash is the SHA-256 of its image, and its subject the path; a
// group's hash is the label of its nodes, and its subject their names.
type Outcome struct {
	Format    int      `json:"format"`
	Repo      string   `json:"repo"` // path; "" of kernels
	Good      string   `json:"good"` // hash of the commit before all
	Bad       string   `json:"bad"`
	Build     []string `json:"build"`            // command; none of kernels
	Guests    *Guests  `json:"guests,omitempty"` // of a search among kernels
	Nodes     *Nodes   `json:"nodes,omitempty"`  // of one between groups of nodes
	Network   string   `json:"network"`
	Probe     string   `json:"probe"`
	Certainty float64  `json:"certainty"` // probability at which the search ends
	Least     float64  `json:"least"`     // smallest change to find, a share

	Verdict string  `json:"verdict"` // open, found or none
	P       float64 `json:"p"`       // probability of the verdict; while open, of the most probable one
	// First and Last bound the commits, one of which made the change: hashes, equal for a single commit; absent if there
	// is none.
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	// Change is Last ÷ the candidate before First, in the run of these two.
	Change stat.Interval   `json:"change,omitzero"`
	Whole  stat.Interval   `json:"whole,omitzero"`   // Bad ÷ Good, in their run
	Metric record.Quantity `json:"metric,omitempty"` // which value was compared
	Unit   string          `json:"unit,omitempty"`

	NoChange float64  `json:"noChange"` // probability of none
	Commits  []Commit `json:"commits"`  // after Good, to Bad, the oldest first
	Steps    []Step   `json:"steps"`    // comparisons in their order
}

// A Commit is one of the commits that can have made the change.
type Commit struct {
	Hash    string  `json:"hash"`
	Subject string  `json:"subject"`
	P       float64 `json:"p"`             // probability that the change came with it
	Skipped string  `json:"why,omitempty"` // why it could not be measured; absent for all others
}

// Guests are the virtual machines that a search among kernels measures in. A comparison is of pairs of runs: in each pair,
// both kernels boot once, in random order.
type Guests struct {
	Kernels  []Kernel `json:"kernels"`            // from Good to Bad
	CPUs     int      `json:"cpus"`               // of each guest
	Memory   int64    `json:"memory"`             // bytes, of each guest
	Pairs    int      `json:"pairs"`              // of runs in a comparison, 2 or more
	Emulated bool     `json:"emulated,omitempty"` // QEMU emulated a guest's instructions, so the ratio can be another on hardware
}

// A Kernel is an image that a guest can boot.
type Kernel struct {
	Version string `json:"version"` // release
	Image   string `json:"image"`   // path
	Modules string `json:"modules"` // path of its lib/modules/VERSION
	Hash    string `json:"hash"`    // SHA-256 of the image, in hexadecimal
}

// Nodes are two groups of nodes of a cluster. A comparison is of pairs of runs: in each pair, the study runs once on the
// nodes of each group, in random order.
type Nodes struct {
	Groups [2]Group `json:"groups"` // Good and Bad
	Pairs  int      `json:"pairs"`  // of runs in a comparison, 2 or more
}

// A Group is nodes with a label in common.
type Group struct {
	Label string   `json:"label"` // KEY=VALUE
	Names []string `json:"names"` // of the nodes that are measured
}

// Pairs returns how many pairs of runs a comparison has; 0 if it is one run.
func (o *Outcome) Pairs() int {
	switch {
	case o.Guests != nil:
		return o.Guests.Pairs
	case o.Nodes != nil:
		return o.Nodes.Pairs
	}
	return 0
}

// A Step is one comparison, and what was known after it.
type Step struct {
	Base  string        `json:"base"`  // hash
	Other string        `json:"other"` // hash
	Ratio stat.Interval `json:"ratio"` // Other ÷ Base, paired within blocks
	// Ways holds the ratio in each direction, the client on the first node of a group and then on the second, where both are
	// measured: Ratio is then their geometric mean.
	Ways []stat.Interval `json:"ways,omitempty"`
	Dir  string          `json:"dir"` // its results, below the directory of the outcome
	// Posterior holds the probability of no change, then those of the commits.
	Posterior []float64 `json:"posterior"`
}

// Candidate returns the number of a commit in a Search, 0 for Good; -1 if the outcome does not have it.
func (o *Outcome) Candidate(hash string) int {
	for i := range len(o.Commits) + 1 {
		if o.Hash(i) == hash {
			return i
		}
	}
	return -1
}

// Name is a candidate in sentences: the first digits of a commit's hash, the version of a kernel, with those if another
// has the same version, or the label of nodes.
func (o *Outcome) Name(hash string) string {
	if o.Nodes != nil {
		return hash
	}
	brief := hash[:min(len(hash), 12)]
	if o.Guests == nil {
		return brief
	}
	same, name := 0, brief
	for _, k := range o.Guests.Kernels {
		if k.Hash == hash {
			name = k.Version
		}
	}
	for _, k := range o.Guests.Kernels {
		if k.Version == name {
			same++
		}
	}
	if same > 1 {
		name += "-" + brief
	}
	return name
}

// File is a candidate's name in file names.
func (o *Outcome) File(hash string) string { return strings.ReplaceAll(o.Name(hash), "/", "_") }

// RunDir returns where the run of a candidate is in a pair, numbered from 1, below the directory of its comparison.
func (o *Outcome) RunDir(pair int, hash string) string {
	return fmt.Sprintf("%02d-%s", pair, o.File(hash))
}

// Hash returns the commit of a candidate.
func (o *Outcome) Hash(candidate int) string {
	if candidate == 0 {
		return o.Good
	}
	return o.Commits[candidate-1].Hash
}

// Search returns the state that the search of o has reached.
func (o *Outcome) Search() *Search {
	s := New(len(o.Commits), o.Least)
	for i, c := range o.Commits {
		if c.Skipped != "" {
			s.Skip(i + 1)
		}
	}
	for _, step := range o.Steps {
		if c, ok := Of(o.Candidate(step.Base), o.Candidate(step.Other), step.Ratio); ok {
			s.Add(c)
		}
	}
	return s
}

// Settle stores the verdict of s; done is the result of Next.
func (o *Outcome) Settle(s *Search, done bool) {
	p, v := s.Posterior(), s.Verdict()
	o.NoChange = p[0]
	for i := range o.Commits {
		o.Commits[i].P = p[i+1]
	}
	o.P, o.Verdict, o.First, o.Last, o.Change = v.P, Open, "", "", stat.Interval{}
	for _, step := range o.Steps {
		if step.Base == o.Good && step.Other == o.Bad {
			o.Whole = step.Ratio
		}
	}
	if v.Last == 0 {
		if done {
			o.Verdict = None
		}
		return
	}
	if done {
		o.Verdict = Found
	}
	o.First, o.Last = o.Hash(v.First), o.Hash(v.Last)
	for _, step := range o.Steps { // if there are several, the last counts
		if step.Base == o.Hash(v.First-1) && step.Other == o.Last {
			o.Change = step.Ratio
		}
	}
}

// Partly reports whether the blamed commits explain less or more than the whole change from Good to Bad: the two ratios
// are more than two standard errors apart, for example because several commits changed the value.
func (o *Outcome) Partly() bool {
	c, ok := Of(0, 1, o.Change)
	w, also := Of(0, 1, o.Whole)
	return ok && also && math.Abs(c.Log-w.Log) > 2*math.Hypot(math.Hypot(c.SE, w.SE), math.Sqrt2*usualTau)
}
