package costmodel

import (
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Prediction is the time that a client needs per request of an application on a network, as its time on the baseline and the path's
// own price predict it, beside the measured time. All are medians over blocks, and each interval holds by itself.
type Prediction struct {
	analysis.Cell
	By string `json:"by"` // the probe that has the price of a round trip
	// Waits: with one request in flight, a client waits for the path, whose price is a response time. Otherwise client and server work all
	// the time, and the price is CPU time of one end.
	Waits      bool `json:"waits"`
	RoundTrips int  `json:"roundTrips"` // per request

	Base      stat.Interval `json:"base"`      // s per request on the baseline
	Added     stat.Interval `json:"added"`     // s that the network adds by its price
	Predicted stat.Interval `json:"predicted"` // Base and Added
	Measured  stat.Interval `json:"measured"`  // s per request on the network
	Ratio     stat.Interval `json:"ratio"`     // Predicted ÷ Measured
	Residue   stat.Interval `json:"residue"`   // Measured − Predicted, s: what the price of the path does not explain
}

// Probes that have the price of a path.
const (
	tcpPrice    = "tcp-rr"
	udpPrice    = "udp-rr"
	streamPrice = "tcp-stream"
)

// packetPayload is the most TCP payload that a packet carries on Ethernet, bytes. A longer message also pays the price of a stream.
const packetPayload = 1448

// Predict returns a prediction per application and network of a run that measured the price of both paths.
func Predict(run *analysis.Run, probes map[string]probe.Info) (out []Prediction) {
	for i := range run.Tables {
		t := &run.Tables[i]
		asks := probes[t.Probe].Asks
		if asks.RoundTrips == 0 {
			continue
		}
		m := model{run: run, application: t, asks: asks, by: tcpPrice}
		if probes[t.Probe].Datagrams {
			m.by = udpPrice
		}
		for _, row := range t.Rows {
			if p, ok := m.predict(row); ok && !row.Baseline {
				out = append(out, p)
			}
		}
	}
	return out
}

// A model is Amdahl's law: of a request's time, the network changes the part that its packets take, and nothing else.
type model struct {
	run         *analysis.Run
	application *analysis.Table
	asks        probe.Asks
	by          string
}

// A quotient is a time per unit of work: a quantity, the inverse of one, or one divided by another.
type quotient struct{ over, under record.Quantity }

func (q quotient) series(r analysis.Row) (all []analysis.Series) {
	for _, x := range []record.Quantity{q.over, q.under} {
		if x != "" {
			all = append(all, r.Measured(x))
		}
	}
	return all
}

// take returns the quotients in all blocks, and the values that follow those of its series.
func (q quotient) take(vs [][]float64) (out []float64, rest [][]float64) {
	out = slices.Repeat([]float64{1}, len(vs[0]))
	if q.over != "" {
		out, vs = slices.Clone(vs[0]), vs[1:]
	}
	if q.under != "" {
		for i := range out {
			out[i] /= vs[0][i]
		}
		vs = vs[1:]
	}
	return out, vs
}

// A part is a difference of prices between a network and the baseline, and how often a request pays it.
type part struct {
	quotient
	own, base analysis.Row
	times     float64
}

func (m model) predict(row analysis.Row) (p Prediction, ok bool) {
	base, ok := m.application.Row(m.run.Baseline)
	parts := m.parts(row.Network)
	if !ok || len(parts) == 0 {
		return p, false
	}
	request := quotient{under: m.application.Metric}
	if m.application.Unit == "s" {
		request = quotient{over: m.application.Metric}
	}
	all := append(request.series(row), request.series(base)...)
	for _, x := range parts {
		all = append(append(all, x.series(x.own)...), x.series(x.base)...)
	}
	blocks, vs := analysis.Common(all...)
	if len(blocks) == 0 {
		return p, false
	}
	measured, vs := request.take(vs)
	on, vs := request.take(vs)
	added := make([]float64, len(on))
	for _, x := range parts {
		var own, of []float64
		own, vs = x.take(vs)
		of, vs = x.take(vs)
		for i := range added {
			added[i] += x.times * (own[i] - of[i])
		}
	}
	p = Prediction{Cell: m.application.Cell(row), By: m.by, Waits: m.waits(), RoundTrips: m.asks.RoundTrips}
	p.fill(on, added, measured)
	return p, true
}

func (p *Prediction) fill(base, added, measured []float64) {
	predicted, left := make([]float64, len(base)), make([]float64, len(base))
	for i := range base {
		predicted[i] = max(0, base[i]+added[i])
		left[i] = measured[i] - predicted[i]
	}
	middle := func(v []float64) stat.Interval { return stat.Median(v, confidence) }
	p.Base, p.Added, p.Predicted, p.Measured, p.Residue = middle(base), middle(added), middle(predicted), middle(measured), middle(left)
	p.Ratio = stat.Ratio(measured, predicted, confidence)
}

func (m model) waits() bool { return m.asks.InFlight <= 1 }

// parts returns what a request pays on the network called name; nil if the run lacks a price of it or of the baseline.
func (m model) parts(name string) (parts []part) {
	roundTrip, bit, share := quotient{over: record.RTT}, quotient{under: record.Throughput}, 1.0
	if !m.waits() {
		roundTrip, bit, share = quotient{record.CPUOwn, record.Transactions}, quotient{record.CPUOwn, record.Throughput}, 0.5 // of both ends
	}
	add := func(probe string, q quotient, times float64) bool {
		i := slices.IndexFunc(m.run.Tables, func(t analysis.Table) bool { return t.Probe == probe && maps.Equal(t.Config, m.application.Config) })
		if i < 0 {
			return false
		}
		own, a := m.run.Tables[i].Row(name)
		base, b := m.run.Tables[i].Row(m.run.Baseline)
		if !a || !b || record.Wait.Of(own.Observed) == record.Spinning || record.Size.Of(own.Observed) > packetPayload && probe != streamPrice {
			return false
		}
		parts = append(parts, part{q, own, base, times * share})
		return true
	}
	if !add(m.by, roundTrip, float64(m.asks.RoundTrips)) {
		return nil
	}
	if more := m.asks.Bytes - packetPayload; more > 0 && !add(streamPrice, bit, 8*float64(more)) {
		return nil
	}
	return parts
}
