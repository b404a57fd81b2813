package engine

import (
	"context"
	"io"
	"math"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Each stream has a socket and a thread at both ends, at an open server and at one with a token; one run follows another.
func TestUDPStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, loopback := range loopbacks {
		for _, flags := range []string{"", "--send gso --size 1000", "--send mmsg --rate 8e6 --size 1000"} {
			t.Run(loopback+" "+flags, func(t *testing.T) {
				needFamily(t, loopback)
				open, _ := serve(t, loopback)
				for _, addr := range []string{open, open, admitting(t, loopback, nil).addr} {
					if addr != open {
						t.Setenv(tokenVariable, testToken)
					}
					r := measureUntil(t, func(r event.UDPStream) bool { return r.Delivered > 0 },
						short("udp-stream", addr, append(strings.Fields(flags), "--streams", "3")...)...)
					checkLadder(t, r)
					sum := int64(0)
					for _, n := range r.StreamBytes {
						sum += n
					}
					if r.Streams != 3 || len(r.StreamBytes) != 3 || sum != r.Bytes || r.Server != addr {
						t.Errorf("%d bytes of %d streams: %v, from %s", r.Bytes, r.Streams, r.StreamBytes, r.Server)
					}
					if strings.Contains(flags, "--rate") && r.Offered%30 != 0 { // 1000 datagrams/s of all for 30 ms, or longer
						t.Errorf("offered %d, want 30", r.Offered)
					}
					if r.ClientTime <= 0 || r.ServerTime <= 0 {
						t.Errorf("CPU times %g s and %g s", r.ClientTime, r.ServerTime)
					}
				}
			})
		}
	}
}

// Streams that share the port of an open server take nothing from its other clients.
func TestUDPStreamsBesideOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			needFamily(t, loopback)
			addr, _ := serve(t, loopback)
			ctx, cancel := context.WithCancel(t.Context())
			var beside sync.WaitGroup
			beside.Go(func() {
				for ctx.Err() == nil {
					if err := order(t.Context(), io.Discard, short("udp-stream", addr, "--streams", "8", "--rate", "1e6")...); err != nil {
						t.Error(err)
						return
					}
				}
			})
			var r event.UDPStream
			measure(t, &r, "run", "udp-stream", addr, "--rate", "8e6", "--size", "1000", "--duration", "500ms")
			cancel()
			beside.Wait()
			if r.Delivered != r.Sent || r.Sent == 0 {
				t.Errorf("%d of %d delivered", r.Delivered, r.Sent)
			}
		})
	}
}

func TestUDPStreamsNeedTCP(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	c := testConfig(t, addr)
	c.Streams = 2
	u := &udpClient{fd: -1, control: -1, run: c.Run, server: c.server, timeout: c.timeout, stop: new(sock.Stopper), buf: make([]byte, 1<<16)}
	defer u.close()
	if err := u.greet(t.Context(), c); err == nil || !strings.Contains(err.Error(), "2 streams were asked for over UDP") {
		t.Errorf("over UDP alone: %v", err)
	}
}

// fakeStreams admits every connection of a run, and answers the requests of its second stream only up to those of kind last.
func fakeStreams(t *testing.T, last wire.Kind) string {
	t.Helper()
	var first netip.AddrPort
	mute := false
	return fakeUDP(t, admits(t, wire.Accepted{Secret: "x"}), func(h wire.Header, _ []byte, from netip.AddrPort) ([]byte, int) {
		if !first.IsValid() {
			first = from
		}
		if h.Kind == wire.KindMeasure || h.Kind == wire.KindWarmup || mute && from != first {
			return nil, 0
		}
		mute = mute || from != first && h.Kind == last
		switch h.Kind {
		case wire.KindHello:
			return inJSON(wire.Accepted{Weir: wire.Version}), 1
		case wire.KindReport:
			return inJSON(wire.UDPReport{}), 1
		}
		return nil, 1
	}).String()
}

