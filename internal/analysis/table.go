package analysis

import (
	"cmp"
	"encoding/json"
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
	Metric record.Quantity   `json:"metric"`           // first value of the trials; "" if no trial is ok
	Unit   string            `json:"unit"`
	Rows   []Row             `json:"rows"`
}

// A Row is one cell and its comparison with the baseline.
type Row struct {
	Network  string `json:"network"`
	Level    string `json:"-"` // of the row factor; the network in a Run's tables
	Baseline bool   `json:"baseline,omitempty"`
	// Value is the median over the blocks of Ratio, or over all that count where there is none, and Base that of the
	// baseline over the same blocks; N is 0 without Ratio. Each holds by itself.
	Value stat.Interval `json:"value"`
	Base  stat.Interval `json:"base,omitzero"`
	// Ratio is this row ÷ the baseline in the same block. N is 0 if there is none.
	Ratio      stat.Interval `json:"ratio,omitzero"`
	Detectable float64       `json:"detectable,omitempty"` // smallest relative difference that would have shown
	Same       bool          `json:"same,omitempty"`       // the interval of Ratio contains 1
	OtherRuns  *OtherRuns    `json:"beyond,omitempty"`     // nil if earlier runs have not shown how much runs differ
	Shared     int           `json:"-"`                    // blocks in Ratio
	// Far holds the blocks whose ratio is far from the others. They still count.
	Far []Far `json:"far,omitempty"`
	// Stalled counts the trials in which nothing arrived: the value is 0, or no request was answered. They
	// are the worst of all in Value and Ratio. It is nil if there are none.
	Stalled *Stalls `json:"stalled,omitempty"`
	// MeanRatio is the sum over the blocks of Ratio ÷ the baseline's: the ratio of means, which a network
	// that stalls in a tenth of its trials lowers by a tenth. It is there only if a rate of 0 is in Ratio.
	// Its interval holds by itself.
	MeanRatio stat.Interval `json:"meanRatio,omitzero"`
	// Lost is the share of the packets or requests of all trials that was lost, with the interval of a share
	// over blocks. N is 0 if the probe does not report it.
	Lost stat.Interval `json:"lost,omitzero"`
	// Echo is what ping(8) would print of all requests together; nil if the probe is not a ping.
	Echo *Echo `json:"echo,omitempty"`
	// Path is the ratio of the network's part of response times; N is 0 if trials do not split
	// them.
	Path stat.Interval `json:"path,omitzero"`
	// Own is the CPU cost by the clocks of the workload's threads; zero if trials did not read them.
	Own     OwnCost   `json:"own,omitzero"`
	Values  []Summary `json:"values,omitempty"` // in the order of the trials
	Points  []Point   `json:"points"`           // every trial, by block
	OK      int       `json:"ok"`
	Invalid int       `json:"invalid,omitempty"`
	Failed  int       `json:"failed,omitempty"`
	Skipped int       `json:"skipped,omitempty"`
	// Disturbed counts the trials during which something outside the run used the machine. They
	// count like ok trials if Busy is set, because too few others remain.
	Disturbed int          `json:"disturbed,omitempty"`
	Busy      *Disturbance `json:"busy,omitempty"`
	// Percentiles have intervals over the blocks that hold each by itself; a percentile is missing if
	// too few responses exceed it.
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// Observed is the values that all ok trials share; Wire is its numbers.
	Observed record.Observed `json:"found,omitempty"`
	Wire     Wire            `json:"-"`
	// Notes are those that the ok trials recorded, sorted.
	Notes []Noted `json:"notes,omitempty"`

	// Hist merges the response times of all ok trials, in ns; nil if the probe gives none.
	// Unreadable names trials with a damaged histogram, by block. TooLong counts response times above LongestTime.
	Hist       *hdrhistogram.Histogram `json:"-"`
	Unreadable []string                `json:"-"`
	TooLong    int64                   `json:"-"`
	// Unlike counts the counted trials without the table's metric and unit.
	Unlike int `json:"-"`

	sample  *Sample
	base    *Sample // the baseline's; nil without one
	counted *Sample // that Steady chose of sample
	metric  record.Quantity
	unit    string
	series  Series // of the metric
	pairs   pairs  // of the metric, with the baseline's
	paths   pairs  // of the network's part of response times
	costs   Series // of Own
	owns    pairs  // of Own, with the baseline's
}

type Far struct {
	Block int     `json:"block"`
	Ratio float64 `json:"ratio"`
}

// A Noted is a note that trials recorded, and how many did.
type Noted struct {
	record.Note
	Trials int `json:"trials"`
}

// A Summary is one value over the blocks.
type Summary struct {
	record.Key
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	// Mean serves values that add up, such as loss, which a median hides if few blocks have it.
	Mean float64 `json:"mean"`
	// SD is the standard deviation over blocks around Mean, with N-1 in the denominator; 0 for one block.
	SD float64 `json:"sd"`
	N  int     `json:"n"` // blocks
	// unresolved means that the value is a cost below what the counters resolve (see Cost).
	unresolved bool
}

// BelowSteps is why a value is missing although a trial stored it.
const BelowSteps = "below what the counters resolve"

// Impossible reports whether a value is a CPU time below 0. Trials store such differences, because
// sums over trials would be biased without them (ADR 10), but no report shows them.
func Impossible(unit string, v float64) bool { return v < 0 && (unit == "core" || unit == "s") }

