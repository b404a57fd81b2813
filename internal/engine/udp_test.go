package engine

import (
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakePath takes every datagram that it is not told to refuse.
type fakePath struct {
	refuse map[int]unix.Errno // by attempt
	calls  int
	seqs   []uint64
}

func (p *fakePath) send(k kind, seq uint64, n int, t int64) (sent, tried int, errno unix.Errno) {
	p.calls++
	if errno := p.refuse[p.calls]; errno != 0 {
		return 0, n, errno
	}
	for i := range n {
		p.seqs = append(p.seqs, seq+uint64(i))
	}
	return n, n, 0
}

func TestSenderSchedule(t *testing.T) {
	p := &fakePath{refuse: map[int]unix.Errno{2: unix.ENOBUFS, 3: unix.EAGAIN, 5: unix.EMSGSIZE}}
	x := sender{path: p, interval: float64(time.Millisecond), stop: new(stopper)}
	begin := now()
	if err := x.run(kindMeasure, int64(10*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if d := now() - begin; d < int64(10*time.Millisecond) {
		t.Errorf("a window of 10 ms lasted %d ns", d)
	}
	if x.offered != 10 || x.sent > 7 || x.sent != int64(len(p.seqs)) {
		t.Errorf("offered %d, sent %d: want 10, and at most 7", x.offered, x.sent)
	}
	for i, seq := range p.seqs { // what was not sent has no number
		if seq != uint64(i) {
			t.Errorf("datagram %d has number %d", i, seq)
		}
	}
	if x.noBuffer > 1 || x.full > 1 || x.tooLarge > 1 {
		t.Errorf("errors %v", x.errors())
	}
}

// Batches keep to the schedule, and the last one holds what is left of it.
func TestSenderBatches(t *testing.T) {
	p := &fakePath{}
	x := sender{path: p, batch: 4, interval: float64(100 * time.Microsecond), stop: new(stopper)}
	if err := x.run(kindMeasure, int64(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if x.offered != 10 || x.sent > 10 || int64(p.calls) != (x.sent+3)/4 {
		t.Errorf("offered %d, sent %d in %d calls: want 10, at most as many, and four per call", x.offered, x.sent, p.calls)
	}
	p = &fakePath{refuse: map[int]unix.Errno{1: unix.ENOBUFS, 2: unix.EMSGSIZE}}
	x = sender{path: p, batch: 4, whole: true, stop: new(stopper)}
	if err := x.run(kindMeasure, int64(time.Hour)); err != unix.EMSGSIZE || x.noBuffer != 4 {
		t.Errorf("%v, %v: want 4 refused for want of a buffer, and the end where nothing is fragmented", err, x.errors())
	}
}

func TestSenderEnds(t *testing.T) {
	x := sender{path: &fakePath{refuse: map[int]unix.Errno{3: unix.ECONNREFUSED}}, stop: new(stopper)}
	if err := x.run(kindMeasure, int64(time.Hour)); err != unix.ECONNREFUSED {
		t.Errorf("%v, want refused", err)
	}
	x.stop.stop()
	if err := x.run(kindMeasure, int64(time.Hour)); err != errStopped {
		t.Errorf("%v, want stopped", err)
	}
}

func TestLadder(t *testing.T) {
	c := config{params: params{Workload: "udp-stream", Size: 100, transfer: transfer{Batch: 4}}}
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
		{name: "dropped buffers", sent: 30, delivered: 10, dropped: 2, bytes: 1000, window: 1, received: 20, recv: recvGRO, reads: 1, buffers: 2},
		{name: "more dropped buffers than there can be", sent: 12, delivered: 10, dropped: 2, bytes: 1000, window: 1, received: 12, recv: recvGRO, reads: 1, buffers: 2},
		{name: "all buffers dropped", sent: 9, dropped: 2, window: 1, received: 8, recv: recvGRO},
		{name: "more reads than buffers", sent: 10, delivered: 10, bytes: 1000, window: 1, reads: 3, buffers: 2, want: "in 2 buffers and 3 reads"},
		{name: "more buffers than datagrams", sent: 10, delivered: 10, bytes: 1000, window: 1, buffers: 11, want: "in 11 buffers"},
		{name: "none sent", window: 1, want: "no datagram of 100 bytes could be sent"},
	} {
		u := &udpClient{asked: tc.asked}
		tx := sender{offered: 12, sent: tc.sent}
		c.Recv = tc.recv
		v, err := u.ladder(c, tx, udpReport{Delivered: tc.delivered, Dropped: tc.dropped, Bytes: tc.bytes, Duplicates: tc.dups, Reads: tc.reads, Buffers: tc.buffers}, tc.window)
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
		if r := v.(udpStreamResult); r.Received != tc.received || r.Dropped != tc.received-tc.delivered {
			t.Errorf("%s: received %d, dropped %d; want %d", tc.name, r.Received, r.Dropped, tc.received)
		}
	}
}

// The window's edges count, and no silence is longer than what it is part of.
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
		r := udpReport{Wait: tc.wait, Silence: tc.between, Span: tc.span}
		if got := silence(r, window); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	c, tx := config{params: params{Size: 100}}, sender{sent: 1}
	for _, r := range []udpReport{{Silence: -1}, {Silence: 2, Span: 1}, {Wait: -1}} {
		if _, err := new(udpClient).ladder(c, tx, r, window); err == nil || !strings.Contains(err.Error(), "impossible: a silence") {
			t.Errorf("%+v: %v, want that it is impossible", r, err)
		}
	}
}

// What a client asked in vain before it began may have been dropped at a full buffer
// after the request that was answered, and is no datagram of the run.
func TestDroppedBegins(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		b, begins, r := make([]byte, 2000), 0, udpReport{Dropped: 3}
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return // closed
			}
			h, _ := parseHeader(b[:n])
			var v any
			switch h.kind {
			case kindHello:
				v = accepted{Weir: version}
			case kindBegin:
				if begins++; begins <= int(r.Dropped) {
					continue
				}
			case kindMeasure:
				r.Delivered, r.Reads, r.Buffers = r.Delivered+1, r.Reads+1, r.Buffers+1
				r.Bytes += int64(n)
				continue
			case kindReport:
				v = r
			default:
				continue
			}
			h.kind |= kindAnswer
			h.put(b)
			answer := b[:headerSize]
			if v != nil {
				text, _ := json.Marshal(v)
				answer = append(answer, text...)
			}
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	var r udpStreamResult
	measure(t, &r, short("udp-stream", conn.LocalAddr().String(), "--rate", "8e6", "--size", "1000")...)
	if r.Delivered != r.Sent || r.Received != r.Sent || r.Sent == 0 {
		t.Errorf("sent %d, received %d, delivered %d", r.Sent, r.Received, r.Delivered)
	}
}

// A client that asks again to be counted has not begun; one that has, does not ask.
func TestBeginAgain(t *testing.T) {
	u := &udpServer{fd: -1, msg: newMessage(), greeted: true, stream: new(streamReader), meter: new(meter)}
	begin := func() int64 { u.control(header{kind: kindBegin}, headerSize); return u.began }
	first := begin()
	for now() == first { // a clock of a coarse machine
	}
	second := begin()
	if second <= first {
		t.Errorf("began at %d and, asked again, at %d", first, second)
	}
	u.counts.add(header{}, 100, second+5)
	if begin() != second {
		t.Error("begins anew in the middle")
	}
	u.stream = nil // nothing to drain
	if r := u.report(header{}); r.Error != "" || r.Wait != 5 {
		t.Errorf("%+v, want that the first came after 5 ns", r)
	}
}

// A second client takes the server's place; the first one learns that from its
// report, and does not get the other's numbers.
func TestServerHasOneRun(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	first := client(t, addr, 1)
	second := client(t, addr, 2)
	var r udpReport
	if err := first.ask(t.Context(), kindReport, nil, &r); err != nil || !strings.Contains(r.Error, "does not count run 1") {
		t.Errorf("first client: %+v, %v", r, err)
	}
	if err := second.ask(t.Context(), kindBegin, nil, nil); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for _, h := range []header{{kind: kindMeasure, run: 2}, {kind: kindMeasure, run: 1}, {kind: kindWarmup, run: 2}} {
		h.put(b)
		send(second.fd, b)
	}
	send(second.fd, []byte("not one of ours, although it is long enough"))
	if err := second.ask(t.Context(), kindBegin, nil, nil); err != nil { // a repeated request must not reset
		t.Fatal(err)
	}
	if err := second.ask(t.Context(), kindReport, nil, &r); err != nil || r.Delivered != 1 || r.Bytes != 100 {
		t.Errorf("second client: %+v, %v", r, err)
	}
}

// A run may begin several times, each time with a higher number. What is lower comes
// late, and is not counted, and neither do late requests begin again.
func TestPhasesAreApart(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	u := client(t, addr, 1)
	b := make([]byte, 100)
	for _, u.first = range []uint64{10, 20, 10, 20, 0} {
		if err := u.ask(t.Context(), kindBegin, nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, seq := range []uint64{9, 19, 20} {
			header{kind: kindMeasure, run: 1, seq: seq}.put(b)
			send(u.fd, b)
		}
	}
	var r udpReport
	if err := u.ask(t.Context(), kindReport, nil, &r); err != nil || r.Delivered != 1 || r.Duplicates != 3 {
		t.Errorf("%+v, %v: want datagram 20, four times", r, err)
	}
}

// An answer to what was asked before is none to what is asked now.
func TestLateAnswers(t *testing.T) {
	fd, at := boundSocket(t, netip.MustParseAddrPort(loopbacks[0]))
	own, _, err := dialUDP(at, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	to, err := ownAddr(own)
	if err == nil {
		err = unix.Connect(fd, sockaddr(to))
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range []string{`{"delivered":1}`, `{"delivered":2}`} {
		b := []byte(strings.Repeat(" ", headerSize) + answer)
		header{kind: kindReport | kindAnswer, run: 1, seq: uint64(5 + i)}.put(b)
		if _, errno := send(fd, b); errno != 0 {
			t.Fatal(errno)
		}
	}
	u := &udpClient{fd: own, run: 1, timeout: time.Second, stop: new(stopper), buf: make([]byte, 1<<10), asked: 6}
	var r udpReport
	if err := u.ask(t.Context(), kindReport, nil, &r); err != nil || r.Delivered != 2 {
		t.Errorf("%+v, %v: want the answer to request 6", r, err)
	}
}

func testConfig(t testing.TB, addr string) config {
	t.Helper()
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	return config{server: server, open: true, timeout: time.Second, params: params{Weir: version, Workload: "udp-stream", Run: 1, Streams: 1, Size: 100, Duration: time.Second}}
}

func client(t *testing.T, addr string, run uint32) *udpClient {
	t.Helper()
	c := testConfig(t, addr)
	c.Run = run
	u, err := meet(t.Context(), c, new(stopper))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(u.fd) })
	return u
}

// What a client asks is bounded, and the refusal says how.
func TestServerRefuses(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		change func(*params)
		want   string
	}{
		{func(p *params) { p.Duration = 2 * time.Hour }, "duration 2h0m0s is outside"},
		{func(p *params) { p.Size = 1 << 30 }, "size 1073741824 is outside"},
		{func(p *params) { p.Streams = 1000 }, "1000 streams is outside"},
		{func(p *params) { p.Weir = 99 }, "version 99"},
		{func(p *params) { p.Workload = "sctp" }, "unknown workload"},
		{func(p *params) { p.CC = "nonesuch" }, "congestion control nonesuch"},
	} {
		c := config{server: server, open: true, timeout: time.Second, params: params{Weir: version, Workload: "tcp-stream", Run: 1, Streams: 1, Size: 100, Duration: time.Second}}
		tc.change(&c.params)
		wire := c
		wire.CC = "" // the client's own socket shall not refuse first
		conn, err := dialOnce(t.Context(), wire)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.agree(c, new(stopper)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("tcp: %v, want %q", err, tc.want)
		}
		unix.Close(conn.fd)
		if c.CC != "" {
			continue
		}
		if c.Workload == "tcp-stream" {
			c.Workload = "udp-stream"
		}
		if u, err := meet(t.Context(), c, new(stopper)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("udp: %v, %v, want %q", u, err, tc.want)
		}
	}
}

// Garbage costs a server a connection at most.
func TestServerSurvives(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, garbage := range []string{"GET / HTTP/1.1\r\n", "\n", "{}\n", strings.Repeat("x", maxLine+1)} {
		conn, err := dialOnce(t.Context(), config{server: server, timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var a accepted
		send(conn.fd, []byte(garbage))
		unix.Shutdown(conn.fd, unix.SHUT_WR)
		if err := readJSON(conn.fd, &a, now()+int64(5*time.Second), new(stopper)); err == nil && a.Error == "" {
			t.Errorf("%.10q was accepted: %+v", garbage, a)
		}
		unix.Close(conn.fd)
	}
	measure(t, new(rrResult), short("tcp-rr", addr)...)
}
