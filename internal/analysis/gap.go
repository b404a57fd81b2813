package analysis

import (
	"maps"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// A Gap takes apart what lies between UDP with one send per datagram and TCP, on
// one network and with packets of about the same size.
type Gap struct {
	Network  string            `json:"network"`
	Levels   map[string]string `json:"levels,omitempty"` // of other factors that vary
	Datagram float64           `json:"datagram"`         // bytes of payload
	Segment  float64           `json:"segment"`          // the same of TCP
	Ways     []Way             `json:"ways"`             // at least three, from Single to TCP
	Total    stat.Interval     `json:"total,omitzero"`   // the last way ÷ the first
	// Product is that of the steps. In every block it is the total; of estimates
	// over blocks it is so nearly.
	Product float64 `json:"product,omitempty"`
	Checks  []Check `json:"checks,omitempty"`
	Extra   []Extra `json:"extra,omitempty"` // what the network adds to the baseline
	// All intervals of this gap hold together with the pivot's confidence; Each is
	// that of one.
	Intervals int     `json:"intervals"`
	Each      float64 `json:"each"`
	Blocks    int     `json:"blocks"`            // in which all ways are ok and carried something
	Refused   string  `json:"refused,omitempty"` // why there are no ratios: too much was disturbed
}

// A Way is a row of a gap.
type Way struct {
	Kind string        `json:"kind"`
	Rate stat.Interval `json:"rate"` // bit/s of payload
	Time float64       `json:"time"` // s per packet of the gap's datagram size, at the median rate
	// Size is that of what passes the path as one packet, bytes with headers, and
	// Together how many packets of the wire that is, at least one. 0 is not known.
	Size     float64 `json:"size,omitempty"`
	Together float64 `json:"together,omitempty"`
	// Step is this way ÷ the one before it in the same block.
	Step stat.Interval `json:"step,omitzero"`
}

// An Extra is what a network adds to the time of a packet on the baseline.
type Extra struct {
	Kind     string        `json:"kind"`          // of the way
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

// Gaps finds the networks on which UDP with one send per datagram, a way in which
// its datagrams share something, and TCP were measured with packets of about the
// same size.
func (p Pivot) Gaps() []Gap {
	var out []Gap
	for _, g := range p.wayGroups() {
		for _, n := range p.Networks {
			if x, ok := p.gap(n, g.rows[n], g.rows[p.Baseline]); ok {
				x.Levels = g.levels
				out = append(out, x)
			}
		}
	}
	return out
}

// gap takes one network apart; base has the baseline's rows. It reports false where
// there is nothing to take apart.
func (p Pivot) gap(network string, rows, base map[string]Row) (Gap, bool) {
	g := Gap{Network: network, Datagram: rows[Single].Number("datagram"), Segment: rows[TCP].Number("mss")}
	if g.Datagram <= 0 || math.Abs(g.Segment/g.Datagram-1) > equalPackets {
		return g, false
	}
	for _, kind := range wayOrder {
		if r, ok := rows[kind]; ok {
			g.Ways = append(g.Ways, g.way(kind, r, rows[Single]))
		}
	}
	if len(g.Ways) < 3 {
		return g, false
	}
	for _, c := range checks {
		_, of := rows[c.of]
		if _, to := rows[c.to]; of && to {
			g.Checks = append(g.Checks, c)
		}
	}
	for i, w := range g.Ways {
		ends := i == 0 || i >= len(g.Ways)-2 // one datagram alone, most of them together, and TCP
		if _, ok := base[w.Kind]; ok && ends && network != p.Baseline {
			g.Extra = append(g.Extra, Extra{Kind: w.Kind, Together: w.Together})
		}
	}
	g.Intervals = len(g.Ways) - 1 + 1 + len(g.Checks) + len(g.Extra) // steps, and the total
	g.Each = stat.Adjust(p.Confidence, g.Intervals)
	g.compare(rows, base)
	return g, true
}

func (g Gap) way(kind string, r, single Row) Way {
	w := Way{Kind: kind, Rate: r.Value, Size: packetSize(r)}
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

// tcpMore is how much longer TCP's header is than UDP's, bytes: 20 and 12 of the
// option of timestamps, and not 8 (RFC 9293, RFC 7323, RFC 768).
const tcpMore = 20 + 12 - 8

// packetSize is what the devices of the path say, or else that of the end; 0 is
// not known.
func packetSize(r Row) float64 {
	for _, name := range []string{"packet.size.path", "packet.size"} {
		if s, ok := r.Get(name); ok {
			return s.Median
		}
	}
	return 0
}

// compare fills in what is compared. The steps and the total are of the same blocks.
func (g *Gap) compare(rows, base map[string]Row) {
	var chain []Row
	for _, w := range g.Ways {
		chain = append(chain, rows[w.Kind])
	}
	if g.Refused = refused(chain...); g.Refused == "" {
		v := perBlocks(chain...)
		last := len(v) - 1
		g.Blocks, g.Product = len(v[0]), 1
		for i := range v[1:] {
			g.Ways[i+1].Step, _, _, _ = stat.Paired(v[i], v[i+1], g.Each)
			g.Product *= g.Ways[i+1].Step.Center
		}
		g.Total, _, _, _ = stat.Paired(v[0], v[last], g.Each)
	}
	for i := range g.Checks {
		c := &g.Checks[i]
		if of, to := rows[c.of], rows[c.to]; refused(of, to) == "" {
			v := perBlocks(to, of)
			c.Ratio, _, _, _ = stat.Paired(v[0], v[1], g.Each)
		}
	}
	for i := range g.Extra {
		if e := &g.Extra[i]; refused(base[e.Kind], rows[e.Kind]) == "" {
			g.extra(e, base[e.Kind], rows[e.Kind])
		}
	}
}

func (g Gap) extra(e *Extra, there, here Row) {
	var more []float64
	v := perBlocks(there, here)
	for i := range v[0] {
		more = append(more, 8*g.Datagram/v[1][i]-8*g.Datagram/v[0][i])
	}
	e.Time = stat.Median(more, g.Each)
	a, ok := there.cpuTime(8 * g.Datagram)
	if b, both := here.cpuTime(8 * g.Datagram); ok && both {
		e.CPU = b - a
	}
}

// cpuTime is the CPU time of both ends per so many bits of payload, s, of all ok
// trials together (see Per).
func (r Row) cpuTime(bits float64) (float64, bool) {
	perBit, _, ok := r.Per("cpu.per.bit")
	return bits * perBit, ok
}

// perBlocks returns the values of each row, in the order of the blocks in which
// all rows are ok and none is 0, as after a stall.
func perBlocks(rows ...Row) [][]float64 {
	in := make([]map[int]float64, len(rows))
	for i, r := range rows {
		in[i] = r.values().perBlock(median)
		maps.DeleteFunc(in[i], func(_ int, v float64) bool { return v <= 0 })
	}
	out := make([][]float64, len(rows))
	for _, block := range slices.Sorted(maps.Keys(in[0])) {
		if slices.ContainsFunc(in, func(m map[int]float64) bool { _, ok := m[block]; return !ok }) {
			continue
		}
		for i := range out {
			out[i] = append(out[i], in[i][block])
		}
	}
	return out
}

// refused is Refused for rows.
func refused(rows ...Row) string {
	var cells [][]record.Result
	for _, r := range rows {
		var trials []record.Result
		for _, p := range r.Points {
			trials = append(trials, record.Result{Block: p.Block, Status: p.Status})
		}
		cells = append(cells, trials)
	}
	return Refused(cells...)
}
