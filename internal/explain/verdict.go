package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
)

// An Outcome is what a refuting run says about a statement.
type Outcome string

const (
	Stands        Outcome = "stands"         // the change is there, and as large as predicted
	Refuted       Outcome = "refuted"        // the interval excludes the predicted change
	Open          Outcome = "open"           // the interval decides nothing
	NotReproduced Outcome = "not reproduced" // the networks, built anew, no longer show what was found
)

// A Verdict is the result of one refuting run.
type Verdict struct {
	Subject Subject       `json:"subject"`
	Rule    string        `json:"rule,omitempty"` // of the finding
	Place   string        `json:"place,omitempty"`
	Cell    analysis.Cell `json:"cell"`
	Text    lang.Text     `json:"text"` // of the statement
	Test    finding.Test  `json:"test"`
	Ratio   stat.Interval `json:"ratio"` // Test.Metric, fixed ÷ found in the same block; N is 0 without one
	// AtLeast and AtMost are the ends of the median ratio's interval where Ratio has none, because what was found is 0
	// in some blocks; 0 for an end that does not exist.
	AtLeast float64 `json:"atLeast,omitempty"`
	AtMost  float64 `json:"atMost,omitempty"`
	// Broken means that no trial with the change has a value, while those without it have: the network needs what the
	// statement blames.
	Broken bool `json:"broken,omitempty"`
	Effect
	Outcome Outcome   `json:"outcome"`
	Reason  lang.Text `json:"reason,omitempty"` // why the ratio is missing, or does not decide alone
	Dir     string    `json:"dir"`              // results of the run, below those that it tests
	Weir    string    `json:"weir,omitempty"`   // version that judged it
}

// Judge applies the rule of finding.Test to the ratio of a refuting run. shown reports whether the network
// as found shows the finding in that run too: without it, the run says nothing about the cause.
func Judge(t finding.Test, ratio stat.Interval, shown bool) Outcome {
	more := t.Factor > 1
	switch {
	case !shown:
		return NotReproduced
	case !ratio.Bounded():
		return Open
	case t.AtMost: // a bound of this run is judged in the same way
		return Outcome(costmodel.Within(ratio, t.Factor))
	case more && ratio.Hi < t.Factor, !more && ratio.Lo > t.Factor:
		return Refuted
	case more && ratio.Lo > 1 && ratio.Center >= t.Factor, !more && ratio.Hi < 1 && ratio.Center <= t.Factor:
		return Stands
	}
	return Open
}

// judge sets the outcome.
func (v *Verdict) judge(shown bool) {
	ratio := v.Ratio
	if v.oneSided() && !v.Test.AtMost {
		ratio = stat.Interval{Lo: v.AtLeast, Hi: cmp.Or(v.AtMost, math.Inf(1)), Confidence: 1}
		if ratio.Center = ratio.Lo; v.Test.Factor < 1 { // the end that decides
			ratio.Center = ratio.Hi
		}
	}
	if v.Outcome = Judge(v.Test, ratio, shown); v.Broken && shown {
		v.Outcome = Refuted
	}
	if v.Outcome != Stands {
		return
	}
	if outcome, why := v.doubt(); outcome != "" {
		v.Outcome, v.Reason = outcome, why
	}
}

// oneSided reports whether only the ends of the median ratio can decide.
func (v Verdict) oneSided() bool { return !v.Ratio.Bounded() && v.AtLeast+v.AtMost > 0 }

// of reports whether v is the verdict on a statement, which has cells.
func (v Verdict) of(s Statement) bool {
	return v.Subject == s.Subject && v.Rule == s.Rule && v.Place == s.Place && v.Cell.String() == s.Cells[0].String()
}

// Say names an outcome in a sentence.
func (o Outcome) Say() lang.Text {
	switch o {
	case Stands:
		return lang.T("stands")
	case Refuted:
		return lang.T("refuted")
	case Open:
		return lang.T("open")
	case NotReproduced:
		return lang.T("not reproduced")
	}
	return lang.Text(o)
}

