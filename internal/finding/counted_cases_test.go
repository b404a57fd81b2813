package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// ecn sets how the ends use ECN.
func ecn(o observed, sender, receiver string) {
	for node, v := range map[string]string{"h1p1": sender, "h2p1": receiver} {
		o.place(node, func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_ecn": v} })
	}
}

var watchedCases = slices.Concat(pathCases, countedCases)

// countedCases are those that the engine or the receiver's protocol counts.
var countedCases = []watchedCase{
	{rule: "duplicates", protocol: "udp", change: func(o observed) {
		o.set(record.Duplicated, "1", 0.02)
		for i := 6; i < len(o.Path); i++ {
			o.Path[i].Data.Packets *= 1.02
			o.Path[i].Data.Bytes *= 1.02
		}
	}, want: "the receiver got 2 % [2, 2] of the datagrams more than once: they first appear between h2 vx0 and h2 p1; look for a rule", place: "h2 p1"},
	{rule: "duplicates", protocol: "udp", name: "that no device counts", change: func(o observed) { o.set(record.Duplicated, "1", 0.02) },
		want: "more than once; look for a rule"},
	{rule: "duplicates", protocol: "udp", name: "beside packets of others that join before", change: func(o observed) {
		o.set(record.Duplicated, "1", 0.02)
		for i, more := range map[int]float64{2: 1.03, 6: 1.02} {
			for i := i; i < len(o.Path); i++ {
				o.Path[i].Data.Packets *= more
				o.Path[i].Data.Bytes *= more
			}
		}
	}, want: "more than once; look for a rule"},
	{rule: "duplicates", protocol: "udp", name: "beside fewer packets of others that leave before the copies are made", change: func(o observed) {
		o.set(record.Duplicated, "1", 0.02)
		for i := 2; i < len(o.Path); i++ {
			more := 1.011
			if i >= 6 {
				more = 1.02
			}
			o.Path[i].Data.Packets *= more
			o.Path[i].Data.Bytes *= more
		}
	}, want: "more than once; look for a rule"},
	{protocol: "udp", name: "hardly any duplicates", change: func(o observed) { o.set(record.Duplicated, "1", 0.004) }},
	{rule: "drop-on-path", protocol: "udp", name: "before the program of a machine whose IP counts a tunnel's packets twice", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["ip.InReceives"], c["ip.InDelivers"], c["netstat.InOctets"] = 2*sentPackets-300, 2*sentPackets-300, 2.1*c["netstat.InOctets"]
		c["udp.InDatagrams"] = 2*sentPackets - 300
		o.fail(300)
	}, want: "3,600 of 120,000 packets (3 % [3, 3]) passed h2p1 eth0 and did not reach the program", place: "h2p1 eth0"},
	{rule: "socket-buffer", protocol: "udp", name: "of such a machine", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["ip.InReceives"], c["ip.InDelivers"], c["netstat.InOctets"] = 2*sentPackets, 2*sentPackets, 2.1*c["netstat.InOctets"]
		c["udp.InDatagrams"], c["udp.RcvbufErrors"] = 2*sentPackets-300, 300
		o.fail(300)
	}, want: "the receive buffer in h2p1 was full: it dropped 3,600 of", place: "h2p1"},
	{protocol: "udp", name: "rules that cost less than any rule can", change: func(o observed) {
		o.place("h2", func(p *evidence.Node) { n := 100000; p.PacketRules = &n })
		o.set(record.CPUOwnPerBit, "s/bit", 1.1e-9) // 52 µs per 64 KiB is half a nanosecond a rule
	}},
	{protocol: "udp", name: "rules that may cost next to nothing", change: func(o observed) {
		o.place("h2", func(p *evidence.Node) { n := 20000; p.PacketRules = &n })
		o.set(record.CPUOwnPerBit, "s/bit", 1e-9*(1.01+0.02*float64(o.Block%5)))
	}},
	{rule: "drop-on-path", protocol: "tcp", name: "of segments that fit the small MTU behind it", change: func(o observed) {
		o.lose(6, 300)
		o.device("h2", "p1", func(d *evidence.Device) { d.MTU = 1400 })
		o.Observed["mss"] = "1288"
	}, want: "vanished between h2 vx0 and h2 p1", place: "h2 vx0", also: []string{"unlike-peer"}},
	{protocol: "udp", name: "rules beside another setting that can cost more", change: func(o observed) {
		o.place("h2", func(p *evidence.Node) { n := 1000; p.PacketRules = &n })
		o.device("h2", "vx0", func(d *evidence.Device) { d.Features["rx-gro"] = false })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}},
	{protocol: "udp", name: "bridge-nf beside another setting that can cost more", change: func(o observed) {
		o.place("h1", func(p *evidence.Node) { p.BridgeNF = map[string]string{"net.bridge.bridge-nf-call-iptables": "1"} })
		o.device("h2", "vx0", func(d *evidence.Device) { d.Features["rx-gro"] = false })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}},
	{protocol: "udp", name: "fragments of large packets that another program sends", change: func(o observed) {
		o.Nodes["h1p1"]["ip.FragCreates"] = 0.06 * sentPackets
	}},
	{rule: "checksum-errors", protocol: "udp", change: func(o observed) {
		o.Nodes["h2p1"]["udp.InDatagrams"] -= 300
		o.Nodes["h2p1"]["udp.InCsumErrors"] = 300
		o.fail(300)
	}, want: "3,600 of 120,000 packets (3 % [3, 3]) reached h2p1 with a wrong checksum and were dropped there", place: "h2p1"},
	{rule: "checksum-errors", protocol: "tcp", change: func(o observed) {
		o.Nodes["h2p1"]["tcp.InCsumErrors"] = 300
		o.fail(300)
	}, want: "with a wrong checksum", place: "h2p1"},
	{rule: "accept-queue", protocol: "tcp", change: func(o observed) {
		o.Nodes["h2p1"]["netstat.ListenOverflows"], o.Nodes["h2p1"]["tcp.PassiveOpens"] = 3, 97
		o.Nodes["h1p1"]["tcp.RetransSegs"] = 3
	}, want: "36 of 1,200 connections (3 % [3, 3]) found the queue of a listening socket in h2p1 full, and TCP tries again after 1 s", place: "h2p1"},
	{protocol: "tcp", name: "a full queue of another program, to which the sender does not connect", change: func(o observed) {
		o.Nodes["h2p1"]["netstat.ListenOverflows"], o.Nodes["h2p1"]["tcp.PassiveOpens"] = 3, 97
	}},
	{rule: "drop-on-path", protocol: "tcp", name: "beside a full queue of another program", change: func(o observed) {
		o.lose(4, 300)
		o.Nodes["h2p1"]["netstat.ListenOverflows"], o.Nodes["h2p1"]["tcp.PassiveOpens"] = 30, 970
	}, want: "vanished between h1 eth0 and h2 eth0", place: "h2 eth0"},
	{protocol: "tcp", name: "a queue of the sender that is full", change: func(o observed) {
		o.Nodes["h1p1"]["netstat.ListenOverflows"], o.Nodes["h1p1"]["tcp.PassiveOpens"] = 3, 97
	}},
	{rule: "send-buffer", protocol: "tcp", name: "that holds no two packets", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_wmem": "4096 16384 16384"} })
	}, want: "h1p1 lets a TCP connection hold 16,384 bytes (net.ipv4.tcp_wmem), the baseline 4,194,304: less than two large packets; with it, throughput is 0.499×", place: "h1p1"},
	{rule: "receive-window", protocol: "tcp", name: "beside a send buffer that can also be why TCP is slower", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_wmem": "4096 16384 120000"} })
		o.Sender.TCP.RwndLimited = 0.03
	}, want: "the receiver's window held TCP back", place: "h2p1"},
	{rule: "congestion-window", protocol: "tcp", name: "beside such a send buffer", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_wmem": "4096 16384 120000"} })
		o.Sender.TCP.Window = 4
	}, want: "stays at 4 segments per connection", place: "h1p1"},
	{rule: "queue-limited", protocol: "tcp", name: "beside a send buffer that can also be why TCP is slower", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_wmem": "4096 16384 16384"} })
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "htb", Packets: sentPackets, Overlimits: 3000}
		o.device("h1", "eth0", func(d *evidence.Device) { d.Qdisc, d.Limit = "htb", 5.5e8 })
	}, want: "limits the rate to 550 Mbit/s", place: "h1 eth0", also: []string{"unlike-peer"}},
	{rule: "segmentation-lost", protocol: "tcp", name: "beside rules that can also be why packets cost more", change: func(o observed) {
		o.resize(3, 6, 1512)
		o.device("h1", "eth0", func(d *evidence.Device) { d.Features["tx-udp_tnl-segmentation"] = false })
		o.place("h2", func(p *evidence.Node) { n := 1000; p.PacketRules = &n })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}, want: "segmentation is lost at h1 eth0", place: "h1 eth0"},
	{rule: "segmentation-lost", protocol: "tcp", name: "on the way in, where what a device can send says nothing", change: func(o observed) {
		o.resize(5, 6, 1464)
		o.hop("h2", "vx0").Queue = &evidence.Queue{Kind: "tbf"}
		for _, in := range []string{"h1", "h2"} {
			o.device(in, "vx0", func(d *evidence.Device) { d.Features["tx-udp_tnl-segmentation"] = false })
		}
	}, want: "segmentation is lost between h2 eth0 and h2 vx0: 48,050 B per packet on eth0, 1,464 B on vx0, 33 times as many packets; look for what cuts them there", place: "h2 eth0"},
	{rule: "filtered-at-input", protocol: "udp", name: "a wrong header", change: func(o observed) {
		o.Nodes["h2p1"]["ip.InDelivers"] -= 280
		o.Nodes["h2p1"]["udp.InDatagrams"] -= 280
		o.Nodes["h2p1"]["ip.InHdrErrors"] = 280
		o.fail(280)
	}, want: "3,360 of 120,000 packets (2.8 % [2.8, 2.8]) reached IP in h2p1 with a header that is wrong, such as its checksum, and were dropped there", place: "h2p1"},
	{rule: "filtered-at-input", protocol: "udp", name: "the reverse path", change: func(o observed) {
		o.Nodes["h2p1"]["ip.InDelivers"] -= 280
		o.Nodes["h2p1"]["udp.InDatagrams"] -= 280
		o.Nodes["h2p1"]["netstat.IPReversePathFilter"] = 280
		o.fail(280)
	}, want: "reached IP in h2p1 with a source whose route leads to another device (rp_filter), and were dropped there", place: "h2p1"},
	{rule: "learned-mtu", protocol: "tcp", name: "of a host's route, around the path's packets", change: func(o observed) {
		o.place("h1", func(p *evidence.Node) { p.RouteMTU = map[string]int{"192.0.2.2": 1480} })
	}, want: "the route of h1 to 192.0.2.2 states an MTU of 1480: smaller than the plan's 1500; take", place: "h1"},
	{rule: "receive-window", protocol: "tcp", name: "that does not grow", change: func(o observed) {
		o.Sender.TCP.RwndLimited = 0.03
		o.place("h2p1", func(p *evidence.Node) {
			p.Sysctl = map[string]string{"net.ipv4.tcp_rmem": "4096 131072 33554432", "net.ipv4.tcp_moderate_rcvbuf": "0"}
		})
	}, want: "no receive buffer of its node grows (net.ipv4.tcp_moderate_rcvbuf is 0); let receive buffers adapt", place: "h2p1"},
	{protocol: "tcp", name: "a window that a program closes which waits for a CPU now and then", change: func(o observed) {
		o.Sender.TCP.RwndLimited, o.Receiver.Wait = 0.03, 0.011+0.02*float64(o.Block%2)
		o.place("h2p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456"} })
		o.set(record.CPUUsed, "core", 1.3)
	}},
	{rule: "drop-on-path", protocol: "udp", name: "of a program whose socket is full", change: func(o observed) {
		o.lose(5, 3000)
		o.hop("h2", "vx0").By = "flanneld"
		o.Carriers = map[string][]string{"h2": {"flanneld"}}
		o.Nodes["h2"] = sample.Counters{"udp.RcvbufErrors": 3000}
	}, want: "36,000 of 120,000 packets (30 % [30, 30]) found the receive buffer of flanneld in h2 full; flanneld does not take them from there fast enough", place: "h2 eth0", also: []string{"service-in-path"}},
	{rule: "drop-on-path", protocol: "udp", name: "before a program that reads packets from a device", change: func(o observed) {
		o.lose(2, 3000)
		o.Carriers = map[string][]string{"h1": {"ovs-vswitchd"}}
	}, want: "vanished between h1 p1 and h1 vx0; ovs-vswitchd gets too little CPU time to take them from there, or a filter or a traffic-control action drops them", place: "h1 p1", also: []string{"service-in-path"}},
	{rule: "drop-on-path", protocol: "udp", name: "on the way out of the sender", change: func(o observed) {
		o.Nodes["h1p1"]["ip.OutDiscards"] = 300
		o.fail(300)
	}, want: "3,600 of 123,600 packets (2.9 % [2.9, 2.9]) were discarded in h1p1 before eth0 sent them; look for a filter", place: "h1p1 eth0"},
	{rule: "queue-drop", protocol: "udp", name: "that IP counts, too", change: func(o observed) {
		o.Nodes["h1p1"]["ip.OutDiscards"] = 300
		o.hop("h1p1", "eth0").Queue = &evidence.Queue{Kind: "tbf", Drops: 300}
		o.fail(300)
	}, want: "the queue of h1p1 eth0 dropped", place: "h1p1 eth0"},
	{rule: "congestion-marks", protocol: "tcp", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["netstat.InCEPkts"], c["netstat.InECT0Pkts"], c["netstat.InNoECTPkts"] = 1310, 11443, 10
	}, want: "10 % [10, 10] of the packets reached h2p1 marked as having met congestion (ECN), and TCP sends less"},
	{rule: "congestion-marks", protocol: "tcp", name: "over IPv6", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["ip6.InCEPkts"], c["ip6.InECT0Pkts"] = 937, 8817
	}, want: "9.6 % [9.6, 9.6] of the packets reached h2p1 marked"},
	{protocol: "tcp", name: "a sender that uses ECN, without marks", change: func(o observed) { o.Nodes["h2p1"]["netstat.InECT0Pkts"] = 107000 }},
	{protocol: "tcp", name: "marks on packets of a sender that does not use ECN", change: func(o observed) { o.Nodes["h2p1"]["netstat.InCEPkts"] = 107000 }},
	{rule: "congestion-marks", protocol: "tcp", name: "on all packets of ends that ask for ECN", change: func(o observed) {
		o.Nodes["h2p1"]["netstat.InCEPkts"], o.Sender.TCP.Window = 107000, 2
		ecn(o, "1", "1")
	}, want: "100 % [100, 100] of the packets reached h2p1 marked as having met congestion (ECN), and TCP sends less"},
	{protocol: "tcp", name: "marks on all packets of ends of which one does not ask for ECN", change: func(o observed) {
		o.Nodes["h2p1"]["netstat.InCEPkts"], o.Sender.TCP.Window = 107000, 2
		ecn(o, "1", "2")
	}},
	{protocol: "tcp", name: "marks on all packets that leave the congestion window as it was", change: func(o observed) {
		o.Nodes["h2p1"]["netstat.InCEPkts"] = 107000
		ecn(o, "1", "1")
	}},
	{protocol: "tcp", name: "marks on packets of another program beside a sender that does not use ECN", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["netstat.InCEPkts"], c["netstat.InECT0Pkts"], c["netstat.InNoECTPkts"] = 500, 500, 107000
	}},
	{protocol: "tcp", name: "marks in a third of the blocks", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["netstat.InCEPkts"], c["netstat.InECT0Pkts"] = 300*float64(o.Block%3/2), 107000
	}},
	{rule: "congestion-window", protocol: "tcp", change: func(o observed) { o.Sender.TCP.Window = 4 },
		want: "the congestion window in h1p1 stays at 4 segments per connection, and the baseline's is 120, although TCP sent less than 0.1 % of its segments again, and none was marked: something bounds it; look for a route", place: "h1p1"},
	{protocol: "tcp", name: "a congestion window as small as one begins", change: func(o observed) { o.Sender.TCP.Window = 10 }},
	{protocol: "tcp", name: "a congestion window that a loss made small", change: func(o observed) { o.Sender.TCP.Window, o.Nodes["h1p1"]["tcp.RetransSegs"] = 4, 400 }},
	{rule: "congestion-marks", protocol: "tcp", name: "that make the congestion window small", change: func(o observed) {
		c := o.Nodes["h2p1"]
		o.Sender.TCP.Window, c["netstat.InCEPkts"], c["netstat.InECT0Pkts"] = 4, 1310, 11443
	}, want: "10 % [10, 10] of the packets"},
	{protocol: "tcp", name: "a send buffer that is larger than a congestion window that losses made small", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_wmem": "4096 16384 120000"} })
		o.Sender.TCP.Window, o.Nodes["h1p1"]["tcp.RetransSegs"] = 4, 400
	}},
	{protocol: "tcp", name: "a small congestion window in few blocks", change: func(o observed) {
		if o.Block%3 == 0 {
			o.Sender.TCP.Window = 4
		}
	}},
	{rule: "receive-window", protocol: "tcp", name: "with a small congestion window", change: func(o observed) { o.Sender.TCP.RwndLimited, o.Sender.TCP.Window = 0.03, 4 },
		want: "the receiver's window held TCP back", place: "h2p1"},
	{rule: "reordered", protocol: "tcp", change: func(o observed) { o.Nodes["h1p1"]["netstat.TCPSACKReorder"], o.Sender.TCP.Reordered = 600, 400 },
		want: "TCP in h1p1 saw 7,200 times in 120,000 packets (6 % [6, 6]) that later ones arrived first"},
	{protocol: "tcp", name: "packets of another program that overtake others", change: func(o observed) { o.Nodes["h1p1"]["netstat.TCPSACKReorder"] = 600 }},
	{protocol: "tcp", name: "packets that overtake others, all of them marked", change: func(o observed) {
		c := o.Nodes["h2p1"]
		c["netstat.InCEPkts"] = 12000
		o.Nodes["h1p1"]["netstat.TCPSACKReorder"], o.Sender.TCP.Reordered = 600, 400
	}},
	{protocol: "tcp", name: "packets that overtake others without any effect", change: func(o observed) {
		o.set(record.Throughput, "bit/s", 2.2*o.Values[0].Value)
		o.Nodes["h1p1"]["netstat.TCPSACKReorder"], o.Sender.TCP.Reordered = 600, 400
	}},
	{rule: "drop-on-path", protocol: "tcp", name: "of packets whose loss looks like reordering", change: func(o observed) {
		o.lose(5, 300)
		o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 300, 0
		o.Nodes["h1p1"]["netstat.TCPSACKReorder"], o.Sender.TCP.Reordered = 1100, 1100
	}, want: "vanished between h2 eth0 and h2 vx0", place: "h2 eth0"},
	{protocol: "tcp", name: "losses that no counter shows and that look like reordering", change: func(o observed) {
		o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 300, 100
		o.Nodes["h1p1"]["netstat.TCPSACKReorder"], o.Sender.TCP.Reordered = 1100, 1100
	}},
	{protocol: "tcp", name: "hardly any packets that overtake others", change: func(o observed) { o.Nodes["h1p1"]["netstat.TCPSACKReorder"], o.Sender.TCP.Reordered = 14, 14 }},
	{protocol: "tcp", name: "packets that overtake others in a third of the blocks", change: func(o observed) {
		o.Sender.TCP.Reordered = 400 * float64(o.Block%3/2)
		o.Nodes["h1p1"]["netstat.TCPSACKReorder"] = o.Sender.TCP.Reordered
	}},
	{protocol: "tcp", name: "copies that something on the way makes", change: func(o observed) { o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 600, 3000 }},
	{protocol: "tcp", name: "small packets before a device that segments without the kernel's help", change: func(o observed) {
		o.resize(0, len(o.Path), 1464)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1p1", "eth0", func(d *evidence.Device) { d.Features["tx-generic-segmentation"] = false })
	}},
	{protocol: "udp", name: "few wrong checksums", change: func(o observed) {
		o.Nodes["h2p1"]["udp.InCsumErrors"] = 5
		o.fail(5)
	}},
}
