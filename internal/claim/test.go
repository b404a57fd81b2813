package claim

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// Confidence is the confidence of each claim by itself: of twenty claims exactly on a bound, one is
// expected to get a wrong verdict. The intervals of one claim's tests hold together (Bonferroni).
const Confidence = 0.95

// A Verdict is what results say about a claim.
type Verdict string

const (
	Holds      Verdict = "holds"                 // the whole interval is within the bounds
	Fails      Verdict = "does not hold"         // the whole interval is outside
	Undecided  Verdict = "undecided"             // a bound is inside the interval
	Untestable Verdict = "cannot be tested here" // something is missing
)

type Outcome struct {
	Claim    Claim     `json:"claim"`
	Verdict  Verdict   `json:"verdict"`
	Why      lang.Text `json:"why,omitempty"`      // for undecided and untestable claims: what is missing
	Measured []Measure `json:"measured,omitempty"` // in the order of the claim's tests
	From     string    `json:"from,omitempty"`     // the results directory, which the caller fills in
	Runs     int       `json:"runs,omitempty"`     // that the verdict rests on; 0 for untestable claims
	// Busy is set if disturbed trials count. The verdict then describes this run, on a busy machine.
	Busy *analysis.Disturbance `json:"busy,omitempty"`
}

type Measure struct {
	Ratio   stat.Interval `json:"ratio"`
	Verdict Verdict       `json:"verdict"`
	// More estimates how many more blocks would decide; 0 unless the verdict is Undecided, -1 if no
	// practical number would.
	More int `json:"more,omitempty"`
}

// Bounds says where the ratio must lie: "0.47 to 1.05", "at most 1".
func (t Test) Bounds() lang.Text {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch {
	case t.Least == 0:
		return lang.T("at most %s", number(t.Most))
	case t.Most == 0:
		return lang.T("at least %s", number(t.Least))
	}
	return lang.T("%s to %s", number(t.Least), number(t.Most))
}

func (t Test) within(ratio float64) bool {
	return ratio >= t.Least && (t.Most == 0 || ratio <= t.Most)
}

func (t Test) verdict(i stat.Interval) Verdict {
	switch {
	case !i.Bounded():
		return Undecided
	case t.within(i.Lo) && t.within(i.Hi):
		return Holds
	case i.Hi < t.Least || t.Most > 0 && i.Lo > t.Most:
		return Fails
	}
	return Undecided
}

// Cannot is the outcome of a claim that cannot be tested here.
func (c Claim) Cannot(why lang.Text) Outcome {
	return Outcome{Claim: c, Verdict: Untestable, Why: why}
}

// Judge returns the outcome of every claim on which a run of s bears: s measures the claim's cells
// on the same topology, and each has a trial. Durations and numbers of blocks do not matter.
func Judge(claims []Claim, s study.Study, run *analysis.Run) []Outcome {
	var out []Outcome
	for _, c := range claims {
		if samples, ok := c.samples(s, run); ok {
			out = append(out, c.judge(samples))
		}
	}
	return out
}

// samples returns the trials of each of the claim's cells, by the cell's name.
func (c Claim) samples(s study.Study, run *analysis.Run) (map[string]*analysis.Sample, bool) {
	if s.Topology != c.Study.Topology || run.Pairs > 0 {
		return nil, false
	}
	of := map[string]*analysis.Sample{}
	for _, cell := range c.Cells() {
		network, _ := c.Study.Network(cell.Network)
		probe, _ := c.Study.Probe(cell.Probe)
		config := cell.config()
		config[analysis.Network], config[analysis.Probe] = nameOf(s.Networks, network), nameOf(s.Probes, probe)
		sample := run.Sample(config)
		if sample == nil {
			neutral(config, s)
			sample = run.Sample(config)
		}
		if sample == nil {
			return nil, false
		}
		of[cell.String()] = sample
	}
	return of, true
}

// nameOf returns what a study calls a network or probe of another study, "" if it lacks it.
func nameOf(uses []study.Use, other study.Use) (name string) {
	for _, u := range uses {
		if same(u, other) && (name == "" || u.Name == other.Name) {
			name = u.Name
		}
	}
	return name
}

// neutral adds the levels of the study's other factors that change nothing: with stress 0 a cell is the one of a
// study without stress.
func neutral(config map[string]string, s study.Study) {
	for factor, levels := range s.Factors {
		if n := study.Neutral(factor); config[factor] == "" && n != "" && slices.Contains(levels, n) {
			config[factor] = n
		}
	}
}

func same(a, b study.Use) bool { return a.Kind == b.Kind && maps.Equal(a.Options, b.Options) }

func (c Cell) config() map[string]string {
	m := map[string]string{analysis.Network: c.Network, analysis.Probe: c.Probe}
	maps.Copy(m, c.Levels)
	return m
}

