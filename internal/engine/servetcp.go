package engine

import (
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// readSize is as much as a sender writes at once. While a call runs, what comes waits in the socket's backlog, and this
// thread takes it from there instead of the softirq, which runs on the sender's CPU if both ends are on one machine (ADR 61).
const readSize = 1 << 20

// A serverRun is the state that the connections of a run share.
type serverRun struct {
	wire.Params
	peer  netip.Addr
	conns int
	first atomic.Int64    // when the first byte of any stream was read; 0 before
	cc    string          // congestion control of the connections of tcp-crr
	edges [2]wire.Reading // of the thread that accepts them, at the last two requests for it
	// arrivals of connect-outage, nil of others. The server's lock guards it.
	arrivals *tally.Arrivals
}

// handle serves one connection and returns its run, if any. The client gets errors over the
// connection; the server continues.
func (s *server) handle(fd int, peer netip.Addr) *serverRun {
	if sock.SetTimeouts(fd, sock.Tick) != nil || s.transact(fd, peer, helloTimeout, new([]byte), nil) {
		return nil
	}
	run, err := s.hello(fd, peer)
	if err == nil {
		s.known(fd)
	}
	a := wire.Accepted{Weir: wire.Version}
	var serve func()
	if err == nil {
		serve, err = s.prepare(fd, run, &a)
	}
	if err != nil {
		a.Error = err.Error()
	}
	if sock.WriteJSON(fd, a, sock.Now()+int64(helloTimeout), s.stop) != nil {
		unix.Shutdown(fd, unix.SHUT_RDWR) // ends what prepare started
	}
	if err == nil {
		serve()
	}
	return run
}

// hello reads the parameters and admits the client to a run.
func (s *server) hello(fd int, peer netip.Addr) (*serverRun, error) {
	var p wire.Params
	deadline := sock.Now() + int64(helloTimeout)
	line, err := sock.ReadLine(fd, deadline, s.stop)
	if err == nil {
		err = wire.StrictJSON(line, &p)
	}
	if err == nil {
		err = s.challenge(fd, line, deadline)
	}
	if err == nil {
		err = p.Check()
	}
	if err != nil {
		return nil, err
	}
	return s.join(p, peer)
}

// prepare sets the run's options and writes the outcome to a. It returns the function that serves
// the connection from then on.
func (s *server) prepare(fd int, run *serverRun, a *wire.Accepted) (serve func(), err error) {
	p := run.Params
	if strings.HasPrefix(p.Workload, "udp-") {
		return s.prepareUDP(fd, run, a, nil)
	}
	if wire.Web(p.Workload) {
		return s.prepareWeb(fd, run, a)
	}
	if a.CC, a.RcvBuf, _, err = sock.SetTCP(fd, run.peer.Is6(), p.CC, p.AnyCC, unix.SO_RCVBUF, p.RcvBuf, p.DSCP); err != nil {
		return nil, err
	}
	switch p.Workload {
	case "tcp-rr", "tcp-outage":
		e, err := newEchoer(p, sock.NewStamped(fd, nil))
		if err != nil {
			return nil, err
		}
		a.Place, a.NoStamps = e.place, e.noStamps
		return func() { s.echo(e) }, nil
	case "tcp-crr", "connect-outage":
		if p.Workload == "connect-outage" {
			run.arrivals = tally.NewArrivals(p.Gap)
			s.hasty.Store(run)
		}
		if run.cc = p.CC; p.AnyCC {
			run.cc = a.CC
		}
		s.marks.next(p.Warmup, p.Duration)
		s.short.Add(1) // before the client learns that it can begin
		return func() {
			s.hold(fd, p, func() any { return s.used(run) })
			s.short.Add(-1)
			s.hasty.CompareAndSwap(run, nil)
		}, nil
	}
	return func() {
		s.receive(fd, run, func(r wire.StreamReport) { sock.WriteJSON(fd, r, sock.Now()+int64(helloTimeout), s.stop) })
	}, nil
}

// receive reads until the client shuts down, and counts the bytes read inside the run's window. The
// window begins a warm-up after the first byte of any of the run's streams, so all streams share
// it. The count is sent once, as soon as the window is over: the client sends until it has it.
func (s *server) receive(fd int, run *serverRun, tell func(wire.StreamReport)) {
	buf, flags := sock.Buffer(readSize), uintptr(0)
	if run.Discard {
		flags = unix.MSG_TRUNC // tcp(7): the kernel discards the bytes instead of copying them
	}
	gauge := sock.NewGauge(fd)
	defer gauge.Close()
	r := wire.StreamReport{Window: int64(run.Duration)}
	idle := sock.Now() + int64(run.Warmup+run.Duration+s.patience)
	told := false
	say := func(r wire.StreamReport) {
		if !told {
			told = true
			tell(r)
		}
	}
	var begin, end, heard int64
	var before wire.Reading
	var speed tempo
	for t := sock.Now(); ; {
		asked, wait := t, speed.wait
		n, errno := sock.HotRecv(fd, buf, flags|wait)
		t = sock.Now()
		speed.add(n, t)
		if errno == 0 {
			s.meter.Bytes.Add(int64(n))
		}
		if first := run.first.Load(); end == 0 && (first != 0 || errno == 0 && n > 0) {
			if first == 0 && run.first.CompareAndSwap(0, t) {
				s.marks.at(t+int64(run.Warmup), run.Duration)
			}
			begin = run.first.Load() + int64(run.Warmup)
			end = begin + int64(run.Duration)
			heard = begin
			idle = end + int64(s.patience)
		}
		if before.CPU == 0 && t > begin && t <= end {
			before = gauge.Read()
		}
		if end != 0 && t > end && !told {
			if before.CPU != 0 { // else a stall outlasted the window
				r.Used = gauge.Read().Since(before)
			}
			r.Silence = max(r.Silence, end-heard)
			s.marks.finish()
			say(r) // even for a stream whose first byte never came because others left it no room
		}
		switch {
		case sock.Again(errno):
			if err := sock.MayWait(idle, s.stop); err != nil {
				say(wire.StreamReport{Error: err.Error()})
				return
			}
		case errno != 0:
			say(wire.StreamReport{Error: errno.Error()})
			return
		case n == 0:
			say(wire.StreamReport{Error: "the stream ended before the measured window did"})
			return
		case t > idle:
			return
		case t > begin && t <= end:
			came := t
			if wait != 0 && n < len(buf) {
				came = asked // the read ran into its timeout: what fills a buffer in a millisecond came long before
			}
			if came > begin {
				r.Bytes += int64(n)
				r.Silence, heard = max(r.Silence, came-heard), came
			}
		}
	}
}

// A tempo says whether a read of a stream waits until the buffer is full. That is faster, since the thread
// returns from the kernel less often (ADR 61), but shows the edges of the window and pauses
// only as sharply as reads take. So it waits while the stream fills a buffer per fillTime.
type tempo struct {
	wait  uintptr // MSG_WAITALL, or 0: take what is there
	bytes int64   // that came after since
	since int64
}

const fillTime = time.Millisecond

// add counts a read of n bytes, or a failed one of -1, that ended at t. It judges once per fillTime.
func (s *tempo) add(n int, t int64) {
	s.bytes += int64(max(n, 0))
	took := t - s.since
	if took < int64(fillTime) {
		return
	}
	s.wait = 0
	if float64(s.bytes)/float64(took) >= readSize/float64(fillTime) {
		s.wait = unix.MSG_WAITALL
	}
	s.bytes, s.since = 0, t
}

// hold keeps a run alive until its client closes this connection or is silent for too long. Every
// byte asks for an answer, if there is one.
func (s *server) hold(fd int, p wire.Params, answer func() any) {
	var b [1]byte
	deadline := sock.Now() + int64(p.Warmup+p.Duration+s.patience)
	for {
		if sock.Await(fd, deadline); sock.ReadFull(fd, b[:], deadline, s.stop) != nil {
			return
		}
		if answer != nil && sock.WriteJSON(fd, answer(), sock.Now()+int64(helloTimeout), s.stop) != nil {
			return
		}
	}
}

// used returns what the accepting thread used between the last two requests for it.
func (s *server) used(run *serverRun) wire.Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.edges[0].CPU == 0 || run.edges[1].CPU == 0 {
		return wire.Reading{}
	}
	return run.edges[1].Since(run.edges[0])
}

