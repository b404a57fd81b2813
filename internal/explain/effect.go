package explain

import (
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
)

// An Effect is what a refuting run shows besides the ratio of the value that the change concerns.
type Effect struct {
	Baseline string `json:"baseline,omitempty"`
	// Found is that value of the network as found ÷ the baseline's in the same block, and Left that of the network with the
	// change ÷ the baseline's, under the same probe and levels; N is 0 if there is no such ratio.
	Found stat.Interval `json:"found,omitzero"`
	Left  stat.Interval `json:"left,omitzero"`
	// Carried is the rate of the network with the change ÷ as found, for tests of a cost or a loss; nil if there is none.
	Carried *float64 `json:"carried,omitempty"`
	// Shared means that the baseline had the same cause to the same degree: then it explains no difference.
	Shared bool `json:"shared,omitempty"`
}

const (
	// collapsed is the share of what a network carried below which a change has broken it: less of a cost or a loss is
	// then no gain.
	collapsed = 0.5
	// half is the least part of a difference that goes with its whole cause.
	half = 0.5
)

// readEffect reads the effect from a refuting run.
func (v *Verdict) readEffect(run *analysis.Run) {
	var found, fixed *analysis.Row
	rate := false
	for t, row := range run.Rows() {
		switch {
		case v.changes(t, row):
			fixed, rate = row, strings.HasSuffix(t.Unit, "/s")
		case row.Network == v.Cell.Network && t.Probe == v.Cell.Probe:
			found = row
		}
	}
	if found == nil || fixed == nil {
		return
	}
	if run.Baseline != v.Cell.Network {
		v.Baseline, v.Found, v.Left = run.Baseline, found.RatioOf(v.Test.Metric), fixed.RatioOf(v.Test.Metric)
	}
	if rate && v.Test.Factor < 1 && found.Value.Center > 0 {
		carried := fixed.Value.Center / found.Value.Center
		v.Carried = &carried
	}
}

// doubt returns why a change that is as large as predicted does not confirm what was said, and the outcome; "" if it
// does. The cause of a difference is one only if the network differs from the baseline, if that difference shrinks as
// predicted, and if the path still carries what it carried.
func (v *Verdict) doubt() (Outcome, lang.Text) {
	more := v.Test.Factor > 1
	switch {
	case v.Subject != Cause && v.Subject != Hypothesis || v.Test.AtMost:
		return "", ""
	case v.Carried != nil && *v.Carried < collapsed:
		return Refuted, lang.T("with the change the network carries %s× of what it carried", prose.Fixed(*v.Carried, 2))
	case v.Shared || !v.Found.Bounded() || !v.Left.Bounded():
		return "", ""
	case more && v.Found.Hi >= 1, !more && v.Found.Lo <= 1:
		return Open, lang.T("as found it is %s of %s's, so there is no difference to remove", prose.Times(v.Found), v.Baseline)
	}
	if len(v.Test.Options)+len(v.Test.Levels) > 0 { // they concern the baseline, too
		switch i := stat.Quotient(v.Found, v.Left, oneByOne); {
		case more && i.Hi < v.Test.Factor, !more && i.Lo > v.Test.Factor:
			return Refuted, lang.T("the difference from %s stays: %s before, %s with the change", v.Baseline, prose.Times(v.Found), prose.Times(v.Left))
		case more && i.Center < v.Test.Factor, !more && i.Center > v.Test.Factor:
			return Open, lang.T("the difference from %s hardly shrinks: %s before, %s with the change", v.Baseline, prose.Times(v.Found), prose.Times(v.Left))
		}
	}
	if v.Test.Whole && 1-math.Log(v.Left.Center)/math.Log(v.Found.Center) < half {
		return Open, lang.T("the difference from %s hardly shrinks: %s before, %s with the change", v.Baseline, prose.Times(v.Found), prose.Times(v.Left))
	}
	return "", ""
}
