package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

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
	{protocol: "udp", name: "hardly any duplicates", change: func(o observed) { o.set(record.Duplicated, "1", 0.004) }},
	{rule: "checksum-errors", protocol: "udp", change: func(o observed) {
		o.Nodes["h2p1"]["udp.InDatagrams"] -= 300
		o.Nodes["h2p1"]["udp.InCsumErrors"] = 300
		o.fail(300)
	}, want: "3,600 of 120,000 packets (3 % [3, 3]) reached h2p1 with a wrong checksum and were dropped there", place: "h2p1"},
	{rule: "checksum-errors", protocol: "tcp", change: func(o observed) {
		o.Nodes["h2p1"]["tcp.InCsumErrors"] = 300
		o.fail(300)
	}, want: "with a wrong checksum", place: "h2p1"},
	{rule: "send-buffer", protocol: "tcp", name: "that holds no two packets", change: func(o observed) {
		o.place("h1p1", func(p *evidence.Place) { p.Sysctl = map[string]string{"net.ipv4.tcp_wmem": "4096 16384 16384"} })
	}, want: "h1p1 lets a TCP connection hold 16,384 bytes (net.ipv4.tcp_wmem), the baseline 4,194,304: less than two large packets; with it, throughput is 0.499×", place: "h1p1"},
	{protocol: "udp", name: "few wrong checksums", change: func(o observed) {
		o.Nodes["h2p1"]["udp.InCsumErrors"] = 5
		o.fail(5)
	}},
}
