package probe

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// The native probes run `weir engine`, this program's own traffic generator. The
// zero value of every field is its default, and the engine's defaults are not
// relied on: what a probe means shows in its command line.
const (
	defaultWrite    = 128 << 10 // bytes: the write size of iperf3 for TCP
	defaultDatagram = 1400      // bytes: with IPv4 and UDP headers 1428, below the 1450 of VXLAN on a 1500-byte underlay
	smallDatagram   = 18        // bytes: fills the smallest Ethernet frame, 14 + 20 + 8 + 18 + 4 = 64
	defaultMessage  = 64        // bytes
	defaultCC       = "cubic"   // Linux's own default; machines are often set to another one
	defaultEcho     = 56        // bytes of data, as ping(8) sends
	defaultInterval = 10 * time.Millisecond
	defaultRequests = event.DefaultRequests
)

// TCPStream measures the TCP payload that arrives per second.
type TCPStream struct {
	Streams  int     `yaml:"streams"`  // connections, a thread each at both ends; default 1
	Rate     Bitrate `yaml:"rate"`     // bit/s of payload that the streams together are paced to; default as fast as they can
	Size     int     `yaml:"size"`     // bytes per write; default 128 KiB
	CC       string  `yaml:"cc"`       // congestion control; default cubic
	Discard  bool    `yaml:"discard"`  // the receiver throws the bytes away in the kernel; default is to copy them, as every application must
	Zerocopy bool    `yaml:"zerocopy"` // send with MSG_ZEROCOPY; on one machine the kernel copies all the same, and more dearly
	DSCP     int     `yaml:"dscp"`     // of the packets of both ends, 0 to 63
}

// UDPStream measures the UDP payload that is delivered per second, and where the
// rest was lost.
type UDPStream struct {
	Size  int     `yaml:"size"`  // bytes of payload per datagram; default 1400, which every path with an MTU of 1450 carries whole
	Rate  Bitrate `yaml:"rate"`  // bit/s of payload; default as fast as one thread can
	Send  string  `yaml:"send"`  // single (one sendto per datagram, the default), mmsg (sendmmsg) or gso (UDP_SEGMENT: one buffer for many, cut as late as possible)
	Batch int     `yaml:"batch"` // datagrams per call; default 1 for single, 32 for mmsg, and for gso what a buffer of 65507 bytes holds, 64 at most
	Recv  string  `yaml:"recv"`  // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: what arrives in one buffer stays in it); default gro for gso, else mmsg
	// Packets, in place of Size and Batch, is how many full packets of the path's MTU
	// a call hands over: for single a datagram of so many fragments, else so many datagrams.
	Packets int `yaml:"packets"`

	looks bool // its receiver looks for datagrams although they are paced; see Pace
}

// UDPRate measures the datagrams that are delivered per second. It is UDPStream
// with small datagrams, for which a path's cost per packet is everything.
type UDPRate struct {
	Size  int     `yaml:"size"`  // bytes of payload per datagram; default 18
	Rate  Bitrate `yaml:"rate"`  // bit/s of payload; default as fast as one thread can
	Send  string  `yaml:"send"`  // single (one sendto per datagram, the default), mmsg (sendmmsg) or gso (UDP_SEGMENT: one buffer for many, cut as late as possible)
	Batch int     `yaml:"batch"` // datagrams per call; default 1 for single, 32 for mmsg, and for gso what a buffer of 65507 bytes holds, 64 at most
	Recv  string  `yaml:"recv"`  // single (recvmsg), mmsg (recvmmsg) or gro (UDP_GRO: what arrives in one buffer stays in it); default gro for gso, else mmsg

	looks bool // its receiver looks for datagrams although they are paced; see Pace
}

// Ping measures the time of ICMP echoes, sent on a schedule. It needs
// CAP_NET_RAW or a group in net.ipv4.ping_group_range, and no server.
type Ping struct {
	Size     int           `yaml:"size"`     // bytes of data; default 56
	Interval time.Duration `yaml:"interval"` // from one request to the next; default 10 ms
}

func (p TCPStream) Commands(w Window) (server, client []string) {
	flags := []string{"--streams", strconv.Itoa(or(p.Streams, 1)), "--cc", or(p.CC, defaultCC), "--dscp", strconv.Itoa(p.DSCP)}
	if p.Rate > 0 {
		flags = append(flags, "--rate", fmt.Sprint(float64(p.Rate)))
	}
	if p.Discard {
		flags = append(flags, "--discard")
	}
	if p.Zerocopy {
		flags = append(flags, "--zerocopy")
	}
	return engineRun(w, "tcp-stream", or(p.Size, defaultWrite), flags...)
}

func (p UDPStream) Commands(w Window) (server, client []string) {
	return udpStream(w, p.path(w), p.Rate, p.looks)
}

func (p UDPRate) Commands(w Window) (server, client []string) {
	return udpStream(w, p.path(), p.Rate, p.looks)
}

func (p Ping) Commands(w Window) (server, client []string) {
	return nil, []string{"weir", "engine", "ping", w.Server.Addr().String(),
		"--duration", w.Duration.String(), "--warmup", w.Warmup.String(),
		"--size", strconv.Itoa(or(p.Size, defaultEcho)), "--interval", or(p.Interval, defaultInterval).String()}
}

func engineRun(w Window, workload string, size int, flags ...string) (server, client []string) {
	server = []string{"weir", "engine", "serve", w.Server.String(), "--open", "--json"}
	client = []string{"weir", "engine", "run", workload, w.Server.String(),
		"--duration", w.Duration.String(), "--warmup", w.Warmup.String(), "--size", strconv.Itoa(size)}
	return server, append(client, flags...)
}

// or returns v, or the default when v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
