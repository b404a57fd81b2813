package analysis

import (
	"math"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Gap splits the difference between UDP with one send per datagram and TCP, on one network and
// with packets of about the same size.
type Gap struct {
	Network  string            `json:"network"`
	Levels   map[string]string `json:"levels,omitempty"` // of other factors that vary
	Datagram float64           `json:"datagram"`         // bytes of payload
	Segment  float64           `json:"segment"`          // bytes of TCP payload
	Modes    []SendMode        `json:"ways"`             // at least three, from Single to TCP
	Total    stat.Interval     `json:"total,omitzero"`   // the last mode ÷ the first
	// Product multiplies the steps: exactly the total in a block, nearly so over blocks. It is 0 if a mode
	// carried nothing.
	Product float64 `json:"product,omitempty"`
	Checks  []Check `json:"checks,omitempty"`
	Extra   []Extra `json:"extra,omitempty"` // added to the baseline by the network
	// All intervals of this gap hold together with the run's confidence, each with Each.
	Intervals int     `json:"intervals"`
	Each      float64 `json:"each"`
	Blocks    int     `json:"blocks"` // with data for every mode
	// Busy is set if disturbed trials count in the steps and the total.
	Busy *Disturbance `json:"busy,omitempty"`
}

// A SendMode is a row of a gap.
type SendMode struct {
	Kind string        `json:"kind"`
	Rate stat.Interval `json:"rate"` // bit/s of payload
	Time float64       `json:"time"` // s per packet of the gap's datagram size, at the median rate
	// Size is the size of one packet on the path, in bytes with headers; Together is how many wire
	// packets that is, at least one. 0 means unknown.
	Size     float64 `json:"size,omitempty"`
	Together float64 `json:"together,omitempty"`
	// Step is this mode ÷ the previous one in the same block.
	Step stat.Interval `json:"step,omitzero"`
}

// An Extra is the time that a network adds to a packet on the baseline.
type Extra struct {
	Kind     string        `json:"kind"`          // of the mode
	Time     stat.Interval `json:"time,omitzero"` // s per packet of the gap's datagram size, the median over blocks
	Together float64       `json:"together,omitempty"`
	CPU      float64       `json:"cpu,omitempty"` // CPU time of both ends, s per packet; 0 means unknown
}

// PerPass returns the time that the network adds to one pass, in seconds.
func (e Extra) PerPass() float64 { return e.Time.Center * e.Together }

// equalPackets is how far TCP and UDP payloads can differ. TCP options take 12 bytes, and tunnels
// take some 50 of 1448 from packets chosen to fit all networks.
const equalPackets = 0.1

// Gaps returns the networks measured with comparable packets in Single, a middle mode, and TCP.
func (r *Run) Gaps() []Gap {
	var out []Gap
	for _, g := range r.modeGroups() {
		for _, n := range r.Networks {
			if x, ok := r.gap(n, g.rows[n], g.rows[r.Baseline]); ok {
				x.Levels = g.levels
				out = append(out, x)
			}
		}
	}
	return out
}

// gap returns false if there is nothing to split; base holds the baseline's rows.
func (r *Run) gap(network string, rows, base map[string]Row) (Gap, bool) {
	g := Gap{Network: network, Datagram: rows[Single].Wire.Datagram, Segment: rows[TCP].Wire.Segment}
	if g.Datagram <= 0 || math.Abs(g.Segment/g.Datagram-1) > equalPackets {
		return g, false
	}
	for _, kind := range modeOrder {
		if row, ok := rows[kind]; ok {
			g.Modes = append(g.Modes, g.mode(kind, row, rows[Single]))
		}
	}
	if len(g.Modes) < 3 {
		return g, false
	}
	for _, c := range checks {
		_, of := rows[c.of]
		if _, to := rows[c.to]; of && to {
			g.Checks = append(g.Checks, c)
		}
	}
	for i, w := range g.Modes {
		ends := i == 0 || i >= len(g.Modes)-2 // Single, the most aggregated UDP mode, and TCP
		if _, ok := base[w.Kind]; ok && ends && network != r.Baseline {
			g.Extra = append(g.Extra, Extra{Kind: w.Kind, Together: w.Together})
		}
	}
	g.Intervals = len(g.Modes) - 1 + 1 + len(g.Checks) + len(g.Extra) // steps, total, checks, extras
	g.Each = stat.Adjust(r.Confidence, g.Intervals)
	g.compare(rows, base)
	return g, true
}

func (g Gap) mode(kind string, r, single Row) SendMode {
	w := SendMode{Kind: kind, Rate: r.Value, Size: packetSize(r)}
	if w.Rate.Center > 0 {
		w.Time = 8 * g.Datagram / w.Rate.Center
	}
	payload, header := g.Datagram, packetSize(single)-g.Datagram // one send is one packet
	if kind == TCP {
		payload, header = g.Segment, header+tcpMore
	}
	if w.Size > 0 && header > 0 {
		w.Together = max(1, (w.Size-header)/payload)
	}
	return w
}

// tcpMore is how much longer TCP's header is than UDP's, in bytes: 20, and 12 for timestamps,
// instead of 8 (RFC 9293, RFC 7323, RFC 768).
const tcpMore = 20 + 12 - 8

// packetSize prefers the size counted on the path to that of the end's device; 0 means unknown.
func packetSize(r Row) float64 {
	for _, name := range []record.Quantity{record.PacketSizePath, record.PacketSize} {
		if s, ok := r.Get(name); ok {
			return s.Median
		}
	}
	return 0
}

// compare takes the steps and the total from the same blocks.
func (g *Gap) compare(rows, base map[string]Row) {
	var chain []Row
	for _, w := range g.Modes {
		chain = append(chain, rows[w.Kind])
	}
	v, busy := together(g.Each, chain...)
	g.Blocks, g.Product, g.Busy = len(v[0]), 1, busy
	for i := range v[1:] {
		g.Modes[i+1].Step = busy.paired(v[i], v[i+1], g.Each)
		g.Product *= g.Modes[i+1].Step.Center
	}
	g.Total = busy.paired(v[0], v[len(v)-1], g.Each)
	for i := range g.Checks {
		c := &g.Checks[i]
		v, busy := together(g.Each, rows[c.to], rows[c.of])
		c.Ratio = busy.paired(v[0], v[1], g.Each)
	}
	for i := range g.Extra {
		g.extra(&g.Extra[i], base[g.Extra[i].Kind], rows[g.Extra[i].Kind])
	}
}

func (g Gap) extra(e *Extra, there, here Row) {
	v, _ := together(g.Each, there, here)
	var more []float64
	for i := range v[0] {
		more = append(more, 8*g.Datagram/v[1][i]-8*g.Datagram/v[0][i])
	}
	e.Time = stat.Median(more, g.Each)
	a, _, ok := there.Per(record.CPUPerBit)
	if b, _, both := here.Per(record.CPUPerBit); ok && both {
		e.CPU = 8 * g.Datagram * (b - a)
	}
}

// together returns the values of each row in the blocks where all rows have trials that count.
func together(confidence float64, rows ...Row) (values [][]float64, busy *Disturbance) {
	var samples []*Sample
	for _, r := range rows {
		samples = append(samples, r.sample)
	}
	samples, busy = Steady(confidence, samples...)
	var series []Series
	for i, s := range samples {
		series = append(series, s.Values(rows[i].metric))
	}
	_, values = Common(series...)
	return values, busy
}
