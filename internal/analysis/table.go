package analysis

import (
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Table holds the levels of one factor under one combination of the others.
type Table struct {
	Probe  string            `json:"probe"`
	Config map[string]string `json:"asked,omitempty"`  // all other factors
	Levels map[string]string `json:"levels,omitempty"` // those that vary between tables of this probe
	Metric string            `json:"metric"`           // the first value of the trials; "" when no trial is ok
	Unit   string            `json:"unit"`
	Rows   []Row             `json:"rows"`
}

// A Row is one cell and its comparison with the baseline's.
type Row struct {
	Network  string `json:"network"`
	Level    string `json:"-"` // of the factor that makes the rows; the network in the tables of a Run
	Baseline bool   `json:"baseline,omitempty"`
	// Value is the median over blocks, with an interval that holds by itself.
	Value stat.Interval `json:"value"`
	// Ratio is this row divided by the baseline of the same block. N is 0 when there is
	// nothing to divide.
	Ratio      stat.Interval `json:"ratio,omitzero"`
	Detectable float64       `json:"detectable,omitempty"` // the smallest relative difference that would have shown
	Same       bool          `json:"same,omitempty"`       // the interval of Ratio contains 1
	Shared     int           `json:"-"`                    // blocks that Ratio was made of
	// Far holds the blocks whose ratio is far from that of the others. They count like
	// any other block: an outlier is a reason to look, not to drop.
	Far []Far `json:"far,omitempty"`
	// Path is the ratio of the network's part of the response times alone. N is 0 when
	// the trials do not take them apart.
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
	// Observed is what all ok trials of the cell saw alike, and Wire its numbers.
	Observed map[string]string `json:"found,omitempty"`
	Wire     Wire              `json:"-"`
	// Warnings are those that the ok trials recorded, sorted.
	Warnings []Warning `json:"warnings,omitempty"`

	// Hist is the latency of all ok trials together, in nanoseconds; nil when the probe
	// gives none. Unreadable counts the trials whose histogram is damaged, TooLong the
	// response times above LongestTime.
	Hist       *hdrhistogram.Histogram `json:"-"`
	Unreadable int                     `json:"-"`
	TooLong    int64                   `json:"-"`
	// Unlike counts the ok trials that have no value of the table's metric and unit.
	Unlike int `json:"-"`

	sample *Sample
	series Series // of the metric
	pairs  pairs  // of the metric, with the baseline's; N of Ratio is 0 when there are none
	paths  pairs  // of the network's part of response times, likewise
}

// A Far is a block that is far from the others.
type Far struct {
	Block int     `json:"block"`
	Ratio float64 `json:"ratio"`
}

// A Warning is what trials recorded about themselves, and how many did.
type Warning struct {
	Text   string `json:"text"`
	Trials int    `json:"trials"`
}

// A Summary is one named value over the blocks.
type Summary struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	// Mean is for values that add up, such as packets and shares that were lost: a
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

// single is the confidence of the intervals of medians, which are not compared.
const single = 0.95

// fill lays the sample out; metric and unit are the table's.
func (r *Row) fill(metric, unit string) {
	s := r.sample
	r.series, r.Points = s.Values(metric), make([]Point, 0, len(s.trials))
	for _, t := range s.trials {
		v, has := t.Get(metric)
		r.Points = append(r.Points, Point{Trial: t.Trial, Block: t.Block, Pair: t.Config[hostPair], Swapped: t.Observed[swapped] == "true",
			Status: t.status, Reason: t.reason, Value: v.Value, Has: has})
		switch t.status {
		case record.OK:
			r.OK++
			if !has || v.Unit != unit {
				r.Unlike++
			}
		case record.Invalid:
			r.Invalid++
		case record.Skipped:
			r.Skipped++
		case record.Disturbed:
			r.Disturbed++
		default:
			r.Failed++
		}
	}
	if r.OK > 0 {
		r.Value = stat.Median(r.series.medians(), single)
	}
	for _, v := range s.names {
		vs := s.values[v.name]
		medians := vs.medians()
		r.Values = append(r.Values, Summary{Name: v.name, Unit: v.unit,
			Median: median(medians), Mean: mean(vs.perBlock(mean)), N: len(medians)})
	}
	r.Observed = s.common()
	r.Wire = wire(r.Observed)
	r.Hist, r.Unreadable, r.TooLong = s.merged()
	r.Warnings = s.warnings()
}

// common returns what every ok trial observed alike.
func (s *Sample) common() map[string]string {
	if len(s.ok) == 0 {
		return nil
	}
	out := maps.Clone(s.ok[0].Observed)
	for _, t := range s.ok[1:] {
		maps.DeleteFunc(out, func(k, v string) bool { return t.Observed[k] != v })
	}
	return out
}

// warnings returns those of the ok trials.
func (s *Sample) warnings() (out []Warning) {
	count := map[string]int{}
	for _, t := range s.ok {
		for _, w := range t.Warnings {
			count[w]++
		}
	}
	for _, w := range slices.Sorted(maps.Keys(count)) {
		out = append(out, Warning{w, count[w]})
	}
	return out
}

// Trials returns the number of all trials of the row.
func (r Row) Trials() int { return r.OK + r.Invalid + r.Failed + r.Skipped + r.Disturbed }

// Get returns the summary called name.
func (r Row) Get(name string) (Summary, bool) {
	if i := slices.IndexFunc(r.Values, func(s Summary) bool { return s.Name == name }); i >= 0 {
		return r.Values[i], true
	}
	return Summary{}, false
}

// Row returns the row of a network.
func (t Table) Row(network string) (Row, bool) {
	if i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Network == network }); i >= 0 {
		return t.Rows[i], true
	}
	return Row{}, false
}
