package probe

import (
	"fmt"
	"strconv"
	"time"
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
	defaultRequests = 2000 // per second
)

// TCPStream measures the TCP payload that arrives per second.
type TCPStream struct {
	Streams int    `yaml:"streams"` // connections; default 1
	Size    int    `yaml:"size"`    // bytes per write; default 128 KiB
	CC      string `yaml:"cc"`      // congestion control; default cubic
}

// UDPStream measures the UDP payload that is delivered per second, and where the
// rest was lost.
type UDPStream struct {
	Size int     `yaml:"size"` // bytes of payload per datagram; default 1400, which every path with an MTU of 1450 carries whole
	Rate Bitrate `yaml:"rate"` // bit/s of payload; default as fast as one thread can
}

// UDPRate measures the datagrams that are delivered per second. It is UDPStream
// with small datagrams, for which a path's cost per packet is everything.
type UDPRate struct {
	Size int     `yaml:"size"` // bytes of payload per datagram; default 18
	Rate Bitrate `yaml:"rate"` // bit/s of payload; default as fast as one thread can
}

// Ping measures the time of ICMP echoes, sent on a schedule. It needs
// CAP_NET_RAW or a group in net.ipv4.ping_group_range, and no server.
type Ping struct {
	Size     int           `yaml:"size"`     // bytes of data; default 56
	Interval time.Duration `yaml:"interval"` // from one request to the next; default 10 ms
}

func (p TCPStream) Commands(w Window) (server, client []string) {
	return engineRun(w, "tcp-stream", or(p.Size, defaultWrite),
		"--streams", strconv.Itoa(or(p.Streams, 1)), "--cc", or(p.CC, defaultCC))
}

func (p UDPStream) Commands(w Window) (server, client []string) {
	return udpCommands(w, or(p.Size, defaultDatagram), p.Rate)
}

func (p UDPRate) Commands(w Window) (server, client []string) {
	return udpCommands(w, or(p.Size, smallDatagram), p.Rate)
}

func (p Ping) Commands(w Window) (server, client []string) {
	return nil, []string{"weir", "engine", "ping", w.Server.Addr().String(),
		"--duration", w.Duration.String(), "--warmup", w.Warmup.String(),
		"--size", strconv.Itoa(or(p.Size, defaultEcho)), "--interval", or(p.Interval, defaultInterval).String()}
}

func udpCommands(w Window, size int, rate Bitrate) (server, client []string) {
	return engineRun(w, "udp-stream", size, "--rate", fmt.Sprint(float64(rate)))
}

func engineRun(w Window, workload string, size int, flags ...string) (server, client []string) {
	server = []string{"weir", "engine", "serve", w.Server.String()}
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
