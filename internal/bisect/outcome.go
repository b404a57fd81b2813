package bisect

import (
	"math"

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

// An Outcome is what is known of a search among commits of a repository.
type Outcome struct {
	Format    int      `json:"format"`
	Repo      string   `json:"repo"` // path
	Good      string   `json:"good"` // hash of the commit before all
	Bad       string   `json:"bad"`
	Build     []string `json:"build"` // command
	Network   string   `json:"network"`
	Probe     string   `json:"probe"`
	Certainty float64  `json:"certainty"` // probability at which the search ends
	Least     float64  `json:"least"`     // smallest change to find, a share

	Verdict string  `json:"verdict"` // open, found or none
	P       float64 `json:"p"`       // probability of the verdict; while open, of the most probable one
	// First and Last bound the commits of which one made the change: hashes, equal for a single one; absent without.
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

// A Commit is one that can have made the change.
type Commit struct {
	Hash    string  `json:"hash"`
	Subject string  `json:"subject"`
	P       float64 `json:"p"`             // probability that the change came with it
	Skipped string  `json:"why,omitempty"` // why it could not be measured; absent for all others
}

// A Step is one comparison, with what was known after it.
type Step struct {
	Base  string        `json:"base"`  // hash
	Other string        `json:"other"` // hash
	Ratio stat.Interval `json:"ratio"` // Other ÷ Base, paired within blocks
	Dir   string        `json:"dir"`   // its results, below the directory of the outcome
	// Posterior holds the probability of no change, then those of the commits.
	Posterior []float64 `json:"posterior"`
}

// Candidate returns the number of a commit in a Search, 0 for Good; -1 if it is none of the outcome's.
func (o *Outcome) Candidate(hash string) int {
	for i := range len(o.Commits) + 1 {
		if o.Hash(i) == hash {
			return i
		}
	}
	return -1
}

// Hash returns the commit of a candidate.
func (o *Outcome) Hash(candidate int) string {
	if candidate == 0 {
		return o.Good
	}
	return o.Commits[candidate-1].Hash
}

// Search returns the search that o has come to.
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

// Settle writes down what s says; done is that of Next.
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
	for _, step := range o.Steps { // of several, the last
		if step.Base == o.Hash(v.First-1) && step.Other == o.Last {
			o.Change = step.Ratio
		}
	}
}

// Partly reports whether the blamed commits explain less or more than the whole change from Good to Bad: the two ratios
// are further apart than their errors let expect in one search of twenty, as where several commits changed the value.
func (o *Outcome) Partly() bool {
	c, ok := Of(0, 1, o.Change)
	w, also := Of(0, 1, o.Whole)
	return ok && also && math.Abs(c.Log-w.Log) > 2*math.Hypot(math.Hypot(c.SE, w.SE), math.Sqrt2*usualTau)
}
