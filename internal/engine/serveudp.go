package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const (
	// drainTimeout bounds how long the server reads on before it answers a request for a report, in
	// case a client keeps sending.
	drainTimeout = time.Second
	// maxRecvErrors is how many reads in a row can fail before the server gives up: a healthy
	// socket fails only now and then.
	maxRecvErrors = 1000
)

// A udpServer reads one socket on one thread: data, echoes and control messages arrive in sending
// order, so it needs no other channel.
type udpServer struct {
	fd   int
	v6   bool
	stop *sock.Stopper
	msg  *sock.Message // the one being handled

	stream *streamReader // during a run of one-way datagrams
	bulk   *sock.Bulk    // of the streamReader, kept for the next run
	gro    bool          // UDP_GRO is on

	only  *grant                                        // the client to answer; nil: all
	pass  func(secret string, hello *sock.Message) bool // finds the socket of a stream, for the one that takes all hellos
	edge  func(wire.Kind)                               // called for the requests at the edges of the client's window
	meter *tally.Meter                                  // of the server
	other func(b []byte) []byte                         // answers datagrams of others; nil: not this one

	run     uint32 // being counted; the hello of another run replaces it
	greeted bool
	begun   bool
	began   int64        // when
	ended   bool         // the client has asked for the report
	before  wire.Reading // of this thread then
	gauge   *sock.Gauge  // of this thread
	from    uint64       // number of the first datagram that counts; lower ones are late, from an earlier phase
	echo    *echoer      // during a run of requests and replies, else nil
	base    uint32       // drops of the socket when the run began
	drops   uint32       // and now
	counts  tally.Receiver
}

func newUDPServer(fd int, a netip.Addr, stop *sock.Stopper, m *tally.Meter) (*udpServer, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); err != nil {
		return nil, fmt.Errorf("udp: count drops: %w", err)
	}
	if _, err := sock.SetBuffer(fd, unix.SO_RCVBUF, event.DefaultRcvBuf); err != nil {
		return nil, err
	}
	return &udpServer{fd: fd, v6: a.Is6(), stop: stop, msg: sock.NewMessage(), edge: func(wire.Kind) {}, pass: func(string, *sock.Message) bool { return false }, meter: m, other: func([]byte) []byte { return nil }}, nil
}

func (u *udpServer) serve() error {
	u.gauge = sock.NewGauge(-1)
	defer u.gauge.Close()
	failed := 0
	for !u.stop.Stopped() {
		if u.idle() {
			sock.Await(u.fd, math.MaxInt64)
		}
		var errno unix.Errno
		if u.stream != nil {
			errno = u.readStream()
		} else {
			errno = u.readOne()
		}
		switch {
		case errno == 0:
			failed = 0
		case sock.Again(errno):
		default:
			if failed++; failed > maxRecvErrors {
				return fmt.Errorf("engine: serve: udp: receive: %w", errno)
			}
		}
	}
	return nil
}

// idle reports whether no run needs this thread.
func (u *udpServer) idle() bool {
	switch {
	case u.stream != nil:
		return u.ended && u.stream.last-u.stream.busy > int64(time.Second)
	case u.echo != nil:
		return u.echo.idle
	}
	return true
}

func (u *udpServer) readOne() unix.Errno {
	n, drops, errno := u.receive()
	if errno == 0 {
		u.drops = drops
		u.handle(n)
	}
	return errno
}

// handle handles the datagram of n bytes in u.msg.
func (u *udpServer) handle(n int) {
	h, ok := wire.ParseHeader(u.msg.Buf[:n])
	switch {
	case !ok, h.Kind == wire.KindWarmup: // the number of a query can be the magic
		u.handleOther(n)
	case h.Kind == wire.KindMeasure, !u.admits(h, n):
	case h.Kind == wire.KindEcho || h.Kind == wire.KindStamped:
		u.reply(h, n)
	default:
		u.control(h, n)
	}
}

// handleOther answers a datagram without the engine's header, from the client of this socket.
func (u *udpServer) handleOther(n int) {
	if u.only != nil && u.msg.From() != u.only.peer.WithZone("") {
		return
	}
	if answer := u.other(u.msg.Buf[:n]); answer != nil {
		u.msg.Answer(u.fd, copy(u.msg.Buf, answer)) // the client counts what is lost
	}
}

