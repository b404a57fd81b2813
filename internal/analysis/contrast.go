package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Contrast is a comparison that a study states: cells divided by others that differ from them only
// in the factors of To, in the same blocks. Network and Probe are factors like all others.
type Contrast struct {
	Of    map[string][]string `json:"of,omitempty"`    // levels of the factors of To; empty means all others
	To    map[string]string   `json:"to"`              // the level that divides, by factor
	In    map[string][]string `json:"in,omitempty"`    // restricts the numerators, by factor
	Per   map[string]string   `json:"per,omitempty"`   // the level of further factors whose ratio divides this ratio
	Value record.Quantity     `json:"value,omitempty"` // name of the value; "" is the probe's first
	Text  string              `json:"text,omitempty"`  // subject of a sentence; "" means the levels
}

// A Contrasted is a contrast and what the run says about it.
type Contrasted struct {
	Contrast
	Rows []ContrastRow `json:"rows"`
}

// A ContrastRow is one ratio of a contrast.
type ContrastRow struct {
	Cell                     // of the numerator; Levels without the factors of To
	Config map[string]string `json:"asked,omitempty"` // all factors except network, probe and those of To
	Of     map[string]string `json:"of"`              // levels of the factors of To
	Metric record.Quantity   `json:"metric"`
	Unit   string            `json:"unit"`
	// Value and Base are the medians of numerator and denominator over blocks. Each holds by itself.
	Value stat.Interval `json:"value"`
	Base  stat.Interval `json:"base"`
	// Ratio is Value ÷ Base in the same block; with Per, divided by the ratio of the cells of Per. N
	// is 0 if no block has both.
	Ratio stat.Interval `json:"ratio,omitzero"`
	// Difference is the median of Value − Base over the same blocks, in Unit; N is 0 with Per, and unless
	// both are in the same block. The differences of a run hold together, as its ratios do.
	Difference stat.Interval `json:"difference,omitzero"`
	// Path is the ratio of the network's part of response times; N is 0 if trials do not split them,
	// or the contrast names a value.
	Path       stat.Interval `json:"path,omitzero"`
	Same       bool          `json:"same,omitempty"`       // the interval of Ratio contains 1
	Detectable float64       `json:"detectable,omitempty"` // smallest relative difference that would have shown
	Far        []Far         `json:"far,omitempty"`        // blocks far from the others; they count
	Busy       *Disturbance  `json:"busy,omitempty"`       // set if disturbed trials count
	OtherRuns  *OtherRuns    `json:"beyond,omitempty"`     // nil if earlier runs have not shown how much runs differ
	Missing    string        `json:"missing,omitempty"`    // why there is no ratio
	// Stalled and BaseStalled count the trials of numerator and denominator in which nothing arrived; nil if
	// there are none. MeanRatio is as in a Row; it is there only without Per.
	Stalled     *Stalls       `json:"stalled,omitempty"`
	BaseStalled *Stalls       `json:"baseStalled,omitempty"`
	MeanRatio   stat.Interval `json:"meanRatio,omitzero"`

	samples []*Sample // numerator and denominator; with Per, then those whose ratio divides
	window  float64   // s, median of the numerator's trials
	pairs   pairs     // of the metric
	differs []float64 // numerator − denominator, by block
	paths   pairs     // of the network's part of response times
}

// Baseline returns the network that c compares all other networks with, "" if c is anything else.
// Such a contrast is the Baseline of a Run, and its ratios are those of Tables.
func (c Contrast) Baseline() string {
	if len(c.To) != 1 || len(c.Of)+len(c.In)+len(c.Per) > 0 || c.Value != "" {
		return ""
	}
	return c.To[Network]
}

// A probeFactor is a factor of the cells of a probe.
type probeFactor struct{ probe, factor string }

// contrasts finds the cells of the contrasts. compare adds their ratios later, when their number is
// known. It leaves out the contrast that is the baseline: Tables have its ratios.
func (r *Run) contrasts(all []Contrast) (out []Contrasted) {
	if len(all) == 0 {
		return nil
	}
	r.measured = map[probeFactor]map[string]bool{}
	for _, s := range r.samples {
		for factor, level := range s.config {
			at := probeFactor{s.probe, factor}
			if r.measured[at] == nil {
				r.measured[at] = map[string]bool{}
			}
			r.measured[at][level] = true
		}
	}
	for _, c := range all {
		if b := c.Baseline(); b != "" && b == r.Baseline {
			continue
		}
		x := Contrasted{Contrast: c}
		for _, s := range r.samples {
			if c.has(s.config) {
				x.Rows = append(x.Rows, r.contrastRow(c, s))
			}
		}
		r.sortRows(x.Rows)
		out = append(out, x)
	}
	return out
}

