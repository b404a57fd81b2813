package probe

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Iperf2 measures bulk TCP or UDP throughput with iperf 2 (iperf2 on SourceForge, not esnet's
// iperf3), as the server reports it.
//
// The default datagram of 1470 bytes is the tool's own. It fits an MTU of 1500 behind some tunnels,
// but VXLAN splits it into two fragments. Set size to 1400 to compare networks without fragments.
type Iperf2 struct {
	UDP     bool    `yaml:"udp"`     // UDP instead of TCP
	Streams int     `yaml:"streams"` // in parallel, 1 to 128; 0 is 1
	Size    int     `yaml:"size"`    // bytes per write or datagram; 0 is 131072 for TCP, 1470 for UDP
	Rate    Bitrate `yaml:"rate"`    // bit/s of payload, all streams together; 0 is as fast as possible
	CC      string  `yaml:"cc"`      // congestion control of TCP; empty is cubic
}

const (
	iperf2UDPSize = 1470
	// iperf2MinUDP is the size of a datagram's header in bytes (struct UDP_datagram,
	// include/payloads.h, version 2.1.8).
	iperf2MinUDP = 16
	// iperf2Flood is an unreachable rate: iperf rejects 0, and its default for UDP is 1 Mbit/s.
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
	return cmp.Or(checkStream("iperf", p.UDP, p.size(), iperf2MinUDP, or(p.Streams, 1)), checkRate("iperf", p.Rate, p.Streams), tcpOnly("iperf", p.UDP, p.CC))
}

// Commands implements Probe. The server exits after one connection per stream. Units are bytes and
// bit/s (-f b), with all columns (-e); the CSV output (-y C) omits what a UDP server received.
func (p Iperf2) Commands(w Window) (server, client []string) {
	streams := strconv.Itoa(or(p.Streams, 1))
	common := []string{"-P", streams, "-l", strconv.Itoa(p.size()), "-e", "-f", "b"}
	if p.UDP {
		common = append(common, "-u")
	}
	server, client = iperf2(w, common)
	client = append(client, "-t", wholeSeconds(w.Duration))
	switch {
	case p.Rate > 0:
		client = append(client, "-b", perStream(p.Rate, p.Streams))
	case p.UDP:
		client = append(client, "-b", iperf2Flood)
	}
	if !p.UDP {
		client = append(client, w.chooseCC("-Z", p.CC)...)
	}
	return server, client
}

func iperf2(w Window, common []string) (server, client []string) {
	if w.Server.Addr().Is6() {
		common = append(common, "-V")
	}
	server = append([]string{"iperf", "-s", "-B", w.Server.Addr().String(), "-p", port(w)}, common...)
	client = append([]string{"iperf", "-c", w.call().Addr().String(), "-p", callPort(w)}, common...)
	return server, client
}

func (p Iperf2) size() int {
	if p.UDP {
		return or(p.Size, iperf2UDPSize)
	}
	return or(p.Size, foreignWrite)
}

// Iperf2Bounceback measures TCP response times with iperf 2.1.8 or later: back-to-back requests,
// each answered with the same number of bytes.
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

// Commands implements Probe. A period of 0 ms sends the next request right after each answer; the
// default is ten requests per second.
func (p Iperf2Bounceback) Commands(w Window) (server, client []string) {
	server, client = iperf2(w, strings.Fields("-P 1 -e -f b"))
	client = append(client, "-t", wholeSeconds(w.Duration), "-l", strconv.Itoa(or(p.Size, defaultMessage)))
	return server, append(append(client, w.chooseCC("-Z", p.CC)...), "--bounceback", "--bounceback-period", "0")
}

// Lines of iperf 2 with -f b:
//
//	[  1] 0.0000-1.0002 sec  4759093308 Bytes  38063801471 bits/sec  …
//	[  1] 0.0000-1.0000 sec  1 datagrams received out-of-order
//
// After the rate, a UDP receiver prints jitter and lost/total; a TCP sender prints writes/errors
// and retransmissions.
var (
	iperf2LineRE      = regexp.MustCompile(`(?m)^\[ *\d+\] +0\.0+- *(\d+\.\d+) sec +(\d+) Bytes +\d+ bits/sec(.*)$`)
	iperf2JitterRE    = regexp.MustCompile(`^ +(\d+\.\d+) ms +-?\d+/ *\d+ \(`)
	iperf2RetryRE     = regexp.MustCompile(`^ +\d+/\d+ +(\d+) `)
	iperf2ReorderedRE = regexp.MustCompile(`(?m)^\[ *\d+\] .* sec +(\d+) datagrams received out-of-order`)
	iperf2PeerRE      = regexp.MustCompile(`\(peer (\d[^) ]*)`)
	iperf2CCRE        = regexp.MustCompile(`(?m)^TCP congestion control set to (\S+)`)
	iperf2SizeRE      = regexp.MustCompile(`(?m)^Sending (\d+) byte datagrams`)
	iperf2BounceRE    = regexp.MustCompile(`(?m)^\[ *\d+\] +0\.0+-(\d+\.\d+) sec +\S+ [KMGT]?Bytes +\S+ [KMGT]?bits/sec +(\d+)=(\d+\.\d+)/\S+ ms +\d+ .* (\d+(?:\.\d)?) rps`)
)

type iperf2Side struct {
	streams              int
	bytes, seconds       float64 // of the stream that lasted longest
	jitter               float64 // s, mean of the streams
	jitters, retransmits float64
}

// iperf2Read sums the streams. A UDP client also prints the server's report; its jitter identifies
// it.
func iperf2Read(b []byte, client bool) (s iperf2Side) {
	for _, m := range iperf2LineRE.FindAllSubmatch(b, -1) {
		j := iperf2JitterRE.FindSubmatch(m[3])
		if client && j != nil {
			continue
		}
		s.streams++
		s.bytes += digits(m[2])
		s.seconds = max(s.seconds, digits(m[1]))
		if j != nil {
			s.jitters++
			s.jitter += (digits(j[1])/1e3 - s.jitter) / s.jitters
		} else if r := iperf2RetryRE.FindSubmatch(m[3]); r != nil {
			s.retransmits += digits(r[1])
		}
	}
	return s
}

// Parse reads, for TCP, throughput, retransmits (segments) and window; for UDP, received throughput
// and packet.rate, offered (with a rate), sent and delivered (packet/s), loss and reordered (0 to
// 1), jitter (RFC 3550, mean of the streams, in steps of 1 µs) and window.
//
// Only the server counts the datagram that ends a stream, so it can receive one more per stream
// than the client sent.
func (p Iperf2) Parse(out Output) (Measured, error) {
	m, err := p.parse(out)
	return checked("iperf", m, err)
}

func (p Iperf2) parse(out Output) (Measured, error) {
	sent, received := iperf2Read(out.Client, true), iperf2Read(out.Server, false)
	streams := or(p.Streams, 1)
	switch {
	case sent.streams != streams:
		return Measured{}, fmt.Errorf("the client reported %d of %d streams", sent.streams, streams)
	case received.streams != streams:
		return Measured{}, fmt.Errorf("the server reported %d of %d streams", received.streams, streams)
	}
	t := transfer{sent: sent.bytes, received: received.bytes, seconds: received.seconds, size: float64(p.size()), offered: float64(p.Rate)}
	want := out.cc(p.CC)
	m := carrier(p.UDP, p.size(), or(want, kernelCCUnset))
	if peer := iperf2PeerRE.FindSubmatch(out.Server); peer != nil { // no other line has the version
		record.Tool.Put(m.Observed, "iperf "+string(peer[1]))
	}
	if p.UDP {
		if s := iperf2SizeRE.FindSubmatch(out.Client); s == nil || string(s[1]) != strconv.Itoa(p.size()) {
			return m, fmt.Errorf("the output does not confirm datagrams of %d bytes", p.size())
		}
		if received.jitters == 0 {
			return m, errors.New("the server reported no jitter: it did not receive UDP")
		}
		t.slack = t.size * float64(streams)
	}
	if err := t.check(); err != nil {
		return m, err
	}
	if !p.UDP {
		if err := iperf2CC(out.Client, want); err != nil {
			return m, err
		}
		m.Values = []record.Value{t.throughput(), {Name: record.Retransmits, Unit: "1", Value: sent.retransmits}, t.window()}
		return m, nil
	}
	reordered := 0.0
	for _, m := range iperf2ReorderedRE.FindAllSubmatch(out.Server, -1) {
		reordered += digits(m[1])
	}
	m.Values = t.datagrams(
		record.Value{Name: record.Reordered, Unit: "1", Value: reordered / (t.received / t.size)},
		record.Value{Name: record.Jitter, Unit: "s", Value: received.jitter})
	return m, nil
}

// iperf2CC checks the congestion control: iperf continues with another one if it cannot set it.
func iperf2CC(client []byte, cc string) error {
	if cc == "" {
		return nil
	}
	if m := iperf2CCRE.FindSubmatch(client); m == nil || string(m[1]) != cc {
		return fmt.Errorf("congestion control was not set to %q; sysctl net.ipv4.tcp_available_congestion_control lists the available ones", cc)
	}
	return nil
}

// Parse reads rtt.mean (s), transactions (1/s) and window. iperf rounds the mean to 1 µs, and its
// inverse ("rps") to 1/s or, below 10/s in some versions, 0.1/s (tcp_output_write_bb,
// ReportOutputs.c). rtt.mean is the one with more digits: the inverse below 1 ms.
func (p Iperf2Bounceback) Parse(out Output) (Measured, error) {
	m, err := iperf2Bounces(out.Client)
	if err != nil {
		return m, err
	}
	record.Congestion.Put(m.Observed, or(out.cc(p.CC), kernelCCUnset))
	return checked("iperf", m, iperf2CC(out.Client, out.cc(p.CC)))
}

func iperf2Bounces(b []byte) (Measured, error) {
	all := iperf2BounceRE.FindAllSubmatch(b, -1)
	if len(all) == 0 {
		return Measured{}, errors.New("iperf: no line of a complete bounceback; it needs 2.1.8 or later")
	}
	f, err := numbers(all[len(all)-1][1:])
	if err != nil {
		return Measured{}, fmt.Errorf("iperf: %w", err)
	}
	seconds, n, ms, rps := f[0].value, f[1].value, f[2], f[3]
	least, most := (ms.value-ms.rounding)/1e3, (ms.value+ms.rounding)/1e3
	fits := rps.value+rps.rounding >= 1/most && rps.value-rps.rounding <= 1/max(least, 1e-9)
	if !(seconds > 0 && n > 0 && most > 0) || !fits || least*n > seconds*1.01 {
		return Measured{}, fmt.Errorf("iperf: %.0f requests of %v ms at %.0f/s do not fit %v s", n, ms.value, rps.value, seconds)
	}
	mean := ms.value / 1e3
	if mean < 1e-3 {
		mean = 1 / rps.value
	}
	return Measured{Protocol: "tcp", Observed: record.Observed{}, Values: []record.Value{
		{Name: record.RTTMean, Unit: "s", Value: mean},
		{Name: record.Transactions, Unit: "1/s", Value: n / seconds},
		{Name: record.Window, Unit: "s", Value: seconds},
	}}, nil
}
