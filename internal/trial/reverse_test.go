package trial

import (
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// The packet size is that of the data, whichever end sends them, not that of the acknowledgements.
func TestPacketsFollowTheData(t *testing.T) {
	node := func(rxBytes, rxPackets, txBytes, txPackets float64) sample.Counters {
		return sample.Counters{"dev.e.rx_bytes": rxBytes, "dev.e.rx_packets": rxPackets, "dev.e.tx_bytes": txBytes, "dev.e.tx_packets": txPackets}
	}
	pod := func(name, host string) plan.End { return plan.End{Node: name, Host: host, Dev: "e"} }
	bulk, acks := node(64000, 10, 660, 10), node(660, 10, 64000, 10)
	for _, c := range []struct {
		name           string
		client, server plan.End
		reversed       bool
		of             map[string]sample.Counters // by node
	}{
		{"the client sends", pod("c", "h1"), pod("s", "h2"), false, map[string]sample.Counters{"c": acks, "s": bulk}},
		{"the server sends", pod("c", "h1"), pod("s", "h2"), true, map[string]sample.Counters{"c": bulk, "s": acks}},
		{"to the client's own host", pod("h1", "h1"), pod("s", "h1"), true, map[string]sample.Counters{"h1": node(0, 0, 0, 0), "s": acks}},
		{"from a host to its pod", pod("c", "h1"), pod("h1", "h1"), true, map[string]sample.Counters{"c": bulk, "h1": node(0, 0, 0, 0)}},
	} {
		x := &execution{}
		x.readings.Begin.Nodes = map[string]sample.Counters{c.client.Node: node(0, 0, 0, 0), c.server.Node: node(0, 0, 0, 0)}
		x.readings.End.Nodes = c.of
		s := &Setup{Client: c.client, Server: c.server}
		r := record.Result{Values: []record.Value{{Name: "packet.rate", Unit: "packet/s", Value: 1}}}
		s.packets(&r, probe.Measured{Reversed: c.reversed}, x)
		if size, _ := r.Get("packet.size"); size.Value != 6400 {
			t.Errorf("%s: %g bytes, want 6400", c.name, size.Value)
		}
	}
}