// String names the cell: "vxlan-overlay udp-stream, size 1400, sent".
func (c Cell) String() string {
	s := c.Network + " " + c.Probe
	for _, k := range slices.Sorted(maps.Keys(c.Levels)) {
		s += ", " + k + " " + c.Levels[k]
	}
	if c.Metric != "" {
		s += ", " + string(c.Metric)
	}
	return s
}

func (c Claim) judge(samples map[string]*analysis.Sample) Outcome {
	o := Outcome{Claim: c, Verdict: Holds, Runs: 1}
	confidence := stat.Adjust(Confidence, len(c.Tests))
	if why := c.unmet(samples); why != "" {
		return c.Cannot(why)
	}
	more, none := 0, lang.Text("")
	for _, t := range c.Tests {
		m, busy, why := t.measure(samples, confidence)
		if why != "" {
			return c.Cannot(why)
		}
		o.Busy = cmp.Or(o.Busy, busy)
		none = cmp.Or(none, lang.Stored(m.Ratio.Reason()))
		if m.Verdict == Undecided && m.Ratio.Bounded() && m.Ratio.Lo == 0 {
			none = cmp.Or(none, lang.T("nothing arrived in some blocks: the ratio has no lower bound"))
		}
		o.Measured = append(o.Measured, m)
		o.Verdict = worse(o.Verdict, m.Verdict)
		if m.More < 0 || more >= 0 && m.More > more {
			more = m.More
		}
	}
	switch {
	case o.Verdict != Undecided:
	case none != "":
		o.Why = none
	case more < 0:
		o.Why = lang.T("the ratio lies on a bound: no practical number of blocks would decide")
	case more == 1:
		o.Why = lang.T("about one more block would decide")
	default:
		o.Why = lang.T("about %d more blocks would decide", more)
	}
	return o
}

// worse combines the verdicts of two tests: one failed test refutes the claim.
func worse(a, b Verdict) Verdict {
	for _, v := range []Verdict{Fails, Undecided} {
		if a == v || b == v {
			return v
		}
	}
	return Holds
}

// valuesOf returns the metric's values, or why there are none.
func valuesOf(s *analysis.Sample, metric record.Quantity) (analysis.Series, lang.Text) {
	metric = cmp.Or(metric, s.Metric())
	v := s.Values(metric)
	if v.Len() > 0 {
		return v, ""
	}
	switch status, reason := s.Status(); status {
	case record.OK:
		return v, lang.T("no trial has a value %s", metric)
	default:
		return v, lang.T("%s: %s", lang.Stored(string(status)), lang.Stored(reason))
	}
}

// measure pairs the cells of t within blocks in which all have a value. Which trials count is decided for these cells
// alone, so that a ratio is the same in every claim. It says why if a cell has no values.
func (t Test) measure(samples map[string]*analysis.Sample, confidence float64) (_ Measure, busy *analysis.Disturbance, why lang.Text) {
	cells := t.Cells()
	counted := make([]*analysis.Sample, len(cells))
	for i, c := range cells {
		counted[i] = samples[c.String()]
	}
	counted, busy = analysis.Steady(confidence, counted...)
	all := make([]analysis.Series, len(cells))
	for i, c := range cells {
		if all[i], why = valuesOf(counted[i], c.Metric); why != "" {
			return Measure{}, nil, lang.T("%s: %s", c, why)
		}
	}
	_, v := analysis.Common(all...)
	base, other := t.quotients(v)
	m := Measure{Ratio: busy.Widen(stat.Ratio(base, other, confidence))}
	if m.Verdict = t.verdict(m.Ratio); m.Verdict == Undecided {
		m.More = t.more(m.Ratio, confidence)
	}
	return m, busy, ""
}

// quotients returns numerator and denominator of every block. v is in the order of Cells.
func (t Test) quotients(v [][]float64) (base, other []float64) {
	for i, num := range v[0] {
		rest, den := v[1:], 0.0
		for range max(1, len(t.Sum)) {
			den, rest = den+rest[0][i], rest[1:]
		}
		if t.Per != nil {
			num, den = num*rest[1][i], den*rest[0][i]
		}
		base, other = append(base, den), append(other, num)
	}
	return base, other
}

// more estimates how many additional blocks would shrink the interval to the distance between the
// estimate and the nearest bound.
func (t Test) more(i stat.Interval, confidence float64) int {
	distance := math.Inf(1)
	for _, bound := range []float64{t.Least, t.Most} {
		if bound > 0 && i.Center > 0 {
			distance = min(distance, math.Abs(math.Log(i.Center/bound)))
		}
	}
	needed := i.Needed(math.Expm1(distance), confidence)
	if needed > study.MaxBlocks {
		return -1
	}
	return max(needed, i.N+1) - i.N
}
