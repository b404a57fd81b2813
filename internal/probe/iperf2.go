package probe

import (
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
)

// Iperf2 measures bulk throughput over TCP or UDP with iperf 2 (iperf2 on
// SourceForge; not esnet's iperf3). It counts what its server reports as received.
//
// Datagrams have 1470 bytes, the tool's own default. They fit an MTU of 1500 behind
// some tunnels but not behind VXLAN, where each is sent in two fragments. Set size
// to 1400 to compare networks without fragments.
type Iperf2 struct {
	UDP     bool    `yaml:"udp"`
	Streams int     `yaml:"streams"` // in parallel, 1 to 128; 0 is 1
	Size    int     `yaml:"size"`    // bytes per write or datagram; 0 is 131072 for TCP, 1470 for UDP
	Rate    Bitrate `yaml:"rate"`    // of payload, all streams together; 0 is as fast as possible
	CC      string  `yaml:"cc"`      // congestion control of TCP; empty is cubic
}

const (
	iperf2UDPSize = 1470
	// iperf2MinUDP is the header of its datagrams, bytes (struct UDP_datagram of
	// include/payloads.h, version 2.1.8).
	iperf2MinUDP = 16
	// iperf2Flood is a rate that nothing reaches: iperf refuses 0, and its default for
	// UDP is 1 Mbit/s.
	iperf2Flood = "100g"
)

var iperf2Tools = []facts.ToolInfo{{Program: "iperf", Package: "iperf", VersionArgs: []string{"--version"}, Version: `iperf version (\S+)`}}

func (p Iperf2) Info() Info {
	i := streamBy("iperf 2", p.UDP, [2]string{
		"one thread per end, which blocks in write and read; counts from the first byte to the last, including the connection's slow start",
		"one write and one recvmsg per datagram, each with a kernel timestamp; a socket buffer of the kernel's default size; no warm-up"})
	i.Tools, i.NoWarmup, i.ServerReports = iperf2Tools, true, true
	return i
}

func (p Iperf2) Check() error {
	return checkStream("iperf", p.UDP, p.size(), iperf2MinUDP, or(p.Streams, 1))
}

// Commands implements Probe. The server ends after one connection per stream. The
// output is in bytes and bit/s (-f b) with all columns (-e); iperf's CSV (-y C) omits
// what the server received over UDP.
func (p Iperf2) Commands(w Window) (server, client []string) {
	streams := strconv.Itoa(or(p.Streams, 1))
	common := []string{"-p", port(w), "-P", streams, "-l", strconv.Itoa(p.size()), "-e", "-f", "b"}
	if p.UDP {
		common = append(common, "-u")
	}
	server, client = iperf2(w, common)
	client = append(client, "-t", wholeSeconds(w.Duration))
	switch {
	case p.Rate > 0:
		client = append(client, "-b", strconv.FormatUint(max(1, uint64(p.Rate)/uint64(or(p.Streams, 1))), 10))
	case p.UDP:
		client = append(client, "-b", iperf2Flood)
	}
	if !p.UDP {
		client = append(client, "-Z", or(p.CC, defaultCC))
	}
	return server, client
}

func iperf2(w Window, common []string) (server, client []string) {
	if w.Server.Addr().Is6() {
		common = append(common, "-V")
	}
	server = append([]string{"iperf", "-s", "-B", w.Server.Addr().String()}, common...)
	client = append([]string{"iperf", "-c", w.Server.Addr().String()}, common...)
	return server, client
}

func (p Iperf2) size() int {
	if p.UDP {
		return or(p.Size, iperf2UDPSize)
	}
	return or(p.Size, defaultWrite)
}

// Iperf2Bounceback measures the response time of a TCP connection with iperf
// 2.1.8 or later: requests back to back, each answered with the same number of bytes.
type Iperf2Bounceback struct {
	Size int    `yaml:"size"` // bytes of request and reply; default 64
	CC   string `yaml:"cc"`   // congestion control; empty is cubic
}

func (p Iperf2Bounceback) Info() Info {
	i := responseBy("iperf 2", false, "mean instead of median: slow responses raise it; TCP_NODELAY and TCP_QUICKACK are set; no warm-up")
	i.About, i.Tools, i.NoWarmup, i.ServerReports = "TCP response time, by iperf 2.1.8 or later", iperf2Tools, true, true
	return i
}

func (p Iperf2Bounceback) Check() error {
	return checkStream("iperf bounceback", false, or(p.Size, defaultMessage), 1, 1)
}

// Commands implements Probe. With a period of 0 ms the next request follows the last
// answer at once; the default is ten requests a second.
func (p Iperf2Bounceback) Commands(w Window) (server, client []string) {
	server, client = iperf2(w, strings.Fields("-p "+port(w)+" -P 1 -e -f b"))
	return server, append(client, "-t", wholeSeconds(w.Duration), "-l", strconv.Itoa(or(p.Size, defaultMessage)),
		"-Z", or(p.CC, defaultCC), "--bounceback", "--bounceback-period", "0")
}