// has reports whether the cell with this configuration is a numerator.
func (c Contrast) has(config map[string]string) bool {
	for factor, levels := range c.In {
		if !slices.Contains(levels, config[factor]) {
			return false
		}
	}
	for factor := range c.To {
		level, ok := config[factor]
		// A cell of another probe need not have the probe's factors.
		if lacks := !ok && c.To[Probe] != "" && c.Of[factor] == nil; !lacks && (!ok || c.Of[factor] != nil && !slices.Contains(c.Of[factor], level)) {
			return false
		}
	}
	for factor := range c.Per {
		if _, ok := config[factor]; !ok {
			return false
		}
	}
	return !holds(config, c.To) && (c.Per == nil || !holds(config, c.Per))
}

// holds reports whether config has all these levels.
func holds(config, levels map[string]string) bool {
	for factor, level := range levels {
		if config[factor] != level {
			return false
		}
	}
	return true
}

func (r *Run) contrastRow(c Contrast, s *Sample) ContrastRow {
	x := ContrastRow{Cell: Cell{Probe: s.probe, Network: s.network}, Config: maps.Clone(s.config), Of: map[string]string{},
		samples: []*Sample{s, r.cell(s.config, c.To)}}
	for factor := range c.To {
		if level, ok := s.config[factor]; ok {
			x.Of[factor] = level
		}
	}
	maps.DeleteFunc(x.Config, func(factor, _ string) bool {
		return factor == Network || factor == Probe || c.To[factor] != ""
	})
	x.Levels = maps.Clone(x.Config)
	maps.DeleteFunc(x.Levels, func(factor, _ string) bool { return len(r.measured[probeFactor{s.probe, factor}]) == 1 })
	if len(c.Per) > 0 {
		per := r.cell(s.config, c.Per)
		if x.samples = append(x.samples, per, nil); per != nil {
			x.samples[3] = r.cell(per.config, c.To)
		}
	}
	x.count(c.Value, 0)
	return x
}

// cell returns the sample that differs from config in these levels, or nil. One of another probe has
// only the factors that apply to the probe.
func (r *Run) cell(config, levels map[string]string) *Sample {
	config = maps.Clone(config)
	maps.Copy(config, levels)
	if probe := levels[Probe]; probe != "" {
		maps.DeleteFunc(config, func(factor, _ string) bool { return r.measured[probeFactor{probe, factor}] == nil })
	}
	return r.byKey[key(config)]
}

// sortRows orders rows as tables are, and then by the levels compared.
func (r *Run) sortRows(rows []ContrastRow) {
	probe, network := positions(r.probes), positions(r.Networks)
	slices.SortStableFunc(rows, func(a, b ContrastRow) int {
		return cmp.Or(cmp.Compare(probe(a.Probe), probe(b.Probe)), compareLevels(a.Config, b.Config),
			cmp.Compare(network(a.Network), network(b.Network)), compareLevels(a.Of, b.Of))
	})
}

// divisors names the samples of a row in a reason.
var divisors = []string{"the cell", "its divisor", "the reference ratio", "the reference ratio"}

// count fills in the row from the trials that count in a comparison at this confidence. value is that
// of the contrast. It can be called again with a higher confidence.
func (x *ContrastRow) count(value record.Quantity, confidence float64) {
	samples := x.samples
	if i := slices.Index(samples, nil); i >= 0 {
		x.Missing = "the run did not measure " + divisors[i]
		samples = samples[:1]
	}
	of := metrics(samples, value)
	samples, x.Busy = counting(samples, value, confidence)
	var all, paths []Series
	for i, s := range samples {
		all = append(all, s.Values(of[i].name))
		paths = append(paths, s.Values(record.RTTPath))
		if own(value) {
			all[i] = all[i].Positive()
		}
	}
	x.Metric, x.Unit = of[0].name, of[0].unit
	x.Value, x.Stalled = samples[0].estimate(x.Metric, all[0]), samples[0].stalls(x.Metric)
	x.window = stat.Middle(samples[0].Values(record.Window).medians())
	if len(all) == 1 {
		return
	}
	x.Base, x.BaseStalled = samples[1].estimate(of[1].name, all[1]), samples[1].stalls(of[1].name)
	for i, s := range samples {
		if s.Unresolved(of[i].name) {
			x.Missing = "the CPU time of " + divisors[i] + " is " + BelowSteps
			if x.pairs, x.paths, x.differs = (pairs{}), (pairs{}), nil; i < 2 {
				*[]*stat.Interval{&x.Value, &x.Base}[i] = stat.Interval{}
			}
		}
	}
	if x.Missing != "" {
		return
	}
	x.pairs, x.paths, x.differs = pairs{}, pairs{}, nil
	if x.Missing = missing(samples, all, of); x.Missing != "" {
		return
	}
	if x.pairs = quotients(all); len(x.pairs.blocks) == 0 {
		x.Missing = noCommonBlock
	}
	if len(all) == 2 && len(x.pairs.blocks) > 0 {
		x.Value, x.Base = samples[0].estimate(x.Metric, all[0].at(all[1].slots)), samples[1].estimate(of[1].name, all[1].at(all[0].slots))
		for i, v := range x.pairs.own {
			x.differs = append(x.differs, v-x.pairs.base[i])
		}
	}
	if value == "" {
		x.paths = quotients(paths)
	}
}

