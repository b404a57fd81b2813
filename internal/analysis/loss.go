package analysis

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// Loss returns the fraction of the packets or requests sent in ok trials that was lost.
func (r Row) Loss() (float64, bool) { return r.Lost.Center, r.Lost.N > 0 }

// lost returns the share of all packets or requests of the ok trials that was lost. N is 0 if trials do not
// report it.
//
// It is the sum of what was lost over that of what was sent. The mean of the trials' shares would be biased
// where a loss shortens a trial: a loop that stops at its first loss, as those of older versions nearly did,
// has a mean share of p·ln(1/p)/(1-p), 11 % for p = 3 %, but loses p of all that it sends.
func (s *Sample) lost() stat.Interval {
	sent, delivered := s.values[record.Sent.Whole()], s.values[record.Delivered.Whole()]
	blocks, v := blockMeans(sent, delivered)
	part, whole := slices.Clone(v[0]), v[0]
	for i := range blocks {
		part[i] -= v[1][i]
	}
	if len(blocks) == 0 || !(mean(whole) > 0) {
		part, whole = s.requests()
	}
	if len(part) == 0 || !(mean(whole) > 0) {
		return stat.Interval{}
	}
	return stat.Share(part, whole, single)
}

// stalled reports whether nothing arrived in a trial: the value is a rate of 0, or no request was answered.
func stalled(t *record.Result, metric record.Quantity) bool {
	v, ok := t.Get(metric)
	return ok && v.Value == 0 && isRate(v.Unit) || !ok && unanswered(t)
}

func isRate(unit string) bool { return strings.HasSuffix(unit, "/s") }

// A Stalls counts the trials of a cell in which nothing arrived. They count in ratios as the worst.
type Stalls struct {
	Trials int `json:"trials"`
	Of     int `json:"of"` // trials that count
}

// stalls returns nil if no trial stalled.
func (s *Sample) stalls(metric record.Quantity) *Stalls {
	n := 0
	for _, t := range s.ok {
		if stalled(t, metric) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &Stalls{n, len(s.ok)}
}

// requests returns by block how many requests were lost and how many were sent, in all ok trials that report
// a loss.
func (s *Sample) requests() (lost, sent []float64) {
	block := 0
	for _, t := range s.ok {
		share, ok := t.Get(record.Loss)
		if !ok {
			continue
		}
		if len(sent) == 0 || t.Block != block {
			block, lost, sent = t.Block, append(lost, 0), append(sent, 0)
		}
		n := asked(t, share.Value)
		lost[len(lost)-1] += n * share.Value
		sent[len(sent)-1] += n
	}
	return lost, sent
}

// asked returns how many requests a trial sent. Results of older versions have only the answered ones, and
// those of an older ping, which always sends the same number, have neither.
func asked(t *record.Result, loss float64) float64 {
	requests, known := t.Get(record.Requests)
	rate, answers := t.Get(record.Transactions)
	window, timed := t.Get(record.Window)
	switch {
	case known:
		return requests.Value
	case answers && timed && loss < 1:
		return rate.Value * window.Value / (1 - loss)
	}
	return 1
}
