package claim

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
)

// JudgeRuns is Judge for several runs of s. A verdict rests on the ratio pooled over the runs, whose
// interval also covers differences between runs. Runs without a ratio do not count. If only one run
// has a ratio, its outcome counts; if none has, the first run's.
func JudgeRuns(claims []Claim, s study.Study, runs []*analysis.Run) []Outcome {
	var out []Outcome
	for _, c := range claims {
		var all, measured []Outcome
		for _, run := range runs {
			for _, o := range Judge([]Claim{c}, s, run) {
				all = append(all, o)
				if o.Measured != nil {
					measured = append(measured, o)
				}
			}
		}
		switch {
		case len(measured) > 1:
			out = append(out, c.pool(measured, len(all)))
		case len(measured) == 1:
			out = append(out, measured[0])
		case len(all) > 0:
			out = append(out, all[0])
		}
	}
	return out
}

// pool returns the outcome of the runs that measured c; of counts all runs.
func (c Claim) pool(runs []Outcome, of int) Outcome {
	o := Outcome{Claim: c, Verdict: Holds, Runs: len(runs)}
	for i, t := range c.Tests {
		var ratios []stat.Interval
		for _, r := range runs {
			ratios = append(ratios, r.Measured[i].Ratio)
		}
		m := Measure{Ratio: stat.Pool(ratios, stat.Adjust(Confidence, len(c.Tests))).Interval}
		m.Verdict = t.verdict(m.Ratio)
		o.Measured = append(o.Measured, m)
		o.Verdict = worse(o.Verdict, m.Verdict)
	}
	if o.Verdict == Undecided {
		o.Why = lang.T("more runs would narrow the pooled interval, unless the ratio lies on a bound")
	}
	if missing := of - len(runs); missing > 0 && o.Verdict == Undecided {
		o.Why += lang.T("; %d of %d runs have no ratio", missing, of)
	}
	return o
}
