package settings

import (
	"math"

	"github.com/weir-bench/weir/internal/bisect/group"
	"github.com/weir-bench/weir/internal/lang"
)

// A Result is what a bisection of settings has found.
type Result struct {
	Before string `json:"before"` // results directory; "" for the kernel's defaults
	After  string `json:"after"`  // "" for this machine
	Cell
	Recorded float64 `json:"recorded,omitempty"` // AFTER ÷ BEFORE of the runs themselves; 0 if unknown
	Differences
	// Kind says how the cause works: one, both (two settings have the effect only together), sum (two have a part each),
	// either (each of two has all of it), spread (no single setting and no pair has it), none (the lab shows no effect), open (the comparisons
	// did not decide), or unapplied (nothing that differs can be applied). "" means that nothing differs.
	Kind  string    `json:"kind"`
	Cause []Setting `json:"cause,omitempty"`
	// Probability is the probability of the cause after the search, among one setting, two, and all of them.
	Probability float64 `json:"probability,omitempty"`
	Effect      *Ratio  `json:"effect,omitempty"`  // AFTER ÷ BEFORE in the lab
	Only        *Ratio  `json:"only,omitempty"`    // of BEFORE with the cause ÷ BEFORE
	Without     *Ratio  `json:"without,omitempty"` // of AFTER ÷ AFTER without the cause
	Alone       []Ratio `json:"alone,omitempty"`   // of two settings: BEFORE with one of them ÷ BEFORE
	Share       *Share  `json:"share,omitempty"`   // of the effect that the cause explains; nil if it is all that was applied
	Steps       []Step  `json:"steps,omitempty"`
	// Missing says why a comparison of the last run has no ratio, such as settings that break the path together.
	Missing     lang.Text `json:"missing,omitempty"`
	Comparisons int       `json:"comparisons"`
}

// A Ratio is an estimate with an interval of 95 % confidence.
type Ratio struct {
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// A Share is a share of the effect, and its interval with 95 % confidence; 1 is all.
type Share struct {
	Share float64 `json:"share"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// A Step is a run of the bisection.
type Step struct {
	Dir      string  `json:"dir"`
	Stage    string  `json:"stage"` // change, halves or confirm
	Compared []Pairs `json:"compared"`
}

// Pairs are two sets that a step compared: each has AFTER's values of these settings, counted from 0, and BEFORE's of others.
type Pairs struct {
	From  []int  `json:"from"`
	To    []int  `json:"to"`
	Ratio *Ratio `json:"ratio,omitempty"` // To ÷ From; nil if there is none
}

// Kinds of a Result besides those of a cause.
const (
	Open        = "open"
	CannotApply = "unapplied"
)

// Conclude takes what the search has found.
func (r *Result) Conclude(o group.Outcome) {
	r.Kind, r.Probability, r.Comparisons = string(o.Kind), o.Probability, o.Comparisons
	r.Effect = ratioOf(o.Effect)
	if o.Kind == "" {
		r.Kind = Open
	}
	if len(o.Members) == 0 {
		return
	}
	for _, m := range o.Members {
		r.Cause = append(r.Cause, r.Settings[m])
	}
	r.Only, r.Without = ratioOf(o.Only), ratioOf(o.Without)
	for _, e := range o.Alone {
		if x := ratioOf(e); x != nil {
			r.Alone = append(r.Alone, *x)
		}
	}
	if r.Without != nil {
		share, lo, hi := o.Share()
		r.Share = &Share{share, lo, hi}
	}
}

// Add adds a step that was measured.
func (r *Result) Add(dir string, s group.Step, got []group.Estimate) {
	x := Step{Dir: dir, Stage: string(s.Stage)}
	for i, c := range s.Comparisons {
		x.Compared = append(x.Compared, Pairs{c.From.Members(), c.To.Members(), ratioOf(got[i])})
	}
	r.Steps = append(r.Steps, x)
}

func ratioOf(e group.Estimate) *Ratio {
	if e.SE <= 0 {
		return nil
	}
	lo, hi := e.Interval()
	return &Ratio{math.Exp(e.Log), lo, hi}
}
