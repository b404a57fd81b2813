package engine

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A middle drops, doubles and swaps a known number of the client's datagrams, as networks do.
type middle struct {
	drop, twice, swap uint64 // of the datagrams with these numbers modulo 10; 0 is none
	mute              bool   // drop every request of the measured window
	dropped           atomic.Int64
	doubled           atomic.Int64
	swapped           atomic.Int64
}

// between starts m in front of a server and returns its address. It harms only datagrams of the
// measured window, since others have no sequence of their own.
func (m *middle) between(t *testing.T, server string) string {
	t.Helper()
	near, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(server)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*net.UDPConn{near, far} {
		if err := c.SetReadBuffer(event.DefaultRcvBuf); err != nil {
			t.Fatal(err)
		}
	}
	var client atomic.Pointer[netip.AddrPort]
	var ways sync.WaitGroup
	ways.Go(func() {
		b := make([]byte, 1<<16)
		var kept []byte // to be sent after the next one
		began := false
		for {
			n, from, err := near.ReadFromUDPAddrPort(b)
			if err != nil {
				return // closed
			}
			client.Store(&from)
			h, ok := wire.ParseHeader(b[:n])
			measured := ok && (h.Kind == wire.KindMeasure || h.Kind == wire.KindEcho)
			began = began || h.Kind == wire.KindClock // requests ask for the server's clock at the window's edges
			if kept != nil && !measured {             // it was the last of the window
				far.Write(kept)
				kept = nil
			}
			switch {
			case measured && m.mute && began, measured && m.drop > 0 && h.Seq%10 == m.drop:
				m.dropped.Add(1)
				continue
			case measured && m.swap > 0 && h.Seq%10 == m.swap && kept == nil:
				kept = append(kept, b[:n]...)
				continue
			case measured && m.twice > 0 && h.Seq%10 == m.twice:
				m.doubled.Add(1)
				far.Write(b[:n])
			}
			far.Write(b[:n])
			if kept != nil {
				m.swapped.Add(1)
				far.Write(kept)
				kept = nil
			}
		}
	})
	ways.Go(func() {
		b := make([]byte, 1<<16)
		for {
			n, err := far.Read(b)
			if err != nil {
				return
			}
			if to := client.Load(); to != nil {
				near.WriteToUDPAddrPort(b[:n], *to)
			}
		}
	})
	t.Cleanup(func() { near.Close(); far.Close(); ways.Wait() })
	return near.LocalAddr().String()
}

func TestMiddle(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for name, m := range map[string]*middle{
		"nothing": {}, "drops": {drop: 3}, "doubles": {twice: 4}, "swaps": {swap: 5}, "all": {drop: 1, twice: 4, swap: 7},
	} {
		for _, ways := range [][]string{{"--send", "single", "--recv", "single"}, {"--send", "mmsg", "--batch", "8", "--recv", "mmsg"}, {"--send", "gso", "--batch", "4"}} {
			addr, _ := serve(t, loopbacks[0])
			m := &middle{drop: m.drop, twice: m.twice, swap: m.swap}
			var r event.UDPStream // of 396 datagrams; "swaps" harms the last
			measure(t, &r, append([]string{"run", "udp-stream", m.between(t, addr), "--size", "100", "--rate", "1.6e6", "--duration", "198ms"}, ways...)...)
			dropped, doubled, swapped := m.dropped.Load(), m.doubled.Load(), m.swapped.Load()
			if r.Sent < 20 || r.Received != r.Delivered || r.Delivered != r.Sent-dropped || r.Duplicates != doubled || r.Reordered != swapped || r.Dropped != 0 {
				t.Errorf("%s %v: of %d sent %d were delivered, %d twice and %d out of order; want %d lost, %d doubled, %d swapped",
					name, ways, r.Sent, r.Delivered, r.Duplicates, r.Reordered, dropped, doubled, swapped)
			}
			for what, n := range map[uint64]int64{m.drop: dropped, m.twice: doubled, m.swap: swapped} {
				if what > 0 && n < 1 {
					t.Errorf("%s %v: only %d of %d were harmed", name, ways, n, r.Sent)
				}
			}
		}
	}
}

func TestMiddleOfRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	addr, _ := serve(t, loopbacks[0])
	m := &middle{drop: 3, twice: 4}
	var r event.Open
	measure(t, &r, "run", "udp-open", m.between(t, addr), "--rate", "1000", "--duration", "200ms", "--stamp-every", "0")
	if dropped, doubled := m.dropped.Load(), m.doubled.Load(); dropped < 1 || r.Lost != dropped || r.Transactions != r.Requests-dropped || r.Late != doubled {
		t.Errorf("%d requests, %d answered, %d lost, %d late; want %d lost and %d late", r.Requests, r.Transactions, r.Lost, r.Late, dropped, doubled)
	}
}

// A repeated answer to the hello or to a request for the clock is not a late reply.
func TestRepeatedAnswers(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer sock.CloseAll(fds[:])
	c := config{timeout: time.Minute, Params: wire.Params{Workload: "udp-open", Run: 1, Size: 64}}
	a := &udpAsker{asker: newAsker(c, new(sock.Stopper), fds[0], 1, 1), udpClient: &udpClient{fd: fds[0], run: 1, buf: make([]byte, 1<<16)}, message: make([]byte, 64)}
	late := func(k wire.Kind, seq uint64) int64 {
		b := make([]byte, 64)
		wire.Header{Kind: k | wire.KindAnswer, Run: 1, Seq: seq}.Put(b)
		if err := unix.Send(fds[1], b, 0); err != nil {
			t.Fatal(err)
		}
		if freed, err := a.receive(unix.MSG_DONTWAIT); err != nil || freed != nil {
			t.Fatalf("%v, %v", freed, err)
		}
		return a.book.Late
	}
	for _, k := range []wire.Kind{wire.KindHello, wire.KindClock} {
		if n := late(k, 0); n != 0 {
			t.Errorf("an answer of kind %d counts as %d late replies", k, n)
		}
	}
	if n := late(wire.KindEcho, 7); n != 1 {
		t.Errorf("a reply to no request counts as %d late replies, want 1", n)
	}
}

// A lost request does not end the window: a closed loop keeps asking, and its share of lost requests is
// that of the path.
func TestMiddleOfClosedLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, inflight := range []string{"1", "4"} {
		addr, _ := serve(t, loopbacks[0])
		m := &middle{drop: 3}
		var r event.RR
		measure(t, &r, "run", "udp-rr", m.between(t, addr), "--duration", "200ms", "--stamp-every", "0", "--inflight", inflight)
		if d := 10*r.Lost - r.Requests; r.Lost != m.dropped.Load() || r.Requests < 30 || d < -10 || d > 10 {
			t.Errorf("%s in flight: %d of %d requests lost, %d dropped: want one in ten of many", inflight, r.Lost, r.Requests, m.dropped.Load())
		}
		if r.Window > 0.4 && r.Lost > 0 {
			t.Errorf("%s in flight: a window of %g s, asked for 0.2", inflight, r.Window)
		}
	}
}

// A window without any reply is a stall with a result; a path without any reply is an error.
func TestMiddleIsMute(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, workload := range [][]string{{"udp-rr"}, {"udp-open", "--rate", "1000"}} {
		addr, _ := serve(t, loopbacks[0])
		m := &middle{mute: true}
		var r event.Open
		var into any = &r
		if workload[0] == "udp-rr" {
			into = &r.RR
		}
		args := append(append([]string{"run"}, workload...), m.between(t, addr), "--duration", "50ms", "--warmup", "20ms", "--stamp-every", "0")
		measure(t, into, args...)
		if r.Requests == 0 || r.Lost != r.Requests || r.Transactions != 0 {
			t.Errorf("%s: %d requests, %d answered, %d lost", workload[0], r.Requests, r.Transactions, r.Lost)
		}
		if _, err := run(t, append(append([]string{"run"}, workload...), m.between(t, addr), "--duration", "50ms", "--stamp-every", "0")...); err == nil ||
			!strings.Contains(err.Error(), "was answered within") {
			t.Errorf("%s without any reply: %v", workload[0], err)
		}
	}
}