// MarshalJSON leaves impossible and unresolved numbers out and says so.
func (s Summary) MarshalJSON() ([]byte, error) {
	out := struct {
		record.Key
		Unit    string   `json:"unit"`
		Median  *float64 `json:"median,omitempty"`
		Mean    *float64 `json:"mean,omitempty"`
		SD      *float64 `json:"sd,omitempty"`
		N       int      `json:"n"`
		Missing string   `json:"missing,omitempty"`
	}{Key: s.Key, Unit: s.Unit, Median: &s.Median, Mean: &s.Mean, SD: &s.SD, N: s.N}
	for _, v := range []**float64{&out.Median, &out.Mean} {
		if s.unresolved || Impossible(s.Unit, **v) {
			*v, out.Missing = nil, BelowSteps
		}
	}
	if s.unresolved {
		out.SD = nil
	}
	return json.Marshal(out)
}

type Point struct {
	Trial   string        `json:"trial"`
	Block   int           `json:"block"`
	Pair    string        `json:"pair,omitempty"`    // of hosts, A-B, when the study measures all
	Swapped bool          `json:"swapped,omitempty"` // client and server changed places
	Status  record.Status `json:"status"`
	Reason  string        `json:"reason,omitempty"`
	Value   float64       `json:"value"` // of the table's metric
	Has     bool          `json:"has"`   // whether the trial gave one
}

// single is the confidence of the intervals of medians, which are not compared.
const single = 0.95

func (r *Row) fill(metric record.Quantity, unit string) {
	s := r.counted
	r.Stalled = s.stalls(metric)
	r.metric, r.unit, r.series, r.Points = metric, unit, s.Values(metric), make([]Point, 0, len(s.trials))
	for _, t := range s.trials {
		v, has := t.Get(metric)
		r.Points = append(r.Points, Point{Trial: t.Trial, Block: t.Block, Pair: t.Config[hostPair], Swapped: record.Swapped.Of(t.Observed),
			Status: t.status, Reason: t.reason, Value: v.Value, Has: has})
		switch {
		case !s.counts(t):
		case stalled(t.Result, metric):
		case !has || v.Unit != unit:
			r.Unlike++
		}
		switch t.status {
		case record.OK:
			r.OK++
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
	if len(s.ok) > 0 {
		r.Value = stat.Median(r.series.medians(), single)
	}
	for _, v := range s.names {
		vs := s.values[v.Key]
		medians, means := vs.medians(), vs.perBlock(mean)
		r.Values = append(r.Values, Summary{Key: v.Key, Unit: v.unit,
			Median: stat.Middle(medians), Mean: mean(means), SD: deviation(means), N: len(medians)})
	}
	r.Own, r.costs = s.ownCost()
	for i := range r.Values {
		if r.Values[i].About != (record.About{}) {
			continue
		}
		c, ok := r.CostPer(r.Values[i].Name)
		r.Values[i].unresolved = ok && c.Unresolved
	}
	r.Lost = s.lost()
	r.Observed = s.common()
	r.Wire = wire(r.Observed)
	var blocks []block
	r.Hist, blocks, r.Unreadable, r.TooLong = s.merged()
	r.tails(blocks)
	if _, ping := r.Get(record.RTTMdev); ping && r.Hist != nil {
		r.Echo = echo(r.Hist)
	}
	r.Notes = s.notes()
}

// common returns the observations that all ok trials share.
func (s *Sample) common() record.Observed {
	if len(s.ok) == 0 {
		return nil
	}
	out := maps.Clone(s.ok[0].Observed)
	for _, t := range s.ok[1:] {
		maps.DeleteFunc(out, func(k, v string) bool { return t.Observed[k] != v })
	}
	return out
}

func (s *Sample) notes() (out []Noted) {
	at := map[string]int{} // by the text, in which a note's code and arguments show
	for _, t := range s.ok {
		for _, n := range t.Notes {
			i, ok := at[n.String()]
			if !ok {
				i = len(out)
				at[n.String()], out = i, append(out, Noted{Note: n})
			}
			out[i].Trials++
		}
	}
	slices.SortFunc(out, func(a, b Noted) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// Trials returns the number of all trials of the row.
func (r Row) Trials() int { return r.OK + r.Invalid + r.Failed + r.Skipped + r.Disturbed }

// Counts reports whether trials of the row with this status count.
func (r Row) Counts(s record.Status) bool {
	return s == record.OK || s == record.Disturbed && r.Busy != nil
}

// Counted returns the number of trials that count.
func (r Row) Counted() int {
	if r.Busy != nil {
		return r.OK + r.Disturbed
	}
	return r.OK
}

// Measured returns q of the trials that count.
func (r Row) Measured(q record.Quantity) (s Series) {
	if r.counted != nil {
		s = r.counted.Values(q)
	}
	return s
}

// Get returns q of the whole trial over the blocks.
func (r Row) Get(q record.Quantity) (Summary, bool) { return r.Summary(q.Whole()) }

// Summary returns the value with a key over the blocks.
func (r Row) Summary(k record.Key) (Summary, bool) {
	if i := slices.IndexFunc(r.Values, func(s Summary) bool { return s.Key == k }); i >= 0 {
		return r.Values[i], true
	}
	return Summary{}, false
}

func (t Table) Row(network string) (Row, bool) {
	if i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Network == network }); i >= 0 {
		return t.Rows[i], true
	}
	return Row{}, false
}
