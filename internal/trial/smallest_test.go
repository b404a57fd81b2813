package trial

import (
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
)

// The packet size comes from the device where packets are smallest, in the direction of the bulk.
// Devices without counters, or that merge packets, do not count.
func TestSmallest(t *testing.T) {
	node := func(dev string, rxBytes, rxPackets, txBytes, txPackets float64) sample.Counters {
		name := "dev." + dev + "."
		return sample.Counters{name + "rx_bytes": rxBytes, name + "rx_packets": rxPackets, name + "tx_bytes": txBytes, name + "tx_packets": txPackets}
	}
	client, server := plan.End{Node: "c", Host: "h1"}, plan.End{Node: "s", Host: "h2"}
	all := []plan.Expect{
		{State: plan.State{In: "c", Dev: "e"}, Proof: plan.Proof{MustCarry: true}}, {State: plan.State{In: "s", Dev: "e"}, Proof: plan.Proof{MustCarry: true}},
		{State: plan.State{In: "h1", Dev: "vx"}, Proof: plan.Proof{MustCarry: true, Across: true}},
		{State: plan.State{In: "h2", Dev: "relay"}, Proof: plan.Proof{MustCarry: true, Joined: true}},
		{State: plan.State{In: "h2", Dev: "other", MTU: 1500}},
		{State: plan.State{In: "h2", Dev: "gone"}, Proof: plan.Proof{MustCarry: true}},
	}
	x := &execution{}
	x.readings.First.Nodes = map[string]sample.Counters{"c": node("e", 1e6, 1e6, 0, 0), "h2": {}}
	x.readings.Last.Nodes = map[string]sample.Counters{
		"c":  node("e", 1e6+600, 1e6+10, 64000, 1), // returning acknowledgements
		"s":  node("e", 64000, 1, 600, 10),
		"h1": node("vx", 540, 9, 64000, 2),
		"h2": node("relay", 64000, 64, 0, 0),
	}
	for _, c := range []struct {
		name   string
		expect []plan.Expect
		want   float64
	}{
		{"all", all, 32000},
		{"the ends", all[:2], 64000},
		{"nothing known", all[3:], 0},
		{"no path", nil, 0},
	} {
		s := &Setup{Client: client, Server: server, Plan: plan.Plan{Expect: c.expect}}
		if got := s.smallest(x); got != c.want {
			t.Errorf("%s: %g bytes, want %g", c.name, got, c.want)
		}
	}
}