// The first stream that fails ends the others, and the error names it: before the window, and after it.
func TestUDPStreamFails(t *testing.T) {
	for last, want := range map[wire.Kind]string{
		wire.KindHello: "stream 2: begin: no answer within 100ms",
		wire.KindBegin: "stream 2: the server's count: no answer within 100ms",
	} {
		_, err := run(t, "run", "udp-stream", fakeStreams(t, last), "--streams", "2", "--rate", "1e6", "--duration", "50ms", "--timeout", "100ms")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A server whose streams leave from another address than the one that the client knows says so.
func TestUDPStreamsElsewhere(t *testing.T) {
	at := fakeUDP(t, admits(t, wire.Accepted{Secret: "x"}), func(wire.Header, []byte, netip.AddrPort) ([]byte, int) {
		return inJSON(wire.Accepted{Weir: wire.Version, Again: true}), 1
	})
	if _, err := run(t, "run", "udp-stream", at.String(), "--streams", "2"); err == nil || !strings.Contains(err.Error(), "begins at another of its addresses") {
		t.Error(err)
	}
}

// What flows did together, and what each did at most.
func TestFlowsTogether(t *testing.T) {
	ms := int64(time.Millisecond)
	flows := []*flow{
		{begin: 100 * ms, end: 200 * ms, used: wire.Reading{CPU: 5 * ms, RunDelay: 1 * ms},
			report: wire.UDPReport{Delivered: 8, Wait: 2 * ms, Span: 90 * ms, Used: wire.Reading{CPU: 7 * ms, RunDelay: -1}},
			ladder: event.UDPStream{Head: event.Head{Window: 0.1}, Offered: 10, Sent: 9, Received: 8, Delivered: 8, Bytes: 800, Jitter: 1e-6, Silence: 0.01,
				Reads: 3, Buffers: 8, SendErrors: map[string]int64{"EAGAIN": 1}}},
		{begin: 101 * ms, end: 203 * ms, used: wire.Reading{CPU: 6 * ms, RunDelay: 2 * ms},
			report: wire.UDPReport{Delivered: 5, Wait: 1 * ms, Span: 100 * ms, Used: wire.Reading{CPU: 8 * ms, RunDelay: 0}},
			ladder: event.UDPStream{Head: event.Head{Window: 0.102}, Offered: 10, Sent: 10, Received: 7, Delivered: 5, Bytes: 500, Dropped: 2, Duplicates: 1, Reordered: 2,
				Jitter: 3e-6, Silence: 0.03, Reads: 2, Buffers: 5, SendErrors: map[string]int64{"EAGAIN": 2}}},
		{begin: 100 * ms, end: 200 * ms, used: wire.Reading{CPU: 1 * ms, RunDelay: 0}, report: wire.UDPReport{Used: wire.Reading{CPU: 1 * ms, RunDelay: 0}},
			ladder: event.UDPStream{Head: event.Head{Window: 0.1}, Offered: 1, Sent: 1, Silence: 0.1, SendErrors: map[string]int64{}}},
	}
	r := together(flows)
	if r.Window != 0.103 || r.Span != 0.1 || r.Silence != 0.1 { // from 102 to 202 ms
		t.Errorf("window %g s, span %g s, silence %g s", r.Window, r.Span, r.Silence)
	}
	if r.Streams != 3 || r.Offered != 21 || r.Sent != 20 || r.Received != 15 || r.Delivered != 13 || r.Bytes != 1300 || r.Dropped != 2 ||
		r.Duplicates != 1 || r.Reordered != 2 || r.Reads != 5 || r.Buffers != 13 || r.SendErrors["EAGAIN"] != 3 || math.Abs(r.Jitter-4e-6/3) > 1e-15 {
		t.Errorf("%+v", r)
	}
	if r.ClientTime != 0.012 || *r.ClientWait != 0.003 || r.ServerTime != 0.016 || r.ServerWait != nil {
		t.Errorf("%+v", r.Own)
	}
	flows[0].used = wire.Reading{} // a stall: part of a sum would mislead
	if r := together(flows); r.ClientTime != 0 || r.ServerTime != 0.016 {
		t.Errorf("%+v", r.Own)
	}
	for _, f := range flows {
		f.report.Delivered = 0
	}
	if r := together(flows); r.Span != 0 {
		t.Errorf("nothing came over %g s", r.Span)
	}
}
