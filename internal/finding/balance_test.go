package finding

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// A loss is located only where counters balance with what the ends lost: packets of others that join or leave the
// path's devices are nobody's loss.
func TestLossesBalance(t *testing.T) {
	// leave takes packets of others from hop 1 on, as those of a bystander to its own gateway.
	leave := func(o observed, packets float64) {
		f := &o.Path[0].Data
		f.Bytes += packets * f.Size()
		f.Packets += packets
		g := &o.Path[1].Data
		g.Bytes += packets * g.Size()
		g.Packets += packets
	}
	requests := func(o observed) {
		o.set(record.Transactions, "1/s", 1e5)
		for i := range o.Path {
			o.Path[i].Back = o.Path[i].Data
		}
		o.Nodes["h1p1"]["ip.InReceives"], o.Nodes["h1p1"]["ip.InDelivers"], o.Nodes["h1p1"]["udp.InDatagrams"] = sentPackets, sentPackets, sentPackets
		o.Nodes["h1p1"]["netstat.InOctets"] = sentPackets * 1426
	}
	for _, c := range []struct {
		name, protocol string
		change         func(observed)
		want           []string // one per finding
	}{
		{"a bystander beside a small socket buffer", "udp", func(o observed) {
			leave(o, 300)
			o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Nodes["h2p1"]["udp.InDatagrams"] = 7000, 3000
			o.set(record.Loss, "1", 0.7)
			o.set(record.LossSocket, "1", 0.7)
		}, []string{"the receive buffer in h2p1 was full"}},
		{"a bystander beside a loss of the path", "udp", func(o observed) {
			leave(o, 900)
			o.lose(4, 300)
		}, nil},
		{"what another program sends and a filter of the sender takes, beside a loss of the path", "udp", func(o observed) {
			o.lose(4, 300)
			o.Nodes["h1p1"]["ip.OutDiscards"] = 100
		}, []string{"vanished between h1 eth0 and h2 eth0"}},
		{"a full socket of another program beside a loss of the path", "udp", func(o observed) {
			o.lose(4, 300)
			o.set(record.LossSocket, "1", 0)
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = 500
		}, []string{"vanished between h1 eth0 and h2 eth0"}},
		{"a full socket of another program beside a loss of requests", "udp", func(o observed) {
			requests(o)
			o.lose(4, 300)
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = 400
		}, []string{"vanished between h1 eth0 and h2 eth0"}},
		{"a full socket of another program beside requests that nothing locates", "udp", func(o observed) {
			requests(o)
			o.fail(300)
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = 500
		}, []string{"no counter that weir reads says where"}},
		{"a full socket of another program beside requests that all arrived", "udp", func(o observed) {
			requests(o)
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = 500
		}, nil},
		{"a full socket of another program under a tool that counts no loss", "udp", func(o observed) {
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = 500
			o.Values = slices.DeleteFunc(o.Values, func(v record.Value) bool { return v.Name == record.Loss })
		}, nil},
		{"a full socket of the tool", "udp", func(o observed) {
			o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Nodes["h2p1"]["udp.InDatagrams"] = 300, sentPackets-300
			o.fail(300)
		}, []string{"the receive buffer in h2p1 was full"}},
		{"a full socket that can have dropped what is missing before it", "udp", func(o observed) {
			o.lose(4, 300)
			o.Nodes["h2p1"]["udp.RcvbufErrors"] = 300
		}, nil},
		{"lookups of two packets, which are lost with one of them", "udp", func(o observed) {
			requests(o)
			o.lose(4, 100)
			o.set(record.Requests, "1", sentPackets/2)
			o.set(record.Loss, "1", 0.02)
		}, []string{"vanished between h1 eth0 and h2 eth0"}},
		{"a bystander beside a larger loss of the path", "udp", func(o observed) {
			leave(o, 100)
			o.lose(4, 300)
		}, []string{"vanished between h1 eth0 and h2 eth0"}},
		{"a queue that drops what others send beside a loss of the path", "udp", func(o observed) {
			o.lose(4, 300)
			o.hop("h1p1", "eth0").Queue = &evidence.Queue{Kind: "htb", Drops: 500}
		}, nil},
		{"two losses of the path", "udp", func(o observed) {
			o.lose(2, 200)
			o.lose(4, 300)
			o.fail(500)
		}, []string{"vanished between h1 p1 and h1 vx0", "vanished between h1 eth0 and h2 eth0"}},
		{"a group that nobody joined beside a loss of the path", "udp", func(o observed) {
			o.lose(5, 300)
			o.Nodes["h2p1"]["ip.InDelivers"] -= 100
		}, []string{"vanished between h2 eth0 and h2 vx0"}},
		{"a policer and a small socket buffer", "udp", func(o observed) {
			o.lose(4, 3000)
			o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Nodes["h2p1"]["udp.InDatagrams"] = 2000, 5000
			o.set(record.Loss, "1", 0.5)
			o.set(record.LossSocket, "1", 0.2)
		}, []string{"vanished between h1 eth0 and h2 eth0", "the receive buffer in h2p1 was full"}},
		{"segments that were joined after a detour", "tcp", func(o observed) {
			for i := 6; i < len(o.Path); i++ {
				o.Path[i].Data.Packets -= 60
			}
			o.Nodes["h2p1"]["ip.InReceives"] -= 60
			o.Nodes["h2p1"]["ip.InDelivers"] -= 60
			o.Nodes["h1p1"]["tcp.RetransSegs"] = 500
		}, nil},
		{"missing packets and retransmissions of segments that arrived", "tcp", func(o observed) {
			o.lose(4, 300)
			o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 300, 290
		}, nil},
		{"a share that is now and then a loss", "udp", func(o observed) { o.lose(4, 10+40*float64(o.Block%2)*float64(o.Block%3)) }, nil},
		{"replies that a filter takes", "udp", func(o observed) {
			requests(o)
			for i := 3; i >= 0; i-- {
				o.Path[i].Back = evidence.Flow{Packets: o.Path[i].Back.Packets * 0.95, Bytes: o.Path[i].Back.Bytes * 0.95}
			}
			for _, name := range []string{"ip.InReceives", "ip.InDelivers", "udp.InDatagrams"} {
				o.Nodes["h1p1"][name] *= 0.95
			}
			o.set(record.Loss, "1", 0.05)
		}, []string{"on the replies' way: 6,000 of 120,000 packets (5 % [5, 5]) vanished between h2 eth0 and h1 eth0"}},
		{"all datagrams, and the small packets of others that come through", "udp", func(o observed) {
			for i := 6; i < len(o.Path); i++ {
				o.Path[i].Data = evidence.Flow{Packets: 12, Bytes: 12 * 80}
			}
			for _, name := range []string{"ip.InReceives", "ip.InDelivers", "udp.InDatagrams"} {
				o.Nodes["h2p1"][name] = 12
			}
			o.set(record.Loss, "1", 1)
		}, []string{"vanished between h2 vx0 and h2 p1"}},
		{"replies of few bytes that a filter takes behind a tunnel, which counts no Ethernet header", "udp", func(o observed) {
			requests(o)
			for i := range o.Path {
				size := 106.0
				switch o.Path[i].Dev {
				case "vx0":
					size = 92
				case "eth0":
					if o.Path[i].In == "h1" || o.Path[i].In == "h2" {
						size = 156
					}
				}
				n := float64(sentPackets)
				o.Path[i].Data.Bytes = n * size
				if i < 2 {
					n *= 0.95
				}
				o.Path[i].Back = evidence.Flow{Packets: n, Bytes: n * size}
			}
			for _, name := range []string{"ip.InReceives", "ip.InDelivers", "udp.InDatagrams"} {
				o.Nodes["h1p1"][name] *= 0.95
			}
			o.set(record.Loss, "1", 0.05)
		}, []string{"on the replies' way: 6,000 of 120,000 packets (5 % [5, 5]) vanished between h1 vx0 and h1 p1"}},
	} {
		var found []string
		for _, f := range Check(analysis.New(watched(c.protocol, c.change))) {
			if strings.HasPrefix(f.Text.String(), "on the replies' way") || slices.Contains([]string{atQueue, atDevice, atSocket, atInput, "loss-not-located"}, f.Rule) {
				found = append(found, f.Text.String())
			}
		}
		ok := len(found) == len(c.want)
		for i := range found {
			ok = ok && strings.Contains(found[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, want %q", c.name, found, c.want)
		}
	}
}

// What the engine found missing at its socket in the window is located, however much the kernel counted around it.
func TestPacketsAtTheSocket(t *testing.T) {
	rs, o := watched("udp", func(o observed) {
		o.fail(1000)
		o.set(record.LossSocket, "1", 0.1)
		o.Nodes["h2p1"]["udp.RcvbufErrors"] = 700
	})
	for _, r := range analysis.New(rs, o).Rows() {
		if sent, lost, located := Packets(r); r.Network == "vx" && (sent != 12*sentPackets || lost != 12*1000 || located != lost) {
			t.Errorf("%g sent, %g lost, %g located", sent, lost, located)
		}
	}
}

// The loss of a search for a capacity is that of one rate, and says nothing about what it sent at others.
func TestPacketsOfASearch(t *testing.T) {
	rs, o := watched("udp", func(o observed) {
		o.set(record.Loss, "1", 0)
		o.set(record.Capacity, "packet/s", 1e5)
		o.Nodes["h2p1"]["udp.RcvbufErrors"] = 700
	})
	for _, r := range analysis.New(rs, o).Rows() {
		if sent, lost, located := Packets(r); r.Network == "vx" && sent != 0 {
			t.Errorf("%g sent, %g lost, %g located: a search does not count them", sent, lost, located)
		}
	}
}

// Devices count the fragments of large datagrams: neither a book nor a residue takes them for datagrams.
func TestFragmentsAreNoDatagrams(t *testing.T) {
	rs, o := watched("udp", func(o observed) {
		o.Observed["datagram"] = "2400"
		o.Nodes["h1p1"]["ip.FragCreates"] = sentPackets
		o.Nodes["h2p1"]["ip.ReasmReqds"], o.Nodes["h2p1"]["ip.ReasmOKs"], o.Nodes["h2p1"]["ip.InDelivers"] = sentPackets, sentPackets/2, sentPackets/2
		o.Nodes["h2p1"]["udp.InDatagrams"], o.Nodes["h2p1"]["udp.RcvbufErrors"] = sentPackets/2-1500, 1500
		o.set(record.Loss, "1", 0.3)
	})
	run := analysis.New(rs, o)
	for _, r := range run.Rows() {
		if sent, lost, located := Packets(r); r.Network == "vx" && sent != 0 {
			t.Errorf("%g sent, %g lost, %g located", sent, lost, located)
		}
	}
	for _, f := range Check(run) {
		if f.Rule == "loss-not-located" {
			t.Errorf("%s", f.Text)
		}
	}
}

// The mean sizes of a long run take memory for its trials once, not once for each of them.
func TestSizesOfManyTrials(t *testing.T) {
	hop := evidence.Hop{In: "h1", Dev: "eth0", Data: evidence.Flow{Packets: 10, Bytes: 640}}
	all := slices.Repeat([]analysis.Observed{{Evidence: &evidence.Trial{Path: []evidence.Hop{hop}}}}, 1000)
	if n := testing.AllocsPerRun(1, func() { meanSizes(all) }); n > 100 {
		t.Errorf("%v allocations for %d trials of one device", n, len(all))
	}
}

// What an earlier trial's connection still sends in one trial hides the losses of no other trial.
func TestForeignSizes(t *testing.T) {
	at := func(packets, bytes float64) analysis.Observed {
		return analysis.Observed{Evidence: &evidence.Trial{Path: []evidence.Hop{{In: "h1", Dev: "eth0", Data: evidence.Flow{Packets: packets, Bytes: bytes}}}}}
	}
	for _, c := range []struct {
		all  []analysis.Observed
		want float64
	}{
		{[]analysis.Observed{at(928, 4143087), at(500, 50000), at(1000, 100000)}, 100},
		{[]analysis.Observed{at(100, 10000), at(100, 50000), at(200, 30000)}, 225},
		{[]analysis.Observed{at(0, 0), at(0, 0), at(10, 640)}, 64},
	} {
		if got := meanSizes(c.all)[device{"h1", "eth0"}]; got != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
