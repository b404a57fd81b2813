package probe

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// Defaults of the native probes, which run `weir engine`, weir's own traffic generator. They pass
// every setting explicitly instead of relying on the engine's defaults, except the congestion control
// on machines that can refuse it.
const (
	defaultDatagram = 1400      // bytes: with IPv4 and UDP headers 1428, below the 1450 of VXLAN on a 1500-byte underlay
	foreignWrite    = 128 << 10 // bytes: what iperf and iperf3 write to TCP unless told otherwise
	smallDatagram   = 18        // bytes: fills the smallest Ethernet frame, 14 + 20 + 8 + 18 + 4 = 64
	defaultMessage  = 64        // bytes
	defaultCC       = "cubic"   // Linux's default, which distributions often change
	defaultEcho     = 56        // bytes of data, as ping(8) sends
	defaultInterval = 10 * time.Millisecond
)

func engineRun(w Window, workload string, size int, flags ...string) (server, client []string) {
	server = []string{"weir", "engine", "serve", w.Server.String(), "--open", "--json"}
	client = []string{"weir", "engine", "run", workload, w.call().String(),
		"--duration", w.Duration.String(), "--warmup", w.Warmup.String(), "--size", fmt.Sprint(size)}
	return server, append(client, flags...)
}

// checkCC bounds the name of a congestion control (TCP_CA_NAME_MAX, include/net/tcp.h).
func checkCC(name string) error {
	if len(name) > 15 {
		return fmt.Errorf("cc: %q is longer than 15 bytes", name)
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" { // as the kernel's own are named
		return fmt.Errorf("cc: %q: want the name of a congestion control, such as cubic", name)
	}
	return nil
}

func or[T comparable](v, def T) T { return cmp.Or(v, def) }

// A native collects the first error in a result of `weir engine`, and what both ends used.
type native struct {
	err            error
	client, server evidence.End
}

// parseNative decodes a workload's result into r, a pointer to a type of package event. After an
// error r can be incomplete; measured returns that error.
func parseNative(out Output, workload string, r any) *native {
	n := &native{}
	if err := event.Read(out.Client, workload, r); err != nil {
		n.fail("%w", err)
	}
	return n
}

func (n *native) fail(format string, args ...any) {
	if n.err == nil {
		n.err = fmt.Errorf("weir engine: "+format, args...)
	}
}

// require records an impossible result unless ok.
func (n *native) require(ok bool, format string, args ...any) {
	if !ok {
		n.fail("impossible: "+format, args...)
	}
}

// measured returns the values and settings, or the first error; non-finite and negative values are
// errors.
func (n *native) measured(protocol string, h event.Head, values []record.Value, settings ...record.Observation) (Measured, error) {
	n.require(h.Window > 0, "window is 0 s")
	for _, v := range values {
		n.require(!math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) && v.Value >= 0, "%s is %g %s", v.Name, v.Value, v.Unit)
	}
	if n.err != nil {
		return Measured{}, n.err
	}
	found := record.Observed{}
	found.Observe(append(settings, record.Tool.Is(record.Engine), record.Size.Is(h.Size))...)
	m := Measured{Values: values, Observed: found, Protocol: protocol, Client: n.client, Server: n.server, Window: h.Window}
	if protocol != "tcp" {
		m.Datagram = h.Size
	}
	return m, nil
}

// own returns the CPU time of the engine's threads in a window of seconds as cores, at both ends and
// together (none if a clock is missing), and the values of waits.
func (n *native) own(window float64, o event.Own) []record.Value {
	values := n.waits(window, o)
	if o.ClientTime == 0 || o.ServerTime == 0 || window == 0 {
		return values
	}
	client, server := o.ClientTime/window, o.ServerTime/window
	return append([]record.Value{record.CPUOwn.Whole().Value("core", client+server),
		record.CPUOwn.At("client").Value("core", client),
		record.CPUOwn.At("server").Value("core", server)}, values...)
}

// waits keeps what both ends used, for measured, and returns how many of the engine's threads were
// runnable and waited for a CPU, on average: cpu.wait of both ends, as cores that were
// missing. An end that did not count it has none.
func (n *native) waits(window float64, o event.Own) (values []record.Value) {
	for _, end := range []struct {
		name string
		cpu  float64
		wait *float64
		tcp  *event.TCP
		to   *evidence.End
	}{{"client", o.ClientTime, o.ClientWait, o.ClientTCP, &n.client}, {"server", o.ServerTime, o.ServerWait, o.ServerTCP, &n.server}} {
		*end.to = evidence.End{CPU: end.cpu}
		if end.wait != nil && window > 0 {
			end.to.Wait = *end.wait
			values = append(values, record.CPUWait.At(end.name).Value("core", *end.wait/window))
		}
		if t := end.tcp; t != nil {
			n.require(min(t.Busy, t.RwndLimited, t.SndbufLimited, t.SegmentsOut, t.Retransmitted, t.Duplicates, t.Reordered, t.Window) >= 0, "TCP_INFO of the %s shrank: %+v", end.name, *t)
			end.to.TCP = (*evidence.TCP)(t)
		}
	}
	return values
}

// limits returns, of the time in which the sender had data in flight or waiting, the shares in which the
// receiver's window and the send buffer held it back: tcp.rwnd.limited and tcp.sndbuf.limited.
func limits(sender *event.TCP) []record.Value {
	if sender == nil || sender.Busy == 0 {
		return nil
	}
	return []record.Value{{Name: record.TCPRwndLimited, Unit: "1", Value: sender.RwndLimited / sender.Busy},
		{Name: record.TCPSndbufLimited, Unit: "1", Value: sender.SndbufLimited / sender.Busy}}
}

// histogram decodes a histogram; it returns nil and records the error if that fails.
func (n *native) histogram(name, encoded string) *hdrhistogram.Histogram {
	h, err := event.DecodeHist(encoded)
	switch {
	case encoded == "":
		n.fail("%s is missing", name)
	case err != nil:
		n.fail("%s: %w", name, err)
	default:
		return h
	}
	return nil
}
