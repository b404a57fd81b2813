package probe

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// TCPStream measures the rate at which TCP payload arrives.
type TCPStream struct {
	Streams  int     `yaml:"streams"`          // connections, each with a thread at both ends; default 1
	Rate     Bitrate `yaml:"rate"`             // bit/s of payload, all streams together; default unlimited
	Size     int     `yaml:"size"`             // bytes per write; default 1 MiB, 128 KiB with a rate
	CC       string  `yaml:"cc"`               // congestion control; default cubic
	Discard  bool    `yaml:"discard"`          // the receiver drops bytes in the kernel; applications must copy them
	Sendfile bool    `yaml:"sendfile"`         // send the same pages of memory again and again (sendfile), which copies nothing at the sender
	Zerocopy bool    `yaml:"zerocopy"`         // send with MSG_ZEROCOPY; on one machine the kernel still copies, at a higher cost
	DSCP     int     `yaml:"dscp" zero:"used"` // of the packets of both ends, 0 to 63
	Buffers
}

func (p TCPStream) Info() Info {
	return Info{
		Title: "TCP stream", Short: "TCP", Unit: "bit/s", DeliveryUnit: "bit/s",
		About:    "TCP throughput at the receiver (native)",
		Method:   "One TCP connection sends as fast as it can. weir counts what arrived.",
		Measures: tcpThroughput,
		Differs:  "counts what the receiver copied within the window, after a warm-up; Nagle's algorithm is off (TCP_NODELAY); one thread per end; writes of 1 MiB, and on fast paths a receiver that waits for as much in every read",
	}
}

func (p TCPStream) size() int { return or(p.Size, event.DefaultWrite(float64(p.Rate))) }

func (p TCPStream) Check() error {
	if p.Sendfile && p.Zerocopy {
		return errors.New("sendfile and zerocopy are two ways to send: give one of them")
	}
	return cmp.Or(event.Within("streams:", or(p.Streams, 1), 1, maxStreams, ""), event.CheckMessages("tcp-stream", p.size(), 1),
		checkCC(p.CC), event.CheckPaced(float64(p.Rate), or(p.Streams, 1)), event.Within("dscp:", p.DSCP, 0, event.MaxDSCP, ""), p.Buffers.check())
}

func (p TCPStream) Pace(rate float64) (Probe, error) {
	p.Rate = Bitrate(rate)
	return &p, p.Check()
}

func (p TCPStream) Capacity() (by Probe, kind string, err error) {
	by, err = p.Pace(0) // p can have a rate
	return by, "flat out", err
}

func (p TCPStream) Commands(w Window) (server, client []string) {
	flags := append([]string{"--streams", strconv.Itoa(or(p.Streams, 1))}, w.chooseCC("--cc", p.CC)...)
	flags = append(flags, "--dscp", strconv.Itoa(p.DSCP))
	if p.Rate > 0 {
		flags = append(flags, "--rate", fmt.Sprint(float64(p.Rate)))
	}
	if p.Discard {
		flags = append(flags, "--discard")
	}
	if p.Sendfile {
		flags = append(flags, "--sendfile")
	}
	if p.Zerocopy {
		flags = append(flags, "--zerocopy")
	}
	return engineRun(w, "tcp-stream", p.size(), append(flags, p.Buffers.flags()...)...)
}

// Parse reads throughput (bit/s), retransmits (segments), silence (s, the longest time without data
// on a stream), window, and those of own and limits. Throughput is 0 if a retransmission timeout, at least 200 ms
// (net/ipv4/tcp.h, TCP_RTO_MIN), outlasted the window.
func (p TCPStream) Parse(out Output) (Measured, error) {
	var r event.TCPStream
	n := parseNative(out, "tcp-stream", &r)
	settings := []record.Observation{record.Streams.Is(r.Streams), record.MSS.Is(r.MSS), record.Congestion.Is(r.Congestion),
		record.ServerCongestion.Is(r.FarCongestion), record.RcvBuf.Is(r.RcvBuf), record.Send.Is(r.Send), record.Recv.Is(r.Recv), record.DSCP.Is(r.DSCP)}
	pause := 0.0
	if r.Rate > 0 {
		settings = append(settings, record.Rate.Is(r.Rate))
		// The kernel sends at least two segments at once (tcp_min_tso_segs, net/ipv4/tcp_output.c).
		pause = 2 * 8 * float64(r.MSS) * float64(r.Streams) / r.Rate
	}
	values := []record.Value{
		{Name: record.Throughput, Unit: "bit/s", Value: float64(r.Bytes) * 8 / r.Window},
		{Name: record.Retransmits, Unit: "1", Value: float64(r.Retransmits)},
		{Name: record.Silence, Unit: "s", Value: r.Silence},
		{Name: record.Window, Unit: "s", Value: r.Window},
	}
	values = append(append(values, n.own(r.Window, r.Own)...), limits(r.ClientTCP)...)
	m, _ := n.measured("tcp", r.Head, values, settings...)
	if n.require(r.Silence <= r.Window, "a silence of %g s in %g s", r.Silence, r.Window); n.err != nil {
		return Measured{}, n.err
	}
	m.Pause = pause
	return m, nil
}
