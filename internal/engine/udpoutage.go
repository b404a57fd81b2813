package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// An outageAsker sends on the schedule of udp-open, and keeps every request and reply.
type outageAsker struct {
	*udpAsker
	interval    float64 // ns
	window      *tally.Outages
	first       uint64 // number of the first request of the window
	begin       int64
	refused     int64
	told        wire.Arrival // by the last reply before the window
	toldSeq     uint64
	toldDropped int64
}

func runUDPOutage(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	u, err := meet(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer u.close()
	a := &outageAsker{udpAsker: &udpAsker{udpClient: u, message: make([]byte, c.Size)}, interval: 1e9 / c.rate}
	a.asker = newAsker(c, u.stop, u.fd, 1, 1)
	a.asker.receive = a.receive
	a.mark = func(bool) error {
		r, err := u.reading(ctx)
		if err == nil {
			a.farEdges = append(a.farEdges, r)
		} else if errors.Is(err, sock.ErrStopped) {
			return err
		}
		return nil // an outage: the server's CPU time is unknown
	}
	// A server that gets its CPU back answers all that has come meanwhile.
	if _, err := sock.SetBuffer(u.fd, unix.SO_RCVBUF, event.DefaultRcvBuf); err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	if err := unix.SetsockoptInt(u.fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); err != nil {
		return nil, fmt.Errorf("engine: udp %v: count drops: %w", c.server, err)
	}
	stamps := stampsOf(a.sock)
	var r event.Outages
	var usual event.RR
	err = a.perform(nil, func() (err error) { r, err = a.measure(out); return err }, func() ([]tally.FarSample, error) { return nil, nil }, &usual)
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	r.Own, r.Rate, r.Stamps, r.ServerStamps = usual.Own, c.rate, stamps, serverStamps(u.far)
	r.SndBuf, r.RcvBuf = u.sndBuf, u.far.RcvBuf
	return r, nil
}

// stampsOf makes the kernel stamp what a socket receives, and says how or why not.
func stampsOf(s *sock.Stamped) string {
	if err := s.TurnOn(); err != nil {
		return event.NoStamps + err.Error()
	}
	return "RX_SOFTWARE"
}

func serverStamps(far wire.Accepted) string {
	if far.NoStamps != "" {
		return event.NoStamps + far.NoStamps
	}
	return "RX_SOFTWARE"
}

// newWindow begins the count of a window at begin, after before requests.
func newWindow(c config, interval float64, before uint64, begin int64) *tally.Outages {
	w := tally.NewOutages(time.Duration(interval), c.Gap, before, int(math.Ceil(float64(c.Duration)/interval)))
	w.Begin(sock.Monotonic(begin), c.Duration)
	return w
}

// measure must run on a thread of its own.
func (a *outageAsker) measure(out events) (r event.Outages, err error) {
	var offered int64
	length, err := a.asker.measure(out, func(d time.Duration, measured bool) (err error) {
		if measured {
			a.first, a.begin = a.seq, sock.Now()
			a.window = newWindow(a.c, a.interval, a.first, a.begin)
			if a.told.Count > 0 {
				a.window.Replied(int(wire.Diff40(a.toldSeq, a.first)), 0, a.toldDropped, a.told)
			}
		}
		offered, err = ticks(a.interval, int64(d), a.listen, func() error { return a.send(measured) })
		return err
	})
	if err != nil {
		return r, err
	}
	if err := a.after(); err != nil {
		return r, err
	}
	if err := a.mark(true); err != nil {
		return r, err
	}
	begin := sock.Monotonic(a.begin)
	r = a.window.Found(begin, begin+int64(a.c.Duration))
	r.Head = event.NewHead(a.c.Workload, a.c.server.String(), a.c.Size, time.Duration(length))
	r.Offered, r.Refused = offered, a.refused
	return r, nil
}

// after sends on until every reply to a request of the window has come or is lost, and until a reply to a later request
// tells what became of the last ones of the window, for at most the timeout.
func (a *outageAsker) after() error {
	for end := sock.Now() + int64(a.udpClient.timeout); sock.Now() < end; {
		open, untold := a.window.Waits(sock.Monotonic(sock.Now() - int64(event.ReplyTimeout)))
		if !open && !untold {
			return nil
		}
		if _, err := ticks(a.interval, int64(askEvery), a.listen, func() error { return a.send(false) }); err != nil {
			return err
		}
	}
	return nil
}

func (a *outageAsker) send(measured bool) error {
	from := sock.Now()
	wire.Header{Kind: wire.KindEcho, Run: a.run, Seq: a.seq}.Put(a.message)
	a.seq++
	errno := a.try()
	if measured {
		a.window.Sent(sock.Monotonic(from), sock.Monotonic(sock.Now()))
	}
	switch {
	case errno == unix.EBADF || errno == unix.ENOTSOCK || errno == unix.EFAULT:
		return fmt.Errorf("request: %w", errno)
	case errno != 0 && measured:
		a.refused++
	}
	return nil
}

// try sends once more after an error, which can be that of an earlier request: a socket returns what ICMP told
// of it instead of sending (ip(7), IP_RECVERR).
func (a *outageAsker) try() unix.Errno {
	_, errno := a.sock.Send(a.message, false)
	if errno != 0 {
		sock.ReadErrors(a.fd, nil)
		_, errno = a.sock.Send(a.message, false)
	}
	return errno
}

var errReplaced = errors.New("the server does not count this run: another client has replaced it")

// receive reads one reply. Errors that a path reports are part of an outage.
func (a *outageAsker) receive(flags int) ([]int, error) {
	n, errno := a.sock.Recv(a.buf, flags, true)
	if errno != 0 {
		if !sock.Again(errno) {
			sock.ReadErrors(a.fd, nil) // else they end every doze at once
		}
		return nil, nil
	}
	h, ok := wire.ParseHeader(a.buf[:n])
	if !ok || h.Run != a.run || n != len(a.message) || h.Kind != wire.KindEcho|wire.KindAnswer {
		return nil, nil // no reply, such as a repeated answer to the hello
	}
	far, ok := wire.ParseArrival(a.buf[wire.HeaderSize:n])
	if !ok {
		return nil, errReplaced
	}
	a.read = a.sock.Arrived()
	if a.window == nil {
		a.told, a.toldSeq, a.toldDropped = far, h.Seq, int64(a.sock.Dropped)
	} else {
		a.window.Replied(int(wire.Diff40(h.Seq, a.first)), sock.Monotonic(a.read), int64(a.sock.Dropped), far)
	}
	return a.freed[:], nil
}
