package costmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// The threads of the engine at both ends.
var agent, serve = record.CPUThread.Thread("h1", sample.EngineClient, ""), record.CPUThread.Thread("h2", sample.EngineServer, "")

// A truth holds the coefficients of a synthetic network, s.
type truth struct {
	pass, segment, byte float64 // of the sender
	receiver            float64 // per pass, and half as much per byte as the sender
}

func (c truth) at(segments, bytes float64) (sender, receiver float64) {
	return c.pass + c.segment*segments + c.byte*segments*bytes, c.receiver + c.byte*segments*bytes/2
}

// A maker makes the results of a synthetic machine, in which the sender is busy all the time.
type maker struct {
	seed   uint64
	rnd    *rand.Rand
	noise  float64 // of a trial's costs, standard deviation of the logarithm
	drift  float64 // of a block's, likewise
	blocks int
	all    []record.Result
}

func synthetic(seed uint64) *maker {
	return &maker{seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), noise: 0.03, drift: 0.05, blocks: 16}
}

// add adds a trial per block. observed is in pairs.
func (m *maker) add(network, probe string, cost func() (sender, receiver float64), values func(rate float64) []record.Value, levels map[string]string, observed ...string) {
	for b := 1; b <= m.blocks; b++ {
		slow := math.Exp(m.drift * rand.New(rand.NewPCG(m.seed, uint64(b))).NormFloat64()) // one for all cells of the block
		about := func(v float64) float64 { return v * slow * math.Exp(m.noise*m.rnd.NormFloat64()) }
		sender, receiver := cost()
		sender, receiver = about(sender), about(receiver)
		r := record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s-%s-%v", b, network, probe, levels), Block: b, Status: record.OK,
			Start: time.Unix(int64(1000*b+len(m.all)), 0), Elapsed: 1, Config: map[string]string{"network": network, "probe": probe}, Observed: map[string]string{"path.mtu": "1500"}}
		for f, l := range levels {
			r.Config[f] = l
		}
		for i := 0; i < len(observed); i += 2 {
			r.Observed[observed[i]] = observed[i+1]
		}
		const share = 0.99 // of the sender's CPU
		rate := share / sender
		r.Values = append(values(rate), record.Value{Name: "window", Unit: "s", Value: 1},
			record.CPUOwn.At("client").Value("core", share), record.CPUOwn.At("server").Value("core", rate*receiver),
			agent.Value("core", share), serve.Value("core", rate*receiver))
		m.all = append(m.all, r)
	}
}

func (m *maker) udp(network string, c truth, levels map[string]string, sizes ...float64) {
	for _, size := range sizes {
		m.add(network, fmt.Sprintf("udp-%g", size), func() (float64, float64) { return c.at(1, size) }, datagrams(size, 1), levels,
			"size", text(size), "send", "single", "batch", "1", "recv", "mmsg")
	}
}

func (m *maker) gso(network string, c truth, sizes ...Size) {
	for _, s := range sizes {
		m.add(network, fmt.Sprintf("gso-%gx%g", s.Bytes, s.Segments), func() (float64, float64) { return c.at(s.Segments, s.Bytes) }, datagrams(s.Bytes, s.Segments), nil,
			"size", text(s.Bytes), "send", "gso", "batch", text(s.Segments), "recv", "gro")
	}
}

func (m *maker) tcp(network string, c truth, sizes ...float64) {
	for _, size := range sizes {
		m.add(network, fmt.Sprintf("tcp-%g", size), func() (float64, float64) { return c.at(1, size) }, func(rate float64) []record.Value {
			return []record.Value{{Name: "throughput", Unit: "bit/s", Value: rate * size * 8}, {Name: "retransmits", Unit: "1"}}
		}, nil, "size", text(size), "mss", "1448", "streams", "1", "send", "copy", "recv", "copy")
	}
}

// requests adds udp-rr, whose messages cost both ends more than on a busy path.
func (m *maker) requests(network string, c truth, extra func(size float64) float64, sizes ...float64) {
	for _, size := range sizes {
		m.add(network, fmt.Sprintf("rr-%g", size), func() (float64, float64) {
			sender, receiver := c.at(1, size)
			message := sender + receiver + extra(size)
			return message, message // each end handles two messages of a transaction
		}, func(rate float64) []record.Value {
			return []record.Value{{Name: "rtt", Unit: "s", Value: 1e-5}, {Name: "transactions", Unit: "1/s", Value: rate}, {Name: "loss", Unit: "1"}}
		}, nil, "size", text(size))
	}
}

func datagrams(size, batch float64) func(float64) []record.Value {
	return func(rate float64) []record.Value {
		rate *= batch
		return []record.Value{{Name: "throughput", Unit: "bit/s", Value: rate * size * 8}, {Name: "packet.rate", Unit: "packet/s", Value: rate},
			{Name: "sent", Unit: "packet/s", Value: rate}, {Name: "delivered", Unit: "packet/s", Value: rate}}
	}
}

var options = analysis.Options{Baseline: "host", Networks: []string{"host", "bridge", "vxlan", "vxlan-overlay", "bridged"}}

func (m *maker) run() *analysis.Run { return analysis.New(m.all, options) }

func text(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// The coefficients are about those of a small virtual machine.
var (
	ofHost    = truth{pass: 3.0e-6, segment: 19e-9, byte: 0.29e-9, receiver: 0.5e-6}
	ofBridge  = truth{pass: 4.2e-6, segment: 19e-9, byte: 0.29e-9, receiver: 0.5e-6}
	ofTunnel  = truth{pass: 4.6e-6, segment: 19e-9, byte: 0.29e-9, receiver: 0.5e-6}
	ofOverlay = truth{pass: 7.0e-6, segment: 19e-9, byte: 0.29e-9, receiver: 0.5e-6} // host + 2 (bridge − host) + (vxlan − host)
	ofBridged = truth{pass: 5.4e-6, segment: 19e-9, byte: 0.29e-9, receiver: 0.5e-6}
)

// segmentsOf adds the networks that an overlay consists of.
func (m *maker) segmentsOf(overlay, bridged truth, sizes ...float64) {
	m.udp("host", ofHost, nil, sizes...)
	m.udp("bridge", ofBridge, nil, sizes...)
	m.udp("vxlan", ofTunnel, nil, sizes...)
	m.udp("vxlan-overlay", overlay, nil, sizes...)
	m.udp("bridged", bridged, nil, sizes...)
}
