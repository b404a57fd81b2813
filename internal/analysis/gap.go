package analysis

import (
	"math"

	"github.com/weir-bench/weir/internal/stat"
)

// A Gap takes apart what lies between UDP with one send per datagram and TCP, on
// one network and with packets of about the same size.
type Gap struct {
	Network  string            `json:"network"`
	Levels   map[string]string `json:"levels,omitempty"` // of other factors that vary
	Datagram float64           `json:"datagram"`         // bytes of payload
	Segment  float64           `json:"segment"`          // the same of TCP
	Modes    []SendMode        `json:"ways"`             // at least three, from Single to TCP
	Total    stat.Interval     `json:"total,omitzero"`   // the last mode ÷ the first
	// Product multiplies the steps. In every block it equals the total; the product of
	// estimates over blocks nearly does.
	Product float64 `json:"product,omitempty"`
	Checks  []Check `json:"checks,omitempty"`
	Extra   []Extra `json:"extra,omitempty"` // what the network adds to the baseline
	// All intervals of this gap hold together with the run's confidence; Each is the
	// confidence of one.
	Intervals int     `json:"intervals"`
	Each      float64 `json:"each"`
	Blocks    int     `json:"blocks"`            // in which every mode is ok and carried something
	Refused   string  `json:"refused,omitempty"` // why there are no ratios: too much was disturbed
}

// A SendMode is a row of a gap.
type SendMode struct {
	Kind string        `json:"kind"`
	Rate stat.Interval `json:"rate"` // bit/s of payload
	Time float64       `json:"time"` // s per packet of the gap's datagram size, at the median rate
	// Size is the size of what passes the path as one packet, in bytes with headers, and
	// Together how many packets of the wire that is, at least one. 0 is not known.
	Size     float64 `json:"size,omitempty"`
	Together float64 `json:"together,omitempty"`
	// Step is this mode ÷ the one before it in the same block.
	Step stat.Interval `json:"step,omitzero"`
}

// An Extra is what a network adds to the time of a packet on the baseline.
type Extra struct {
	Kind     string        `json:"kind"`          // of the mode
	Time     stat.Interval `json:"time,omitzero"` // s per packet of the gap's datagram size, the median over blocks
	Together float64       `json:"together,omitempty"`
	CPU      float64       `json:"cpu,omitempty"` // the same in CPU time of both ends; 0 is not known
}

// PerPass is what the network adds to one pass of the packets that pass together, s.
func (e Extra) PerPass() float64 { return e.Time.Center * e.Together }

// equalPackets is how far the payloads of TCP's packets and UDP's may differ. TCP's
// options are 12 bytes, and tunnels take some 50 of 1448 from packets that are
// chosen to fit all networks.
const equalPackets = 0.1

// Gaps finds the networks on which UDP with one send per datagram, a mode in which
// its datagrams share something, and TCP were measured with packets of about the
// same size.
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

// gap takes one network apart; base has the baseline's rows. It reports false where
// there is nothing to take apart.
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
		ends := i == 0 || i >= len(g.Modes)-2 // one datagram alone, most of them together, and TCP
		if _, ok := base[w.Kind]; ok && ends && network != r.Baseline {
			g.Extra = append(g.Extra, Extra{Kind: w.Kind, Together: w.Together})
		}
	}
	g.Intervals = len(g.Modes) - 1 + 1 + len(g.Checks) + len(g.Extra) // steps, and the total
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

// tcpMore is how much longer TCP's header is than UDP's, in bytes: 20, and 12 for the
// timestamp option, instead of 8 (RFC 9293, RFC 7323, RFC 768).
const tcpMore = 20 + 12 - 8

// packetSize is what the devices of the path say, or else the device of the end; 0 is
// not known.
func packetSize(r Row) float64 {
	for _, name := range []string{"packet.size.path", "packet.size"} {
		if s, ok := r.Get(name); ok {
			return s.Median
		}
	}
	return 0
}

// compare fills in the ratios. The steps and the total come from the same blocks.
func (g *Gap) compare(rows, base map[string]Row) {
	var chain []Row
	for _, w := range g.Modes {
		chain = append(chain, rows[w.Kind])
	}
	var v [][]float64
	if v, g.Refused = together(chain...); g.Refused == "" {
		g.Blocks, g.Product = len(v[0]), 1
		for i := range v[1:] {
			g.Modes[i+1].Step, _, _, _ = stat.Paired(v[i], v[i+1], g.Each)
			g.Product *= g.Modes[i+1].Step.Center
		}
		g.Total, _, _, _ = stat.Paired(v[0], v[len(v)-1], g.Each)
	}
	for i := range g.Checks {
		c := &g.Checks[i]
		if v, refused := together(rows[c.to], rows[c.of]); refused == "" {
			c.Ratio, _, _, _ = stat.Paired(v[0], v[1], g.Each)
		}
	}
	for i := range g.Extra {
		g.extra(&g.Extra[i], base[g.Extra[i].Kind], rows[g.Extra[i].Kind])
	}
}

// extra compares a row with the baseline's.
func (g Gap) extra(e *Extra, there, here Row) {
	v, refused := together(there, here)
	if refused != "" {
		return
	}
	var more []float64
	for i := range v[0] {
		more = append(more, 8*g.Datagram/v[1][i]-8*g.Datagram/v[0][i])
	}
	e.Time = stat.Median(more, g.Each)
	a, _, ok := there.Per("cpu.per.bit")
	if b, _, both := here.Per("cpu.per.bit"); ok && both {
		e.CPU = 8 * g.Datagram * (b - a)
	}
}

// together returns the values of each row in the blocks in which all rows are ok and
// none is 0, as after a stall; or why there is no verdict.
func together(rows ...Row) (values [][]float64, refused string) {
	var samples []*Sample
	var series []Series
	for _, r := range rows {
		samples, series = append(samples, r.sample), append(series, r.series.Positive())
	}
	_, values = Common(series...)
	return values, Refused(samples...)
}
