package probe

import (
	"errors"
	"strconv"
)

// Iperf3 measures bulk throughput over TCP or UDP with iperf3 (esnet/iperf) 3.2
// or later; UDP needs 3.10, the first that reports what was received.
//
// Nothing is left to iperf3's defaults: they are 1 Mbit/s for UDP, a datagram
// that depends on the path's MTU, and the machine's congestion control.
//
// Note: the exit status says nothing. With -J, iperf3 3.12 ends with status 0
// also when it could not connect; Parse finds the error in the output.
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
	// iperf3UDPSize fits one packet of every network on an underlay with an MTU
	// of 1500 and IPv4: VXLAN leaves 1422 bytes (1500-50-28). So datagrams are
	// compared that are equal and not fragmented.
	iperf3UDPSize = 1400
	iperf3CC      = "cubic"
	// iperf3Connect bounds the wait for the server, in milliseconds. Without it
	// the kernel's own timeout holds, which is minutes.
	iperf3Connect = 5000
)

// Check returns an error when options contradict each other.
func (p Iperf3) Check() error {
	if p.GSO && !p.UDP {
		return errors.New("iperf3: gso is for UDP: set udp, or use iperf3-udp")
	}
	return nil
}

// Commands implements Probe. The server serves one client and ends by itself,
// so that a trial finds no state of the one before; SIGTERM ends it earlier.
//
// iperf3 reads whole seconds only: it takes -t 0.5 for 0, which means forever.
// So warm-up and duration are rounded up, to at least 1 s each; no warm-up stays
// none. The value "window" says how long was measured.
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

// Habits implements the optional method of foreign probes.
func (Iperf3) Habits() Habits { return Habits{ServerReports: true} }

// ratePerStream is what -b wants: bit/s of each stream, where 0 is unlimited.
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