func (v Verdict) String() string { return v.Say().String() }

// Say is the sentence that follows "Refuted if …".
func (v Verdict) Say() lang.Text {
	switch {
	case v.Outcome == NotReproduced:
		return lang.T("Tested: the network, built anew, does not show it: not reproduced.")
	case v.Broken:
		return lang.T("Tested: with the change %s: %s.", lang.Stored(string(v.Reason)), v.Outcome.Say())
	case v.oneSided() && (v.AtLeast == 0 || v.AtMost > 0 && (v.Outcome == Refuted) == (v.Test.Factor > 1)):
		return lang.T("Tested: %s is at most %s× what was found, which was 0 in some blocks: %s.", v.Quantity(), prose.Fixed(v.AtMost, 2), v.Outcome.Say())
	case v.oneSided():
		return lang.T("Tested: %s is at least %s× what was found, which was 0 in some blocks: %s.", v.Quantity(), prose.Fixed(v.AtLeast, 2), v.Outcome.Say())
	case v.Ratio.N == 0:
		return lang.T("Tested: %s: %s.", lang.Stored(string(v.Reason)), v.Outcome.Say())
	case v.Test.AtMost:
		return lang.T("Tested: it gained %s: %s.", prose.Times(v.Ratio), v.Outcome.Say())
	}
	if outcome, why := v.doubt(); outcome == v.Outcome {
		return lang.T("Tested: %s %s of what was found, but %s: %s.", v.Quantity(), prose.Times(v.Ratio), why, outcome.Say())
	}
	return lang.T("Tested: %s %s of what was found: %s.", v.Quantity(), prose.Times(v.Ratio), v.Outcome.Say())
}

// Statement returns what was tested, with its verdict.
func (v Verdict) Statement() lang.Text {
	return prose.Sentences(prose.Sentence(v.Text), prose.Sentence(v.Test.Text), v.Say())
}

// Quantity names the value that the fix changes.
func (v Verdict) Quantity() lang.Text {
	if v.Test.AtMost { // throughput, or the work per CPU time (costmodel.Bound)
		return lang.T("gain")
	}
	return quantity(v.Test.Metric)
}

// Predicted formats the least change that the statement predicts.
func (v Verdict) Predicted() string {
	if v.Test.Factor < 1 || v.Test.AtMost {
		return "≤ " + prose.Fixed(v.Test.Factor, 2) + "×"
	}
	return "≥ " + prose.Fixed(v.Test.Factor, 2) + "×"
}

// verdictsFormat is the version of the file of verdicts. A reader refuses any other.
const verdictsFormat = 1

type verdictsFile struct {
	Format   int       `json:"format"`
	Verdicts []Verdict `json:"verdicts"`
}

// EncodeVerdicts writes the file of verdicts.
func EncodeVerdicts(vs []Verdict) ([]byte, error) {
	b, err := json.MarshalIndent(verdictsFile{verdictsFormat, vs}, "", "  ")
	return append(b, '\n'), err
}

// ParseVerdicts reads the file of verdicts.
func ParseVerdicts(b []byte) ([]Verdict, error) {
	var f verdictsFile
	if err := bounds.JSON(b, &f); err != nil {
		return nil, err
	}
	if f.Format != verdictsFormat {
		return nil, fmt.Errorf("verdicts have format %d, and this version of weir reads %d", f.Format, verdictsFormat)
	}
	for i, v := range f.Verdicts {
		if !slices.Contains([]Outcome{Stands, Refuted, Open, NotReproduced}, v.Outcome) {
			return nil, fmt.Errorf("verdict %d is %q, none of those that weir gives", i+1, v.Outcome)
		}
		if !foreign.Printable(string(v.Text), string(v.Test.Text), string(v.Test.Metric), string(v.Reason), v.Baseline, v.Dir) {
			return nil, fmt.Errorf("verdict %d has characters that do not print", i+1)
		}
	}
	return f.Verdicts, nil
}
