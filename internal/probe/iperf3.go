package probe

import (
	"errors"
	"strconv"

	"github.com/weir-bench/weir/internal/facts"
)

// Iperf3 measures bulk throughput over TCP or UDP with iperf3 (esnet/iperf) 3.2
// or later; UDP needs 3.10, the first that reports what was received.
//
// The probe sets what iperf3 would choose itself: 1 Mbit/s for UDP, a datagram that
// depends on the path's MTU, and the machine's congestion control.
//
// The exit status is no use. With -J, iperf3 3.12 ends with status 0 even when it
// could not connect; Parse finds the error in the output.
type Iperf3 struct {
	UDP     bool    `yaml:"udp"`
	Streams int     `yaml:"streams"` // in parallel, 1 to 128; 0 is 1
	Size    int     `yaml:"size"`    // bytes per write or datagram; 0 is 131072 for TCP, 1400 for UDP
	Rate    Bitrate `yaml:"rate"`    // of payload, all streams together; 0 is as fast as possible
	Reverse bool    `yaml:"reverse"` // the server sends and the client receives
	CC      string  `yaml:"cc"`      // congestion control of TCP; empty is cubic
	GSO     bool    `yaml:"gso"`     // UDP_SEGMENT and UDP_GRO at both ends, where iperf3 has --gsro, as 3.21 does
}

const (
	iperf3TCPSize = 128 << 10
	// iperf3UDPSize fits one packet of every network on an underlay with an MTU of
	// 1500 and IPv4: VXLAN leaves 1422 bytes (1500-50-28). So all networks carry the
	// same datagrams, unfragmented.
	iperf3UDPSize = 1400
	iperf3CC      = "cubic"
	// iperf3Connect bounds the wait for the server, in milliseconds. The kernel's own
	// timeout is minutes.
	iperf3Connect = 5000
)

// Info describes the probe.
func (p Iperf3) Info() Info {
	i := Info{
		Title: "TCP stream (iperf3)", Short: "TCP by iperf3", Unit: "bit/s", ServerReports: true,
		About:    "TCP throughput at the receiver, by iperf3",
		Measures: tcpThroughput,
		Differs:  "waits in select before every read and after every ten writes; excludes the warm-up",
		Tools:    []facts.ToolInfo{{Program: "iperf3", Package: "iperf3", VersionArgs: []string{"--version"}, Version: `iperf (\S+)`}},
	}
	if p.UDP {
		i.Title, i.Short, i.Measures = "UDP stream (iperf3)", "UDP by iperf3", udpThroughput
		i.About = "UDP throughput at the receiver, by iperf3"
		i.Differs = "one write per datagram and a select for every ten; a select and a read per received datagram; a socket buffer of the kernel's default size; excludes the warm-up"
	}
	return i
}

// Check returns an error when options contradict each other.
func (p Iperf3) Check() error {
	if p.GSO && !p.UDP {
		return errors.New("iperf3: gso needs UDP: set udp, or use iperf3-udp")
	}
	return nil
}

// Commands implements Probe. The server serves one client and ends by itself, so
// that no state outlives a trial; SIGTERM ends it earlier.
//
// iperf3 reads whole seconds only: it reads -t 0.5 as 0, which means forever. So
// warm-up and duration are rounded up, to at least 1 s each; no warm-up stays none.
// The value "window" says how long it measured.
func (p Iperf3) Commands(w Window) (server, client []string) {
	addr, port := w.Server.Addr().String(), port(w)
	server = []string{"iperf3", "-s", "-1", "-B", addr, "-p", port, "-J"}
	omitted := "0"
	if w.Warmup > 0 {
		omitted = wholeSeconds(w.Warmup)
	}
	client = []string{"iperf3", "-c", addr, "-p", port, "-J",
		"--connect-timeout", strconv.Itoa(iperf3Connect),
		"-t", wholeSeconds(w.Duration), "-O", omitted,
		"-P", strconv.Itoa(p.streams()), "-l", strconv.Itoa(p.size()),
		"-b", p.ratePerStream()}
	if p.UDP {
		client = append(client, "-u")
		if p.GSO {
			client = append(client, "--gsro")
		}
	} else {
		client = append(client, "-C", p.cc())
	}
	if p.Reverse {
		client = append(client, "-R")
	}
	return server, client
}

// ratePerStream is the argument of -b: bit/s of each stream; 0 is unlimited.
func (p Iperf3) ratePerStream() string {
	if p.Rate == 0 {
		return "0"
	}
	return strconv.FormatUint(max(1, uint64(p.Rate)/uint64(p.streams())), 10)
}

func (p Iperf3) streams() int { return max(1, p.Streams) }

func (p Iperf3) size() int {
	switch {
	case p.Size != 0:
		return p.Size
	case p.UDP:
		return iperf3UDPSize
	}
	return iperf3TCPSize
}

func (p Iperf3) cc() string {
	if p.CC == "" {
		return iperf3CC
	}
	return p.CC
}
