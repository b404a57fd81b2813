package costmodel

import (
	"math"
	"testing"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// path adds what prices a network: a response time and the CPU time of a transaction at both ends (s), and the same of a stream per bit.
func (m *maker) path(network string, rtt, cpu, perBit float64) {
	m.add(network, "tcp-rr", func() (float64, float64) { return cpu / 2, cpu / 2 }, func(float64) []record.Value {
		const transactions = 1e4
		return []record.Value{{Name: record.RTT, Unit: "s", Value: rtt}, {Name: record.Transactions, Unit: "1/s", Value: transactions},
			record.CPUOwn.Whole().Value("core", cpu*transactions)}
	}, nil, "size", "64")
	m.add(network, "tcp-stream", func() (float64, float64) { return 1e-6, 1e-6 }, func(float64) []record.Value {
		const throughput = 1e10
		return []record.Value{{Name: record.Throughput, Unit: "bit/s", Value: throughput}, record.CPUOwn.Whole().Value("core", perBit*throughput)}
	}, nil, "size", "1048576")
}

// application adds one whose requests take exactly as long, s.
func (m *maker) application(network, name string, took float64) {
	m.add(network, name, func() (float64, float64) { return took, took }, func(float64) []record.Value {
		return []record.Value{{Name: record.Transactions, Unit: "1/s", Value: 1 / took}}
	}, nil)
}

// Where applications are as the model has them, predictions are exact: one that waits pays response times, and one that works pays the
// CPU time of an end, for each round trip and each bit beyond a packet.
func TestPredict(t *testing.T) {
	m := synthetic(41)
	m.path("host", 20e-6, 10e-6, 1e-10)
	m.path("bridged", 30e-6, 16e-6, 3e-10)
	for network, added := range map[string][3]float64{"host": {}, "bridged": {7 * 10e-6, 3e-6, 3e-6 + 8*(11448-1448)*1e-10}} {
		m.application(network, "waits", 200e-6+added[0])
		m.application(network, "works", 12e-6+added[1])
		m.application(network, "large", 40e-6+added[2])
		m.application(network, "off", 12e-6+2*added[1])
	}
	of := func(roundTrips, inFlight, bytes int) probe.Info {
		return probe.Info{Asks: probe.Asks{RoundTrips: roundTrips, InFlight: inFlight, Bytes: bytes}}
	}
	works := of(1, 16, 1024)
	got := Predict(m.run(), map[string]probe.Info{"waits": of(7, 1, 64), "works": works, "large": of(1, 16, 11448), "off": works, "tcp-rr": {}})
	if len(got) != 4 {
		t.Fatalf("%d predictions, want 4: %+v", len(got), got)
	}
	for _, p := range got {
		ratio, residue := 1.0, 0.0
		if p.Probe == "off" {
			ratio, residue = 15.0/18, 3e-6
		}
		if math.Abs(p.Ratio.Center-ratio) > 1e-9 || math.Abs(p.Residue.Center-residue) > 1e-12 || p.Ratio.N != m.blocks {
			t.Errorf("%s: predicted ÷ measured is %v, the residue %v; want %g and %g", p.Probe, p.Ratio, p.Residue, ratio, residue)
		}
		if p.Network != "bridged" || p.By != "tcp-rr" || p.Waits != (p.Probe == "waits") {
			t.Errorf("%+v", p)
		}
	}
}

// A run that did not measure the price of the path predicts nothing.
func TestNoPrediction(t *testing.T) {
	asks := map[string]probe.Info{"works": {Asks: probe.Asks{RoundTrips: 1, InFlight: 16, Bytes: 1 << 20}}}
	m := synthetic(42)
	m.application("host", "works", 1e-5)
	m.application("bridged", "works", 2e-5)
	if got := Predict(m.run(), asks); got != nil {
		t.Errorf("without tcp-rr: %+v", got)
	}
	m.path("host", 20e-6, 10e-6, 1e-10)
	if got := Predict(m.run(), asks); got != nil {
		t.Errorf("without the price of the network: %+v", got)
	}
	over := map[string]probe.Info{"works": {Datagrams: true, Asks: probe.Asks{RoundTrips: 1, InFlight: 1, Bytes: 29}}}
	m.path("bridged", 20e-6, 10e-6, 1e-10)
	if got := Predict(m.run(), over); got != nil {
		t.Errorf("UDP by the price of TCP: %+v", got)
	}
}
