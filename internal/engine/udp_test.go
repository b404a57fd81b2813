package engine

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestLadder(t *testing.T) {
	c := config{Params: wire.Params{Workload: "udp-stream", Size: 100, Batch: 4}}
	for _, tc := range []struct {
		name          string
		sent, dups    int64
		delivered     int64
		dropped       int64
		bytes, window int64
		asked         int
		want          string // in the error
		received      int64
		recv          string
		reads         int64
		buffers       int64
	}{
		{name: "all", sent: 10, delivered: 10, bytes: 1000, window: 1, received: 10},
		{name: "drops", sent: 10, delivered: 6, dropped: 3, bytes: 600, window: 1, received: 9},
		{name: "dropped requests", sent: 10, delivered: 6, dropped: 6, asked: 2, bytes: 600, window: 1, received: 10},
		{name: "dropped duplicates", sent: 10, delivered: 6, dropped: 6, dups: 2, bytes: 600, window: 1, received: 10},
		{name: "too many drops", sent: 10, delivered: 6, dropped: 6, asked: 1, bytes: 600, window: 1, want: "impossible"},
		{name: "too many delivered", sent: 10, delivered: 11, bytes: 1100, window: 1, want: "impossible: 11 datagrams"},
		{name: "bytes", sent: 10, delivered: 10, bytes: 999, window: 1, want: "impossible: 999 bytes"},
		{name: "window", sent: 10, delivered: 10, bytes: 1000, want: "impossible: window 0 ns"},
		{name: "dropped buffers", sent: 30, delivered: 10, dropped: 2, bytes: 1000, window: 1, received: 20, recv: event.RecvGRO, reads: 1, buffers: 2},
		{name: "more dropped buffers than there can be", sent: 12, delivered: 10, dropped: 2, bytes: 1000, window: 1, received: 12, recv: event.RecvGRO, reads: 1, buffers: 2},
		{name: "all buffers dropped", sent: 9, dropped: 2, window: 1, received: 8, recv: event.RecvGRO},
		{name: "more reads than buffers", sent: 10, delivered: 10, bytes: 1000, window: 1, reads: 3, buffers: 2, want: "in 2 buffers and 3 reads"},
		{name: "more buffers than datagrams", sent: 10, delivered: 10, bytes: 1000, window: 1, buffers: 11, want: "in 11 buffers"},
		{name: "none sent", window: 1, want: "no datagram of 100 bytes could be sent"},
	} {
		u := &udpClient{asked: tc.asked}
		tx := &sock.Sender{Offered: 12, Sent: tc.sent}
		c.Recv = tc.recv
		r, err := u.ladder(c, tx, wire.UDPReport{Delivered: tc.delivered, Dropped: tc.dropped, Bytes: tc.bytes, Duplicates: tc.dups, Reads: tc.reads, Buffers: tc.buffers}, tc.window)
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if r.Received != tc.received || r.Dropped != tc.received-tc.delivered {
			t.Errorf("%s: received %d, dropped %d; want %d", tc.name, r.Received, r.Dropped, tc.received)
		}
	}
}

// The window's edges count, and no silence is longer than its window.
func TestSilence(t *testing.T) {
	const window = 100
	for _, tc := range []struct {
		name                string
		wait, between, span int64
		want                int64
	}{
		{"nothing came", 0, 0, 0, window},
		{"one came", 30, 0, 0, 70},
		{"late", 40, 5, 60, 40},
		{"in between", 3, 50, 90, 50},
		{"ended early", 3, 5, 40, 57},
		{"arrived after the window, being slow", 3, 5, 200, 5},
		{"all arrived after the window", 120, 5, 50, window},
	} {
		r := wire.UDPReport{Wait: tc.wait, Silence: tc.between, Span: tc.span}
		if got := tally.Silence(r, window); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	c, tx := config{Params: wire.Params{Size: 100}}, &sock.Sender{Sent: 1}
	for _, r := range []wire.UDPReport{{Silence: -1}, {Silence: 2, Span: 1}, {Wait: -1}} {
		if _, err := new(udpClient).ladder(c, tx, r, window); err == nil || !strings.Contains(err.Error(), "impossible: a silence") {
			t.Errorf("%+v: %v, want that it is impossible", r, err)
		}
	}
	for _, r := range []wire.UDPReport{{Used: wire.Reading{CPU: -1}}, {Used: wire.Reading{RunDelay: 1 << 60}}} {
		if _, err := new(udpClient).ladder(c, tx, r, window); err == nil || !strings.Contains(err.Error(), "impossible: the server's ") {
			t.Errorf("%+v: %v, want that it is impossible", r, err)
		}
	}
}

// A full buffer can drop repeated requests to begin after the answered one. They are not datagrams
// of the run.
func TestDroppedBegins(t *testing.T) {
	begins, report := 0, wire.UDPReport{Dropped: 3}
	at := fakeUDP(t, netip.MustParseAddrPort("127.0.0.1:0"), func(h wire.Header, payload []byte, _ netip.AddrPort) ([]byte, int) {
		switch h.Kind {
		case wire.KindHello:
			return inJSON(wire.Accepted{Weir: wire.Version}), 1
		case wire.KindBegin:
			if begins++; begins > int(report.Dropped) {
				return nil, 1
			}
		case wire.KindMeasure:
			report.Delivered, report.Reads, report.Buffers = report.Delivered+1, report.Reads+1, report.Buffers+1
			report.Bytes += int64(wire.HeaderSize + len(payload))
		case wire.KindReport:
			return inJSON(report), 1
		}
		return nil, 0
	})
	var r event.UDPStream
	measure(t, &r, short("udp-stream", at.String(), "--rate", "8e6", "--size", "1000")...)
	if r.Delivered != r.Sent || r.Received != r.Sent || r.Sent == 0 {
		t.Errorf("sent %d, received %d, delivered %d", r.Sent, r.Received, r.Delivered)
	}
}

// A client that repeats its request to begin has not begun to send.
func TestBeginAgain(t *testing.T) {
	u := &udpServer{edge: func(wire.Kind) {}, fd: -1, msg: sock.NewMessage(), greeted: true, stream: new(streamReader), meter: new(tally.Meter)}
	begin := func() int64 { u.control(wire.Header{Kind: wire.KindBegin}, wire.HeaderSize); return u.began }
	first := begin()
	for sock.Now() == first { // a clock of a coarse machine
	}
	second := begin()
	if second <= first {
		t.Errorf("began at %d and, asked again, at %d", first, second)
	}
	u.counts.Add(wire.Header{}, 100, second+5)
	if begin() != second {
		t.Error("begins anew in the middle")
	}
	u.stream = nil // nothing to drain
	if r := u.report(wire.Header{}); r.Error != "" || r.Wait != 5 {
		t.Errorf("%+v, want that the first came after 5 ns", r)
	}
}

// AF_XDP needs a device with Ethernet addresses.
func TestXDPOverLoopback(t *testing.T) {
	for _, at := range loopbacks {
		addr, _ := serve(t, at)
		_, err := run(t, short("udp-stream", addr, "--send", "xdp")...)
		if want := "leaves through lo, which is not an Ethernet device; use --send mmsg"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", addr, err, want)
		}
	}
}
