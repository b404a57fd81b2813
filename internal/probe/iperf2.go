package probe

import (
	"strconv"
	"strings"
)

// Iperf2 measures bulk throughput over TCP or UDP with iperf 2 (iperf2 on
// SourceForge; not esnet's iperf3). Counted is what its server says it received.
//
// Datagrams have the 1470 bytes that are the tool's own default: the most that
// fits an MTU of 1500 behind some tunnels, and not behind VXLAN, where each is
// sent in two fragments. Set size to 1400 to compare networks without that.
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
	// iperf2Flood is a rate that nothing reaches: 0 is refused, and the default of
	// UDP is 1 Mbit/s.
	iperf2Flood = "100g"
)

// Habits implements the optional method of foreign probes.
func (Iperf2) Habits() Habits { return Habits{NoWarmup: true, ServerReports: true} }

// Check returns an error that names the option and its bound.
func (p Iperf2) Check() error {
	return checkStream("iperf", p.UDP, p.size(), iperf2MinUDP, or(p.Streams, 1))
}

// Commands implements Probe. The server ends after as many connections as there
// are streams. Output is in bytes and bit/s (-f b) with all columns (-e); its CSV
// (-y C) leaves out what the server received of UDP.
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
// 2.1.8 or later: requests back to back, each answered with as many bytes.
type Iperf2Bounceback struct {
	Size int    `yaml:"size"` // bytes of request and reply; default 64
	CC   string `yaml:"cc"`   // congestion control; empty is cubic
}

// Habits implements the optional method of foreign probes.
func (Iperf2Bounceback) Habits() Habits { return Habits{NoWarmup: true, ServerReports: true} }

// Check returns an error that names the option and its bound.
func (p Iperf2Bounceback) Check() error {
	return checkStream("iperf bounceback", false, or(p.Size, defaultMessage), 1, 1)
}

// Commands implements Probe. A period of 0 ms is the next request as soon as the
// last is answered; the default is ten a second.
func (p Iperf2Bounceback) Commands(w Window) (server, client []string) {
	server, client = iperf2(w, strings.Fields("-p "+port(w)+" -P 1 -e -f b"))
	return server, append(client, "-t", wholeSeconds(w.Duration), "-l", strconv.Itoa(or(p.Size, defaultMessage)),
		"-Z", or(p.CC, defaultCC), "--bounceback", "--bounceback-period", "0")
}
