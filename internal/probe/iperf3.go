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

// iperf3Connect bounds the wait for the server, in milliseconds. The kernel's own
// timeout is minutes.
const iperf3Connect = 5000

func (p Iperf3) Info() Info {
	i := streamBy("iperf3", p.UDP, [2]string{
		"waits in select before every read and after every ten writes; excludes the warm-up",
		"one write per datagram and a select for every ten; a select and a read per received datagram; a socket buffer of the kernel's default size; excludes the warm-up"})
	i.Tools = []facts.ToolInfo{{Program: "iperf3", Package: "iperf3", VersionArgs: []string{"--version"}, Version: `iperf (\S+)`}}
	i.ServerReports = true
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
		"-P", strconv.Itoa(or(p.Streams, 1)), "-l", strconv.Itoa(bulkSize(p.UDP, p.Size)),
		"-b", p.ratePerStream()}
	if p.UDP {
		client = append(client, "-u")
		if p.GSO {
			client = append(client, "--gsro")
		}
	} else {
		client = append(client, "-C", or(p.CC, defaultCC))
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
	return strconv.FormatUint(max(1, uint64(p.Rate)/uint64(or(p.Streams, 1))), 10)
}