// transact answers the request of a short connection and reports whether it was one; the caller
// closes it. Accepted sockets have the listener's timeouts. A connection that is silent for
// patience, and in any case for a Tick, counts as another kind. buf holds requests and grows as
// needed. The gauge is that of the accepting thread, which serves nearly all connections; nil elsewhere.
func (s *server) transact(fd int, peer netip.Addr, patience time.Duration, buf *[]byte, gauge *sock.Gauge) bool {
	if s.short.Load() == 0 || s.token != "" && !s.serves(peer) {
		return false
	}
	var head [wire.HeaderSize]byte
	deadline := sock.Now() + int64(patience)
	for {
		n, errno := sock.RecvFlags(fd, head[:], unix.MSG_PEEK|unix.MSG_WAITALL)
		if n == len(head) {
			break
		}
		// Control messages are longer than a header.
		if !sock.Again(errno) || sock.MayWait(deadline, s.stop) != nil {
			return false
		}
	}
	h, ok := wire.ParseHeader(head[:])
	if !ok || h.Kind != wire.KindConnect {
		return false
	}
	s.mu.Lock()
	run := s.runs[h.Run]
	s.mu.Unlock()
	if run != nil && (run.Workload == "tcp-crr" || run.arrivals != nil) && run.peer == peer {
		if len(*buf) < run.Size {
			*buf = make([]byte, run.Size)
		}
		if h.Sent != 0 {
			s.edge(run, gauge)
		}
		s.answerShort(fd, run, (*buf)[:run.Size])
	}
	return true
}