// counting returns the trials that count, as Steady does.
func counting(samples []*Sample, value record.Quantity, confidence float64) ([]*Sample, *Disturbance) {
	if !own(value) {
		return Steady(confidence, samples...)
	}
	var out []*Sample
	for _, s := range samples {
		out = append(out, s.whole())
	}
	return out, nil
}

// metrics returns the name and unit of the value of each sample. Without a value, samples of one probe
// share the value that most trials put first, as in tables; those of several have one each.
func metrics(samples []*Sample, value record.Quantity) (of []named) {
	firsts, one := map[named]int{}, true
	for _, s := range samples {
		for f, n := range s.whole().firsts {
			firsts[f] += n
		}
		one = one && s.probe == samples[0].probe
	}
	for _, s := range samples {
		n := named{name: cmp.Or(value, mostFrequent(firsts).name)}
		if value == "" && !one {
			n.name = s.whole().Metric()
		}
		for _, has := range s.whole().names {
			if has.Key == n.name.Whole() {
				n.unit = has.unit
			}
		}
		of = append(of, n)
	}
	return of
}

// missing says why samples have no ratio, "" if they can have one.
func missing(samples []*Sample, all []Series, of []named) string {
	for i, s := range samples {
		switch {
		case len(s.ok) == 0 && i == 0:
			return NoOKTrial
		case len(s.ok) == 0:
			return divisors[i] + " has no ok trial"
		case all[i].Len() == 0:
			return "no trial of " + divisors[i] + " reports " + cmp.Or(string(of[i].name), "a value")
		case i%2 == 1 && of[i].unit != of[i-1].unit:
			return fmt.Sprintf("measures %s in %s, %s %s in %s", of[i-1].name, of[i-1].unit, divisors[i], of[i].name, of[i].unit)
		}
	}
	return ""
}

// quotients pairs the first series with the second or, of four, the ratio of the first two with that of
// the others, in the blocks that have all.
func quotients(all []Series) pairs {
	blocks, v := Common(all...)
	if len(all) == 2 {
		return pairs{blocks, v[1], v[0]}
	}
	for i := range blocks {
		v[0][i], v[2][i] = v[0][i]/v[1][i], v[2][i]/v[3][i]
	}
	return pairs{blocks, v[2], v[0]}
}

func (c Contrasted) compare(each float64) {
	for i := range c.Rows {
		x := &c.Rows[i]
		if x.count(c.Value, each); len(x.pairs.blocks) == 0 {
			continue
		}
		p := x.pairs
		for _, i := range stat.Outliers(p.base, p.own) {
			x.Far = append(x.Far, Far{p.blocks[i], p.own[i] / p.base[i]})
		}
		x.Ratio = x.Busy.paired(p.base, p.own, each)
		if x.Ratio.N == 0 {
			x.Missing = cmp.Or(x.Ratio.Reason(), "no block has values above 0 on both sides")
		}
		if len(x.samples) == 2 && isRate(x.Unit) {
			x.MeanRatio = x.Busy.means(p)
		}
		x.Same, x.Detectable = x.Ratio.Contains(1), x.Ratio.Detectable()
		if len(x.paths.blocks) > 0 {
			x.Path = x.Busy.Widen(stat.Ratio(x.paths.base, x.paths.own, each))
		}
		if len(x.differs) > 0 {
			x.Difference = x.Busy.widenDifference(stat.Median(x.differs, each), max(x.Value.Center, x.Base.Center))
		}
	}
}

// Ends returns the interval of the median ratio where Ratio has none; an end that does not exist is 0.
func (x ContrastRow) Ends(confidence float64) (least, most float64) {
	i := x.Busy.Widen(stat.MedianRatio(x.pairs.base, x.pairs.own, confidence))
	if x.Ratio.Bounded() || i.Lo >= math.MaxFloat64 {
		return 0, 0
	} else if i.Hi >= math.MaxFloat64 {
		return i.Lo, 0
	}
	return i.Lo, i.Hi
}