// To udp-outage, a path or a server that goes away is a result.
func TestOutageToTheEnd(t *testing.T) {
	addr, stop := serve(t, loopbacks[0])
	m := &middle{mute: true}
	args := []string{"--duration", "50ms", "--warmup", "20ms", "--timeout", "100ms"}
	var r event.Outages
	measure(t, &r, append([]string{"run", "udp-outage", m.between(t, addr)}, args...)...)
	ends := func(want int64) {
		t.Helper()
		if g := r.RoundTrip.List; len(g) != 1 || !g[0].After || r.Lost.Unknown < want || r.Lost.Sum() != r.Lost.Unknown || r.Check() != nil {
			t.Errorf("%+v, %+v lost of %d (%v), want an outage without an end", r.RoundTrip, r.Lost, r.Requests, r.Check())
		}
	}
	if ends(r.Requests); r.Answered > 0 || !r.RoundTrip.List[0].Before {
		t.Errorf("%d answered, %+v: want none", r.Answered, r.RoundTrip)
	}
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- order(t.Context(), in, "run", "udp-outage", addr, "--duration", "1s", "--timeout", "100ms")
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != event.MarkBegin {
	}
	stop()
	for lines.Scan() && !strings.HasPrefix(lines.Text(), event.MarkResult) {
	}
	if err := wire.StrictJSON(lines.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ends(1)
}

// An interrupted system call is neither a reply nor a request nor an end. Here every thread is
// interrupted all the time.
func TestInterruptedCalls(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer sock.CloseAll(fds[:])
	if err := sock.SetTimeouts(fds[0], time.Second); err != nil { // with a timeout the kernel does not restart calls (signal(7))
		t.Fatal(err)
	}
	stop := new(sock.Stopper)
	c := config{timeout: time.Minute, Params: wire.Params{Workload: "udp-rr", Run: 1, Size: wire.HeaderSize}}
	a := &udpAsker{asker: newAsker(c, stop, fds[0], 1, 1), udpClient: &udpClient{fd: fds[0], run: 1, stop: stop, buf: make([]byte, 1<<16)}, message: make([]byte, wire.HeaderSize)}
	a.asker.send, a.asker.receive = a.send, a.receive
	a.book.Timeout = int64(time.Minute)
	a.free = []int{0}
	tid := make(chan int, 1)
	done := make(chan error, 1)
	go func() { // not sock.OnThread, which would block signals
		tid <- lockedTid()
		done <- a.keepBusy(time.Hour, true)
	}()
	thread := <-tid
	for range 500 {
		if err := unix.Tgkill(unix.Getpid(), thread, unix.SIGURG); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Microsecond) // signals must not merge
	}
	stop.Stop()
	if err := unix.Tgkill(unix.Getpid(), thread, unix.SIGURG); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != sock.ErrStopped {
		t.Errorf("%v, want stopped", err)
	}
	b := make([]byte, 100)
	requests := 0
	for {
		if _, errno := sock.RecvFlags(fds[1], b, unix.MSG_DONTWAIT); errno != 0 {
			break
		}
		requests++
	}
	if requests != 1 || a.book.Requests != 1 || a.book.Answered != 0 || a.book.Lost != 0 || a.book.Late != 0 {
		t.Errorf("%d requests left, %d counted, %d answered, %d lost, %d late: want one request and nothing else",
			requests, a.book.Requests, a.book.Answered, a.book.Lost, a.book.Late)
	}
}

// lockedTid locks the goroutine to its thread and returns the thread id.
func lockedTid() int {
	runtime.LockOSThread()
	return unix.Gettid()
}