// edge reads the gauge at an edge of the window of tcp-crr.
func (s *server) edge(run *serverRun, gauge *sock.Gauge) {
	var r wire.Reading // another thread than the accepting one knows nothing
	if gauge != nil {
		r = gauge.Read()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run.edges = [2]wire.Reading{run.edges[1], r}
}

// tell writes what is known of the connections of a run into the reply b.
func (s *server) tell(run *serverRun, b []byte) {
	h, _ := wire.ParseHeader(b) // transact has parsed it
	s.mu.Lock()
	defer s.mu.Unlock()
	t := sock.Monotonic(sock.Now())
	run.arrivals.Add(h.Seq, t, 0)
	run.arrivals.TellStream(t).Put(b[wire.HeaderSize:])
}

// soon reports whether something comes over a new connection at once. A thread that accepts those of connect-outage waits for
// no other: a request can be lost.
func (s *server) soon(fd int) bool {
	return s.hasty.Load() == nil || sock.HotPoll(fd, unix.POLLIN, time.Millisecond) != 0
}

// awake waits for a connection during connect-outage, for at most a millisecond, to know when this thread had no CPU. It returns
// false if none has come.
func (s *server) awake(listener int) bool {
	run := s.hasty.Load()
	if run == nil {
		return true // accept waits
	}
	come := sock.HotPoll(listener, unix.POLLIN, time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	run.arrivals.Alive(sock.Monotonic(sock.Now()), come != 0)
	return come != 0
}

func (s *server) answerShort(fd int, run *serverRun, b []byte) {
	if run.cc != "" && unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, run.cc) != nil {
		return
	}
	if run.RcvBuf > 0 {
		if _, err := sock.SetBuffer(fd, unix.SO_RCVBUF, run.RcvBuf); err != nil {
			return
		}
	}
	deadline := sock.Now() + int64(helloTimeout)
	if sock.HotReadFull(fd, b, deadline, s.stop) != nil {
		return
	}
	b[2] |= byte(wire.KindAnswer)
	if run.arrivals != nil {
		s.tell(run, b)
	}
	_ = sock.HotWriteFull(fd, b, deadline, s.stop) // the client reports it
	s.meter.Add(1, len(b))
}
