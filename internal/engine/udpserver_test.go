package engine

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A second client replaces the first, whose report says so and excludes the second's counts.
func TestServerHasOneRun(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	first := client(t, addr, 1)
	second := client(t, addr, 2)
	var r wire.UDPReport
	if err := first.ask(t.Context(), wire.KindReport, nil, &r); err != nil || !strings.Contains(r.Error, "does not count run 1") {
		t.Errorf("first client: %+v, %v", r, err)
	}
	if err := second.ask(t.Context(), wire.KindBegin, nil, nil); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for _, h := range []wire.Header{{Kind: wire.KindMeasure, Run: 2}, {Kind: wire.KindMeasure, Run: 1}, {Kind: wire.KindWarmup, Run: 2}} {
		h.Put(b)
		sock.Send(second.fd, b)
	}
	sock.Send(second.fd, []byte("not one of ours, although it is long enough"))
	if err := second.ask(t.Context(), wire.KindBegin, nil, nil); err != nil { // a repeated request must not reset
		t.Fatal(err)
	}
	if err := second.ask(t.Context(), wire.KindReport, nil, &r); err != nil || r.Delivered != 1 || r.Bytes != 100 {
		t.Errorf("second client: %+v, %v", r, err)
	}
}

// A run can begin several times, each time with a higher number. Lower numbers do not count, and
// late requests do not begin again.
func TestPhasesAreApart(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	u := client(t, addr, 1)
	b := make([]byte, 100)
	for _, u.first = range []uint64{10, 20, 10, 20, 0} {
		if err := u.ask(t.Context(), wire.KindBegin, nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, seq := range []uint64{9, 19, 20} {
			wire.Header{Kind: wire.KindMeasure, Run: 1, Seq: seq}.Put(b)
			sock.Send(u.fd, b)
		}
	}
	var r wire.UDPReport
	if err := u.ask(t.Context(), wire.KindReport, nil, &r); err != nil || r.Delivered != 1 || r.Duplicates != 3 {
		t.Errorf("%+v, %v: want datagram 20, four times", r, err)
	}
}

func TestLateAnswers(t *testing.T) {
	fd, at := listening(t, netip.MustParseAddrPort(loopbacks[0]))
	own, _, err := sock.DialUDP(at, 0, askEvery)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	to, err := sock.OwnAddr(own)
	if err == nil {
		err = unix.Connect(fd, sock.Sockaddr(to))
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range []string{`{"delivered":1}`, `{"delivered":2}`} {
		b := []byte(strings.Repeat(" ", wire.HeaderSize) + answer)
		wire.Header{Kind: wire.KindReport | wire.KindAnswer, Run: 1, Seq: uint64(5 + i)}.Put(b)
		if _, errno := sock.Send(fd, b); errno != 0 {
			t.Fatal(errno)
		}
	}
	u := &udpClient{fd: own, run: 1, timeout: time.Second, stop: new(sock.Stopper), buf: make([]byte, 1<<10), asked: 6}
	var r wire.UDPReport
	if err := u.ask(t.Context(), wire.KindReport, nil, &r); err != nil || r.Delivered != 2 {
		t.Errorf("%+v, %v: want the answer to request 6", r, err)
	}
}

func testConfig(t testing.TB, addr string) config {
	t.Helper()
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	return config{server: server, open: true, timeout: time.Second, Params: wire.Params{Weir: wire.Version, Workload: "udp-stream", Run: 1, Streams: 1, Size: 100, Duration: time.Second}}
}

func client(t *testing.T, addr string, run uint32) *udpClient {
	t.Helper()
	c := testConfig(t, addr)
	c.Run = run
	u, err := meet(t.Context(), c, new(sock.Stopper))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(u.fd) })
	return u
}

func TestServerRefuses(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		change func(*wire.Params)
		want   string
	}{
		{func(p *wire.Params) { p.Duration = 2 * time.Hour }, "duration 2h0m0s is outside"},
		{func(p *wire.Params) { p.Size = 1 << 30 }, "size 1073741824 is outside"},
		{func(p *wire.Params) { p.Streams = 1000 }, "streams 1000 is outside"},
		{func(p *wire.Params) { p.Weir = 99 }, "version 99"},
		{func(p *wire.Params) { p.Workload = "sctp" }, "unknown workload"},
		{func(p *wire.Params) { p.CC = "nonesuch" }, "congestion control nonesuch"},
	} {
		c := config{server: server, open: true, timeout: time.Second, Params: wire.Params{Weir: wire.Version, Workload: "tcp-stream", Run: 1, Streams: 1, Size: 100, Duration: time.Second}}
		tc.change(&c.Params)
		local := c
		local.CC = "" // else the client's own socket refuses first
		conn, err := dialOnce(t.Context(), local)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.agree(c, new(sock.Stopper)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("tcp: %v, want %q", err, tc.want)
		}
		unix.Close(conn.fd)
		if c.CC != "" {
			continue
		}
		if c.Workload == "tcp-stream" {
			c.Workload = "udp-stream"
		}
		if u, err := meet(t.Context(), c, new(sock.Stopper)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("udp: %v, %v, want %q", u, err, tc.want)
		}
	}
}

func TestServerSurvives(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	server, err := parseServer("test", addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, garbage := range []string{"GET / HTTP/1.1\r\n", "\n", "{}\n", strings.Repeat("x", wire.MaxLine+1)} {
		conn, err := dialOnce(t.Context(), config{server: server, timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var a wire.Accepted
		sock.Send(conn.fd, []byte(garbage))
		unix.Shutdown(conn.fd, unix.SHUT_WR)
		if err := sock.ReadJSON(conn.fd, &a, sock.Now()+int64(5*time.Second), new(sock.Stopper)); err == nil && a.Error == "" {
			t.Errorf("%.10q was accepted: %+v", garbage, a)
		}
		unix.Close(conn.fd)
	}
	measure(t, new(event.RR), short("tcp-rr", addr)...)
}
