package probe

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/record"
)

// Lines of iperf 2 with -f b:
//
//	[  1] 0.0000-1.0002 sec  4759093308 Bytes  38063801471 bits/sec  …
//	[  1] 0.0000-1.0000 sec  1 datagrams received out-of-order
//
// After the rate, a UDP receiver has jitter and lost/total, and a TCP sender has
// writes/errors and retransmissions.
var (
	iperf2LineRE      = regexp.MustCompile(`(?m)^\[ *\d+\] +0\.0+- *(\d+\.\d+) sec +(\d+) Bytes +\d+ bits/sec(.*)$`)
	iperf2JitterRE    = regexp.MustCompile(`^ +(\d+\.\d+) ms +-?\d+/ *\d+ \(`)
	iperf2RetryRE     = regexp.MustCompile(`^ +\d+/\d+ +(\d+) `)
	iperf2ReorderedRE = regexp.MustCompile(`(?m)^\[ *\d+\] .* sec +(\d+) datagrams received out-of-order`)
	iperf2PeerRE      = regexp.MustCompile(`\(peer (\d[^) ]*)`)
	iperf2CCRE        = regexp.MustCompile(`(?m)^TCP congestion control set to (\S+)`)
	iperf2SizeRE      = regexp.MustCompile(`(?m)^Sending (\d+) byte datagrams`)
	iperf2BounceRE    = regexp.MustCompile(`(?m)^\[ *\d+\] +0\.0+-(\d+\.\d+) sec +\d+ Bytes +\d+ bits/sec +(\d+)=(\d+\.\d+)/\S+ ms +\d+ .* (\d+) rps`)
)

// iperf2Side is the sum of the streams at one end.
type iperf2Side struct {
	streams              int
	bytes, seconds       float64 // of the stream that lasted longest
	jitter               float64 // s, mean of the streams
	jitters, retransmits float64
}

// iperf2Read adds up the streams. A UDP client also prints the server's report, which
// has jitter.
func iperf2Read(b []byte, client bool) (s iperf2Side) {
	for _, m := range iperf2LineRE.FindAllSubmatch(b, -1) {
		j := iperf2JitterRE.FindSubmatch(m[3])
		if client && j != nil {
			continue
		}
		seconds, _ := strconv.ParseFloat(string(m[1]), 64) // digits, by the expression
		n, _ := strconv.ParseFloat(string(m[2]), 64)
		s.streams++
		s.bytes += n
		s.seconds = max(s.seconds, seconds)
		if j != nil {
			v, _ := strconv.ParseFloat(string(j[1]), 64)
			s.jitters++
			s.jitter += (v/1e3 - s.jitter) / s.jitters
		} else if r := iperf2RetryRE.FindSubmatch(m[3]); r != nil {
			v, _ := strconv.ParseFloat(string(r[1]), 64)
			s.retransmits += v
		}
	}
	return s
}

// Parse reads, for TCP, throughput, retransmits (segments) and window; for UDP,
// throughput and packet.rate received, offered (only with a rate), sent and delivered
// packets per second, loss and reordered (shares of 0..1), jitter (RFC 3550, mean of
// the streams, in steps of 1 µs) and window.
//
// Only the server counts the last datagram of a stream, which marks the end: so it can
// receive one datagram per stream more than were sent.
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
	m := Measured{Protocol: "tcp", Observed: map[string]string{}}
	if peer := iperf2PeerRE.FindSubmatch(out.Server); peer != nil { // no other line has the version
		m.Observed["tool"] = "iperf " + string(peer[1])
	}
	if p.UDP {
		if s := iperf2SizeRE.FindSubmatch(out.Client); s == nil || string(s[1]) != strconv.Itoa(p.size()) {
			return m, fmt.Errorf("the output does not confirm datagrams of %d bytes", p.size())
		}
		if received.jitters == 0 {
			return m, errors.New("the server reported no jitter: it did not receive UDP")
		}
		t.slack = t.size * float64(streams)
		m.Protocol, m.Datagram = "udp", p.size()
	}
	if err := t.check(); err != nil {
		return m, err
	}
	if !p.UDP {
		if err := iperf2CC(out.Client, p.CC); err != nil {
			return m, err
		}
		m.Observed["congestion"] = or(p.CC, defaultCC)
		m.Values = []record.Value{t.throughput(), {Name: "retransmits", Unit: "1", Value: sent.retransmits}, t.window()}
		return m, nil
	}
	reordered := 0.0
	for _, m := range iperf2ReorderedRE.FindAllSubmatch(out.Server, -1) {
		v, _ := strconv.ParseFloat(string(m[1]), 64)
		reordered += v
	}
	m.Values = t.datagrams(
		record.Value{Name: "reordered", Unit: "1", Value: reordered / (t.received / t.size)},
		record.Value{Name: "jitter", Unit: "s", Value: received.jitter})
	return m, nil
}

// iperf2CC checks the congestion control. When iperf cannot set it, it continues with
// another one.
func iperf2CC(client []byte, asked string) error {
	cc := or(asked, defaultCC)
	if m := iperf2CCRE.FindSubmatch(client); m == nil || string(m[1]) != cc {
		return fmt.Errorf("congestion control was not set to %q; sysctl net.ipv4.tcp_available_congestion_control lists the available ones", cc)
	}
	return nil
}

// Parse reads rtt.mean (s), transactions (1/s) and window. iperf prints the mean in
// steps of 1 µs, and how many requests fit into a second ("rps"), whose inverse is the
// same mean without the steps.
func (p Iperf2Bounceback) Parse(out Output) (Measured, error) {
	all := iperf2BounceRE.FindAllSubmatch(out.Client, -1)
	if len(all) == 0 {
		return Measured{}, errors.New("iperf: no line of a complete bounceback; it needs 2.1.8 or later")
	}
	var f [4]float64 // seconds, count, mean in ms, rps
	for i := range f {
		f[i], _ = strconv.ParseFloat(string(all[len(all)-1][i+1]), 64)
	}
	mean := 1 / f[3]
	if !(f[0] > 0 && f[1] > 0) || math.Abs(mean-f[2]/1e3) > 2e-6 || mean*f[1] > f[0]*1.01 {
		return Measured{}, fmt.Errorf("iperf: %.0f requests of %v ms at %.0f/s do not fit %v s", f[1], f[2], f[3], f[0])
	}
	return checked("iperf", Measured{Protocol: "tcp", Observed: map[string]string{"congestion": or(p.CC, defaultCC)}, Values: []record.Value{
		{Name: "rtt.mean", Unit: "s", Value: mean},
		{Name: "transactions", Unit: "1/s", Value: f[1] / f[0]},
		{Name: "window", Unit: "s", Value: f[0]},
	}}, iperf2CC(out.Client, p.CC))
}
