package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// A watchedCase is a change of a trial's evidence and the findings that it makes.
type watchedCase struct {
	rule, protocol, name string // no rule: nothing is found
	change               func(observed)
	want                 string               // of the rule's finding
	place                string               // of it
	also                 []string             // other rules, which follow
	there                func(*record.Result) // changes the baseline's trials
}

var pathCases = []watchedCase{
	{protocol: "udp", name: "healthy", change: func(observed) {}},
	{protocol: "tcp", name: "healthy", change: func(observed) {}},
	{rule: "drop-on-path", protocol: "udp", name: "at ingress", change: func(o observed) { o.lose(4, 300) },
		want: "3,600 of 120,000 packets (3 % [3, 3]) vanished between h1 eth0 and h2 eth0", place: "h2 eth0"},
	{rule: "drop-on-path", protocol: "tcp", name: "at ingress", change: func(o observed) { o.lose(4, 300) }, want: "vanished between h1 eth0 and h2 eth0", place: "h2 eth0"},
	{rule: "drop-on-path", protocol: "udp", name: "at ingress behind the counter", change: func(o observed) { o.lose(5, 300) }, want: "vanished between h2 eth0 and h2 vx0", place: "h2 eth0"},
	{protocol: "udp", name: "other packets", change: func(o observed) { o.lose(4, 15) }},
	{protocol: "tcp", name: "packets that were joined", change: func(o observed) { o.lose(4, 300); o.Nodes["h1p1"]["tcp.RetransSegs"] = 0 }},
	{protocol: "udp", name: "a flow that shares devices", change: func(o observed) {
		for _, h := range []*evidence.Hop{o.hop("h1", "eth0"), o.hop("h2", "eth0")} {
			h.Data.Packets, h.Data.Bytes = 2*h.Data.Packets, 2*h.Data.Bytes
		}
	}},
	{protocol: "udp", name: "other packets of a probe that reports no loss", change: func(o observed) {
		o.lose(4, 300)
		o.Values = slices.DeleteFunc(o.Values, func(v record.Value) bool { return v.Name == "loss" })
	}},
	{rule: "drop-on-path", protocol: "udp", name: "at a guest's tap", change: func(o observed) {
		for i := range o.Path {
			if o.Path[i].By = ""; o.Path[i].Dev == "p1" {
				o.Path[i].By = "QEMU"
			}
		}
		o.lose(2, 300)
		o.hop("h1", "p1").Data.Drops = 300
	}, want: "were lost at h1 p1", place: "h1 p1"},
	{rule: "drop-on-path", protocol: "udp", name: "before IP", change: func(o observed) {
		o.lose(len(o.Path), 300)
	}, want: "reached h2p1 eth0 and did not reach IP", place: "h2p1 eth0"},
	{rule: "drop-on-path", protocol: "udp", name: "counted by devices in a row", change: func(o observed) {
		o.lose(2, 300)
		for _, h := range []*evidence.Hop{o.hop("h1", "vx0"), o.hop("h1", "eth0"), o.hop("h2", "eth0")} {
			h.Data.Drops = 300
		}
	}, want: "were lost at h2 eth0", place: "h2 eth0"},
	{protocol: "udp", name: "a queue in the other direction", change: func(o observed) {
		o.hop("h2", "eth0").Queue = &evidence.Queue{Kind: "tbf", Packets: 100, Drops: 50, Overlimits: 90}
	}},
	{rule: "queue-drop", protocol: "udp", change: func(o observed) {
		o.lose(2, 300)
		o.hop("h1", "vx0").Data.Drops = 300
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "tbf", Packets: 9700, Drops: 300}
	}, want: "the queue of h1 eth0 dropped 3 % [3, 3] of its packets: 3,600 of 120,000", place: "h1 eth0"},
	{protocol: "udp", name: "the study's own loss", change: func(o observed) {
		o.lose(4, 300)
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "netem", Packets: 9700, Drops: 300}
		o.Observed["path.loss"] = "0.03"
	}},
	{rule: "backlog-drop", protocol: "udp", change: func(o observed) {
		o.lose(1, 50)
		o.hop("h1p1", "eth0").Data.Drops, o.hop("h1", "p1").Data.Drops = 50, 50
		o.Hosts["lab"]["softnet.dropped"] = 50
	}, want: "the backlog of the CPU that receives for h1 p1 was full", place: "h1 p1"},
	{protocol: "udp", name: "a backlog elsewhere on the machine", change: func(o observed) { o.Hosts["lab"]["softnet.dropped"] = 5000 }},
	{rule: "small-mtu-drop", protocol: "udp", change: func(o observed) {
		o.lose(2, sentPackets)
		for _, h := range []*evidence.Hop{o.hop("h1", "vx0"), o.hop("h1", "eth0"), o.hop("h2", "eth0")} {
			h.Data.Drops = sentPackets
		}
		o.device("h2", "eth0", func(d *evidence.Device) { d.MTU = 1400 })
	}, want: "h2 eth0 drops packets that do not fit its MTU of 1400: 120,000 of 120,000 (100 % [100, 100]); the path needs 1500 there", place: "h2 eth0"},
	{rule: "filtered-at-input", protocol: "udp", change: func(o observed) {
		o.Nodes["h2p1"]["ip.InDelivers"] -= 280
		o.Nodes["h2p1"]["udp.InDatagrams"] -= 280
		o.fail(280)
	}, want: "3,360 of 120,000 packets (2.8 % [2.8, 2.8]) reached IP in h2p1 and were not delivered: a filter there, not the path", place: "h2p1"},
	{protocol: "udp", name: "fragments that await others", change: func(o observed) {
		o.Nodes["h2p1"]["ip.InDelivers"], o.Nodes["h2p1"]["ip.ReasmReqds"], o.Nodes["h2p1"]["ip.ReasmOKs"] = 5000, 10000, 5000
	}},
	{rule: "socket-buffer", protocol: "udp", change: func(o observed) {
		o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Nodes["h2p1"]["udp.InDatagrams"] = 100, sentPackets-100
		o.fail(100)
	}, want: "the receive buffer in h2p1 was full: it dropped 1,200 of 120,000 datagrams (1 % [1, 1])", place: "h2p1"},
	{rule: "socket-buffer", protocol: "udp", name: "of a full program", change: func(o observed) {
		o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Receiver.CPU = 100, 0.049
		o.fail(100)
	}, want: "its program used 98 % [98, 98] of a CPU: it is slower than the sender", place: "h2p1"},
	{protocol: "udp", rule: "socket-buffer", name: "smaller than usual", change: func(o observed) {
		o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Receiver.Wait = 100, 0.02
		o.Observed["rcvbuf"] = "16384"
		o.fail(100)
	}, want: "the receive buffer in h2p1 was full", place: "h2p1", also: []string{"contention"}},
	{protocol: "udp", name: "of a program that waits", rule: "contention", change: func(o observed) {
		o.set(record.CPUUsed, "core", 1.9)
		o.Nodes["h2p1"]["udp.RcvbufErrors"], o.Receiver.Wait = 100, 0.02
		o.Observed["rcvbuf"] = "8388608"
		o.fail(100)
	}, want: "the receiver in h2p1 waited", place: "h2p1"},
	{protocol: "udp", name: "few datagrams at the socket", change: func(o observed) {
		o.Nodes["h2p1"]["udp.RcvbufErrors"] = 9
		o.fail(9)
	}},
	{rule: "loss-not-located", protocol: "udp", change: func(o observed) { o.fail(300) }, want: "3 % [3, 3] of what was sent was lost, and no counter that weir reads says where"},
	{rule: "small-segments", protocol: "tcp", change: func(o observed) { o.Observed["mss"] = "524" }, want: "TCP's segments carry 524 bytes, although the path's MTU of 1450 has room for 1,398"},
	{protocol: "tcp", name: "segments with more options", change: func(o observed) { o.Observed["mss"] = "1362" }},
	{rule: "reordered", protocol: "udp", change: func(o observed) { o.set(record.Reordered, "1", 0.011) }, want: "1.1 % [1.1, 1.1] of the datagrams arrived after later ones"},
	{protocol: "udp", name: "a loss that the search of a capacity allows", change: func(o observed) { o.fail(40); o.set(record.Capacity, "packet/s", 1e5) }},
	{rule: "queue-limited", protocol: "tcp", change: func(o observed) {
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "tbf", Packets: sentPackets, Overlimits: 3000, Drops: 4}
	}, want: "a queueing discipline (tbf) on h1 eth0 limits the rate: it held packets back 36,000 times and dropped 48 of 120,048", place: "h1 eth0"},
	{rule: "queue-limited", protocol: "tcp", name: "that counts wire packets", change: func(o observed) {
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "tbf", Packets: 45 * sentPackets, Overlimits: 3000, Drops: 4}
	}, want: "it held packets back 36,000 times and dropped 48 of 120,048", place: "h1 eth0"},
	{protocol: "tcp", name: "a limit reached in bursts", change: func(o observed) {
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "tbf", Packets: sentPackets, Overlimits: 150}
	}},
	{rule: "segmentation-lost", protocol: "tcp", change: func(o observed) {
		o.resize(3, 6, 1512)
		o.device("h1", "eth0", func(d *evidence.Device) { d.Features["tx-udp_tnl-segmentation"] = false })
	}, want: "segmentation is lost at h1 eth0: 48,000 B per packet on vx0, 1,512 B on eth0, 32 times as many packets; tx-udp_tnl-segmentation is off there; switch on the offloads that the device has: ethtool -K eth0 tx-udp_tnl-segmentation on", place: "h1 eth0"},
	{rule: "segmentation-lost", protocol: "udp", name: "of a UDP buffer", change: func(o observed) {
		o.resize(0, 3, 40000)
		o.resize(6, len(o.Path), 40000)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1", "eth0", func(d *evidence.Device) { d.Features["tx-udp-segmentation"] = false })
	}, want: "segmentation is lost at h1 eth0: 40,000 B per packet on vx0, 1,490 B on eth0, 28 times as many packets; tx-udp-segmentation is off there", place: "h1 eth0"},
	{protocol: "udp", name: "large datagrams that are cut into fragments", change: func(o observed) {
		o.resize(0, 3, 8000)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1", "vx0", func(d *evidence.Device) { d.MTU = 9000 })
	}},
	{rule: "segmentation-lost", protocol: "tcp", name: "by a program's device", change: func(o observed) {
		o.resize(2, 6, 1464)
		o.device("h1", "vx0", func(d *evidence.Device) {
			d.Kind, d.Features["tx-checksum-ip-generic"], d.Features["tx-tcp-segmentation"] = "tun", false, false
		})
	}, want: "33 times as many packets\n", place: "h1 vx0"},
	{protocol: "tcp", name: "a driver that counts the wire", change: func(o observed) {
		o.resize(3, 6, 1512)
		o.device("h1", "eth0", func(d *evidence.Device) { d.Kind, d.Features["tx-tcp6-segmentation"] = "", false })
	}},
	{protocol: "tcp", name: "a driver whose settings are unknown", change: func(o observed) {
		o.resize(3, 6, 1512)
		o.place("h1", func(p *evidence.Node) { p.Devices = nil })
	}},
	{protocol: "tcp", name: "small packets of others on a device", change: func(o observed) {
		f := &o.hop("h1", "eth0").Data
		f.Packets, f.Bytes = 80*f.Packets, 2*f.Bytes
	}},
	{protocol: "tcp", name: "packets that are cut in few blocks", change: func(o observed) {
		if o.Block%3 == 0 {
			o.resize(3, 6, 1512)
		}
	}},
	{protocol: "tcp", name: "somewhat smaller packets", change: func(o observed) { o.resize(3, 6, 3100) }},
	{rule: "no-segmentation", protocol: "tcp", change: func(o observed) {
		o.resize(0, len(o.Path), 1464)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1p1", "eth0", func(d *evidence.Device) {
			d.Features["tx-tcp-segmentation"], d.Features["tx-generic-segmentation"] = false, false
		})
	}, want: "h1p1 eth0 gets 1,464 B per packet; tx-generic-segmentation, tx-tcp-segmentation are off there; switch on the offloads that the device has: ethtool -K eth0 tx-generic-segmentation on tx-tcp-segmentation on", place: "h1p1 eth0"},
	{protocol: "tcp", name: "small writes", change: func(o observed) {
		o.resize(0, len(o.Path), 130)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1p1", "eth0", func(d *evidence.Device) { d.Features["tx-tcp-segmentation"] = false })
	}},
	{rule: "checksum-off", protocol: "tcp", change: func(o observed) {
		o.resize(0, len(o.Path), 1464)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1p1", "eth0", func(d *evidence.Device) {
			d.Features["tx-checksum-ip-generic"], d.Features["tx-tcp-segmentation"], d.Features["tx-generic-segmentation"] = false, false, false
		})
	}, want: "the kernel computes checksums and segments before h1p1 eth0: 1,464 B per packet there; tx-checksum-ip-generic,", place: "h1p1 eth0"},
	{protocol: "tcp", name: "checksums that the plan switches off", change: func(o observed) {
		o.resize(0, len(o.Path), 1464)
		o.Nodes["h2p1"] = sample.Counters{}
		o.device("h1p1", "eth0", func(d *evidence.Device) {
			d.Features["tx-checksum-ip-generic"], d.Features["tx-tcp-segmentation"], d.Features["tx-generic-segmentation"] = false, false, false
			d.Planned = map[string]bool{"tx-checksum-ip-generic": false, "tx-tcp-segmentation": false, "tx-generic-segmentation": false}
		})
	}},
	{protocol: "udp", name: "checksums without effect", change: func(o observed) {
		o.device("h1p1", "eth0", func(d *evidence.Device) { d.Features["tx-checksum-ip-generic"] = false })
	}},
	{rule: "fragmentation", protocol: "udp", change: func(o observed) {
		o.Nodes["h1"] = sample.Counters{"ip.FragCreates": 2 * sentPackets}
		o.device("h1", "eth0", func(d *evidence.Device) { d.MTU = 1400 })
	}, want: "h1 fragments packets: 2 fragments per packet that the sender's device counts; the MTU of h1 eth0 is 1400, the path needs 1500 there", place: "h1 eth0"},
	{protocol: "udp", name: "datagrams that are too large by design", change: func(o observed) {
		o.Observed["path.mtu"], o.Observed["path.overhead"] = "1400", "100" // of datagrams of 1398
		o.Nodes["h1p1"]["ip.FragCreates"] = 6 * sentPackets
	}},
	{protocol: "udp", name: "datagrams that are too large for IPv6", change: func(o observed) {
		o.Observed["path.mtu"], o.Observed["path.overhead"] = "1430", "70" // datagrams of 1398 fit with IPv4
		o.Nodes["h1p1"]["ip6.FragCreates"] = 2 * sentPackets
		c := o.Nodes["h2p1"]
		c["ip6.InReceives"], c["ip6.InDelivers"], c["ip.InReceives"], c["ip.InDelivers"] = sentPackets, sentPackets, 0, 0
	}},
	{protocol: "icmp", name: "echoes of unknown size", change: func(o observed) { o.Nodes["h1p1"]["ip.FragCreates"] = 2 * sentPackets }},
	{rule: "learned-mtu", protocol: "tcp", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.PathMTU = map[string]int{"10.0.0.2": 1280} })
		o.Observed["mss"] = "524"
	}, want: "h1p1 learned a path MTU of 1280 to 10.0.0.2", place: "h1p1"},
	{rule: "learned-mtu", protocol: "tcp", name: "of a route", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.RouteMTU = map[string]int{"10.0.0.2": 1200} })
	}, want: "the route of h1p1 to 10.0.0.2 states an MTU of 1200: smaller than the plan's 1450; take", place: "h1p1"},
	{protocol: "tcp", name: "a learned MTU above the plan's", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Node) { p.PathMTU = map[string]int{"10.0.0.2": 1450} })
	}},
	{rule: "many-rules", protocol: "udp", change: func(o observed) {
		o.place("h2", func(p *evidence.Node) { n := 1000; p.PacketRules = &n })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}, want: "h2 has 1,000 packet-filter rules, and with them packets take 1.296× the CPU time per bit", place: "h2"},
	{protocol: "udp", name: "rules without effect", change: func(o observed) { o.place("h2", func(p *evidence.Node) { n := 1000; p.PacketRules = &n }) }},
	{protocol: "udp", name: "rules of NAT, which only a connection's first packet tries", change: func(o observed) {
		o.place("h2", func(p *evidence.Node) { n := 1000; p.Rules = &n })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}},
	{protocol: "udp", name: "some rules", change: func(o observed) {
		o.place("h2", func(p *evidence.Node) { n := 99; p.PacketRules = &n })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}},
	{rule: "bridge-nf", protocol: "udp", change: func(o observed) {
		o.place("h1", func(p *evidence.Node) { p.BridgeNF = map[string]string{"net.bridge.bridge-nf-call-iptables": "1"} })
		o.set(record.CPUOwnPerBit, "s/bit", 1.3e-9)
	}, want: "bridges pass packets to netfilter: that costs 1.296× the CPU time per bit", place: "h1"},
	{protocol: "udp", name: "bridge-nf without effect", change: func(o observed) {
		o.place("h1", func(p *evidence.Node) { p.BridgeNF = map[string]string{"net.bridge.bridge-nf-call-iptables": "1"} })
	}},
	{rule: "same-cpu", protocol: "udp", change: func(o observed) { o.Receiver.CPUs = []int{0}; o.Receiver.Wait = 0.02 }, want: "both ends could use CPU 0 only", place: "h1p1"},
	{protocol: "udp", name: "one number on two machines", change: func(o observed) { o.Receiver.CPUs, o.Receiver.Host = []int{0}, "other" }},
	{rule: "cpu-limit", protocol: "tcp", change: func(o observed) {
		o.Hosts["lab"]["quota.periods"], o.Hosts["lab"]["quota.throttled"] = 10, 9
		o.Receiver.Wait, o.Sender.TCP.RwndLimited = 0.02, 0.03
		o.set(record.CPUUsed, "core", 1.9)
	}, want: "the CPU limit of a control group stopped the ends in 90 % [90, 90] of its periods", place: "h1p1"},
	{protocol: "tcp", name: "a limit that is seldom reached", change: func(o observed) {
		o.Hosts["lab"]["quota.periods"], o.Hosts["lab"]["quota.throttled"] = 100, 4
	}},
	{rule: "contention", protocol: "tcp", change: func(o observed) {
		o.Receiver.Wait = 0.02
		o.set(record.CPUUsed, "core", 1.9)
		o.Sender.TCP.Retransmitted, o.Sender.TCP.RwndLimited = 6000, 0.03
	}, want: "the receiver in h2p1 waited 40 % [40, 40] of the time for a CPU that other threads used", place: "h2p1"},
	{protocol: "udp", name: "waits for idle CPUs", change: func(o observed) { o.Sender.Wait, o.Receiver.Wait = 0.0024, 0.0085 }},
	{protocol: "udp", name: "waits that nobody causes", change: func(o observed) {
		o.Receiver.Wait = 0.02
		o.set(record.CPUUsed, "core", 1.75)
		o.set(record.CPUOwn, "core", 1.5)
	}},
	{rule: "receive-window", protocol: "tcp", change: func(o observed) { o.Sender.TCP.RwndLimited = 0.03 }, want: "the receiver's window held TCP back for 60 % [60, 60] of its busy time", place: "h2p1"},
	{rule: "receive-window", protocol: "tcp", name: "of a small buffer", change: func(o observed) {
		o.Sender.TCP.RwndLimited, o.Receiver.Wait, o.Observed["rcvbuf"] = 0.03, 0.02, "65536"
	}, want: "the receiver's window held TCP back", place: "h2p1", also: []string{"contention"}},
	{rule: "receive-window", protocol: "tcp", name: "of a program that does not read", change: func(o observed) {
		o.Sender.TCP.RwndLimited = 0.03
		o.place("h2p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456"} })
	}, want: "although its buffer can grow to 6,291,456 bytes: whether its program reads too slowly, or something bounds its window, such as a route, is not known; look at", place: "h2p1"},
	{rule: "receive-window", protocol: "tcp", name: "of a buffer that cannot grow", change: func(o observed) {
		o.Sender.TCP.RwndLimited = 0.03
		o.place("h2p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_rmem": "4096 8192 8192"} })
	}, want: "held TCP back for 60 % [60, 60] of its busy time: its buffer can grow to 8,192 bytes; raise the receiver's buffer", place: "h2p1"},
	{rule: "receive-window", protocol: "tcp", name: "without scaling", change: func(o observed) {
		o.Sender.TCP.RwndLimited = 0.03
		o.place("h1p1", func(p *evidence.Node) { p.Sysctl = map[string]string{"net.ipv4.tcp_window_scaling": "0"} })
	}, want: "window scaling is off, so no window is larger than 64 kB; switch", place: "h2p1"},
	{protocol: "tcp", name: "a window that closes now and then", change: func(o observed) { o.Sender.TCP.RwndLimited = 0.0145 }},
	{protocol: "tcp", name: "a window that a full program closes", change: func(o observed) { o.Sender.TCP.RwndLimited, o.Receiver.CPU = 0.03, 0.049 }},
	{rule: "send-buffer", protocol: "tcp", change: func(o observed) { o.Sender.TCP.SndbufLimited = 0.03 }, want: "the send buffer held TCP back for 60 %", place: "h1p1"},
	{protocol: "tcp", name: "a send buffer without effect", change: func(o observed) { o.Sender.TCP.SndbufLimited = 0.01 }},
	{rule: "spurious-retransmissions", protocol: "tcp", change: func(o observed) { o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 600, 500 }, want: "TCP sent 0.2 % [0.2, 0.2] of its segments again (7,200), and the receiver got 6,000 segments twice", place: "h1p1"},
	{protocol: "tcp", name: "retransmissions of segments that arrived once", change: func(o observed) { o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 600, 290 }},
	{protocol: "tcp", name: "few retransmissions", change: func(o observed) { o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 250, 250 }},
	{protocol: "tcp", name: "retransmissions in one block of three", change: func(o observed) {
		if o.Block%3 == 0 {
			o.Sender.TCP.Retransmitted, o.Sender.TCP.Duplicates = 600, 600
		}
	}},
	{rule: "slow-responses", protocol: "tcp", change: func(o observed) {
		responses(o.Result, 0.1, 100, 90)
		o.Nodes["h1p1"]["tcp.RetransSegs"] = 90
	}, there: func(r *record.Result) { responses(r, 1, 9000, 0) }, want: "of 2,280 responses, 1,080 took 1 s or longer"},
	{rule: "service-in-path", protocol: "udp", change: func(o observed) {
		o.Carriers = map[string][]string{"h1": {"ovs-vswitchd"}}
		o.uses("ovs-vswitchd", 0.73)
	}, want: "ovs-vswitchd in h1 carries the packets in user space: 7 µs of CPU time per packet", place: "h1"},
	{rule: "service-in-path", protocol: "udp", name: "relay", change: func(o observed) {
		o.Carriers = map[string][]string{"h1": {"weir-relay"}}
		if o.Block < 12 { // in the last block it hardly ran
			o.thread("h1", "weir-relay", "", 0.33)
		}
	}, want: "weir-relay in h1 carries the packets in user space: 2.75 µs of CPU time per packet", place: "h1"},
	{rule: "service-in-path", protocol: "udp", name: "that drops at its device", change: func(o observed) {
		o.lose(2, 3000)
		o.hop("h1", "vx0").Data.Drops = 3000
		o.Carriers = map[string][]string{"h1": {"ovs-vswitchd"}}
		o.uses("ovs-vswitchd", 0.8)
		o.thread("h1", "ovs-vswitchd", "handler", 0.4)
		o.thread("h1", "ovs-vswitchd", "", 0.33)
	}, want: "ovs-vswitchd in h1 carries the packets in user space: 7 µs of CPU time per packet", place: "h1", also: []string{"drop-on-path"}},
	{rule: "service-in-path", protocol: "udp", name: "that drops at a veth's other end", change: func(o observed) {
		o.lose(1, 3000)
		o.hop("h1p1", "eth0").Data.Drops = 3000
		o.Carriers = map[string][]string{"h1": {"ovs-vswitchd"}}
		o.uses("ovs-vswitchd", 0.8)
		o.thread("h1", "ovs-vswitchd", "", 0.73)
	}, want: "ovs-vswitchd in h1 carries the packets in user space: 7 µs of CPU time per packet", place: "h1", also: []string{"drop-on-path"}},
	{protocol: "udp", name: "a guest that computes", change: func(o observed) {
		o.uses("qemu-system-x86", 1.2)
		o.thread("h1", "qemu-system-x86", "CPU_0/TCG", 0.8)
	}},
	{protocol: "udp", name: "a daemon that manages", change: func(o observed) { o.uses("dockerd", 0.009) }},
	{rule: "tool-limited", protocol: "tcp", change: func(observed) {}, want: "as fast as host, and the engine client is full in both", also: []string{"full-thread"}},
	{rule: "unlike-plan", protocol: "udp", name: "of a device", change: func(o observed) {
		o.place("h1", func(p *evidence.Node) { p.Unlike = map[string][2]string{"p1 qdisc": {"tbf", "noqueue"}} })
	}, want: "h1 p1: queueing discipline tbf where the plan leaves queueing discipline noqueue", place: "h1 p1"},
	{rule: "unlike-plan", protocol: "tcp", name: "of a node", change: func(o observed) {
		o.place("h2p1", func(p *evidence.Node) { p.Unlike = map[string][2]string{"rules": {"3", "0"}} })
	}, want: "h2p1: 3 packet-filter rules where the plan leaves no packet-filter rules", place: "h2p1"},
	{rule: "unlike-plan", protocol: "tcp", name: "of several devices", change: func(o observed) {
		for _, in := range []string{"h2", "h2p1"} {
			o.place(in, func(p *evidence.Node) { p.Unlike = map[string][2]string{"eth0 rps": {"2", "off"}} })
			o.device(in, "eth0", func(d *evidence.Device) { d.RPS = []string{"2"} })
		}
	}, want: "h2 eth0, h2p1 eth0: packet steering (RPS) to the CPUs of mask 2 where the plan leaves packet steering (RPS) off: something else changed it; find the program that changed it, and measure without it\n", place: "h2 eth0"},
	{protocol: "udp", name: "a setting changed for a moment", change: func(o observed) {
		if o.Block == 5 {
			o.place("h1", func(p *evidence.Node) { p.Unlike = map[string][2]string{"p1 qdisc": {"tbf", "noqueue"}} })
		}
	}},
	{rule: "unlike-peer", protocol: "udp", change: func(o observed) {
		o.device("h2", "eth0", func(d *evidence.Device) { d.MTU = 9000 })
		o.lose(7, 300)
	}, want: "eth0 of h1 and h2 differ: mtu is 1500 and 9000", place: "h1 eth0", also: []string{"drop-on-path"}},
	{protocol: "udp", name: "sides that differ without effect", change: func(o observed) {
		o.device("h2", "eth0", func(d *evidence.Device) { d.MTU = 9000 })
	}},
}