// control handles the other kinds. Clients repeat requests until they are answered, so each can
// arrive several times, and late.
func (u *udpServer) control(h wire.Header, n int) {
	if u.echo != nil {
		u.echo.idle = !u.echo.Spin // it can be the client's last, and a collection must not wait for the next read
	}
	switch h.Kind {
	case wire.KindReach:
		u.msg.Buf[2] |= byte(wire.KindAnswer)
		u.answerWhole(n)
	case wire.KindStamps:
		u.tellStamps(h, n)
	case wire.KindHello:
		u.answer(h, u.hello(h, u.msg.Buf[wire.HeaderSize:n]))
	case wire.KindBegin:
		if !u.greeted || h.Run != u.run || u.stream == nil {
			return
		}
		if !u.begun || h.Sent > u.from {
			u.begun, u.ended, u.from, u.base, u.counts = true, false, h.Sent, u.drops, tally.Receiver{Next: h.Sent}
		}
		if u.counts.Delivered == 0 {
			u.began, u.before = sock.Now(), u.gauge.Read() // a client that asks again has not begun
			u.edge(h.Kind)
		}
		u.answer(h, nil)
	case wire.KindReport:
		u.edge(h.Kind)
		u.answer(h, u.report(h))
	case wire.KindClock:
		u.edge(h.Kind)
		u.answer(h, u.gauge.Read())
	}
}

func (u *udpServer) hello(h wire.Header, b []byte) wire.Accepted {
	a := wire.Accepted{Weir: wire.Version}
	var p wire.Params
	err := wire.StrictJSON(b, &p)
	if err == nil {
		err = p.Check()
	}
	if err == nil && (p.Run != h.Run || !strings.HasPrefix(p.Workload, "udp-") && !p.Apart()) {
		err = fmt.Errorf("%s, run %d was asked for over UDP, run %d", p.Workload, p.Run, h.Run)
	}
	if err == nil && p.Apart() {
		switch {
		case u.only != nil:
			if errno := u.msg.Connect(u.fd); errno != 0 {
				err = fmt.Errorf("udp: connect: %w", errno)
			}
		case u.pass(p.Secret, u.msg):
			a.Again = true
			return a
		default:
			err = fmt.Errorf("%s, %d streams were asked for over UDP: each needs a connection over TCP first", p.Workload, p.Streams)
		}
	}
	if err == nil {
		size := p.RcvBuf
		if size == 0 {
			size = event.DefaultRcvBuf
		}
		a.RcvBuf, err = sock.SetBuffer(u.fd, unix.SO_RCVBUF, size)
	}
	if err == nil {
		_, err = sock.SetDSCP(u.fd, u.v6, p.DSCP)
	}
	if err == nil {
		p.Nap = min(p.Nap, time.Duration(a.RcvBuf/fillRate))
		a.Nap, err = p.Nap, u.receiveAs(p)
	}
	if err != nil {
		a.Error = err.Error()
		return a
	}
	if !u.greeted || u.run != h.Run {
		u.greeted, u.begun, u.ended, u.run = true, false, false, h.Run
		if err := u.echoes(p); err != nil {
			u.greeted, a.Error = false, err.Error()
		}
	}
	if u.echo != nil {
		a.Place, a.NoStamps = u.echo.place, u.echo.noStamps
	}
	return a
}

// report drains the socket, then reports the counters.
func (u *udpServer) report(h wire.Header) wire.UDPReport {
	if !u.begun || h.Run != u.run {
		return wire.UDPReport{Error: fmt.Sprintf("the server does not count run %d: another client has replaced it", h.Run)}
	}
	u.ended = true
	u.drain(sock.Now() + int64(drainTimeout))
	u.counts.Used = u.gauge.Read().Since(u.before)
	u.counts.Dropped = int64(u.drops - u.base) // modulo 2^32, as the kernel counts
	if u.counts.Delivered > 0 {
		u.counts.Wait = u.counts.First - u.began
	}
	return u.counts.UDPReport
}

// answer sends v, if any, as JSON to the sender of the last message. If it is lost, the client asks
// again.
func (u *udpServer) answer(h wire.Header, v any) {
	n := wire.HeaderSize
	if v != nil {
		b, err := json.Marshal(v)
		if err != nil || len(b) > wire.MaxLine {
			return
		}
		n += copy(u.msg.Buf[wire.HeaderSize:], b)
	}
	h.Kind |= wire.KindAnswer
	h.Put(u.msg.Buf)
	u.msg.Answer(u.fd, n)
}

// answerWhole sends the answer unfragmented or not at all.
func (u *udpServer) answerWhole(n int) {
	if sock.SetDiscover(u.fd, u.v6, unix.IP_PMTUDISC_PROBE) == nil {
		u.msg.Answer(u.fd, n)
	}
	sock.SetDiscover(u.fd, u.v6, unix.IP_PMTUDISC_WANT)
}
