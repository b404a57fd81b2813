package engine

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

type udpAsker struct {
	*asker
	*udpClient
	message []byte // of a request
	ids     uint32 // stamps of sending requested since they were last turned on
	freed   [1]int

	// Of the open loop.
	heard int64 // when the last reply came
}

// runUDP runs udp-rr or udp-open.
func runUDP(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	u, err := meet(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer u.close()
	open := c.Workload == "udp-open"
	n := max(c.Inflight, 1)
	slots := n * overdueRoom
	if open {
		slots = outstanding(c.rate)
		n = slots
	} else if err := sock.SetTimeouts(u.fd, tally.LeastPatience); err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	a := &udpAsker{asker: newAsker(c, u.stop, u.fd, n, slots), udpClient: u, message: make([]byte, c.Size)}
	a.book.Timeout = int64(event.ReplyTimeout)
	a.asker.send, a.asker.receive = a.send, a.receive
	a.mark = func(bool) error {
		r, err := u.reading(ctx)
		a.farEdges = append(a.farEdges, r)
		return err
	}
	a.asker.stamp(u.far.NoStamps)
	var r event.Open
	err = a.perform(u.far.Place, func() (err error) {
		if open {
			r, err = a.open(out)
		} else {
			r.RR, err = a.closed(out)
		}
		return err
	}, func() ([]tally.FarSample, error) {
		if a.every == 0 {
			return nil, nil
		}
		return u.fetchStamps(ctx)
	}, &r.RR)
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	r.SndBuf, r.RcvBuf = u.sndBuf, u.far.RcvBuf
	if open {
		return r, nil
	}
	return r.RR, nil
}

// send sends one request. The slot travels in the header's time field, and the reply brings it
// back.
func (a *udpAsker) send(i int, start int64, measured bool) error {
	x := a.request(start, measured)
	h := wire.Header{Kind: wire.KindEcho, Run: a.run, Seq: x.Seq, Sent: uint64(i)}
	if x.Marked {
		h.Kind = wire.KindStamped
	}
	h.Put(a.message)
	_, errno := a.sock.Send(a.message, x.Sample >= 0)
	if x.Sample >= 0 {
		a.enter(x, a.ids)
		a.ids++
	}
	a.book.Open(i, x)
	switch {
	case errno == 0:
	case transient(errno):
		a.book.Slots[i].Sent = start - 2*int64(event.ReplyTimeout) // lost at once
		if x.Sample >= 0 {
			return a.renumber()
		}
	default:
		return fmt.Errorf("request: %w", errno)
	}
	return nil
}

// renumber restarts the count of stamps: kernel versions differ in whether they count a stamp that
// was not sent.
func (a *udpAsker) renumber() error {
	a.ids = 0
	a.samples.Restart()
	return a.sock.TurnOn()
}

func (a *udpAsker) receive(flags int) ([]int, error) {
	n, errno := a.sock.Recv(a.buf, flags, a.heeds())
	switch {
	case transient(errno):
		return nil, nil
	case errno != 0:
		return nil, fmt.Errorf("reply: %w", errno)
	}
	t := sock.Now()
	a.read = t
	h, ok := wire.ParseHeader(a.buf[:n])
	if !ok || h.Run != a.run || n != len(a.message) || h.Kind != wire.KindEcho|wire.KindAnswer && h.Kind != wire.KindStamped|wire.KindAnswer {
		return nil, nil // no reply, such as a repeated answer to the hello
	}
	a.freed[0] = int(h.Sent)
	x, ok := a.book.Reply(int(h.Sent), h.Seq, t)
	if !ok {
		return nil, nil
	}
	a.answers = append(a.answers, answer{x, t, a.sock.Rx})
	return a.freed[:], nil
}

// transient reports that the next datagram can leave although this one did not: the call was cut
// short, a queue of this machine was full, or the path has just reported a smaller MTU, so the
// kernel fragments from now on.
func transient(errno unix.Errno) bool {
	return sock.Again(errno) || errno == unix.ENOBUFS || errno == unix.EMSGSIZE
}

// overdueRoom is how many slots a closed loop has for each request in flight: that request, and those
// that can be overdue at once if each waits for LeastPatience and none is answered until ReplyTimeout.
// The last two are those that it takes a look to find.
const overdueRoom = 1 + int(event.ReplyTimeout/tally.LeastPatience) + 2

// maxOutstanding bounds the table of udp-open: half a second at the highest rate.
const maxOutstanding = 1 << 19

// outstanding returns room for the requests of twice event.ReplyTimeout, as a power of two. A
// sender that catches up after a long stall can need more; these requests count as lost.
func outstanding(rate float64) int {
	n := 1024
	for float64(n) < 2*rate*event.ReplyTimeout.Seconds() && n < maxOutstanding {
		n *= 2
	}
	return n
}

// open sends on a schedule. It must run on a thread of its own.
func (a *udpAsker) open(out events) (r event.Open, err error) {
	var offered, late int64
	window, err := a.measure(out, func(d time.Duration, measured bool) (err error) {
		offered, late, err = a.schedule(1e9/a.c.rate, int64(d), measured)
		return err
	})
	if err != nil {
		return r, err
	}
	for a.book.Expire(nil, sock.Now()); a.book.Pending > 0; a.book.Expire(nil, sock.Now()) {
		if err := a.listen(sock.Now() + int64(askEvery)); err != nil {
			return r, err
		}
	}
	if err := a.mark(true); err != nil { // every reply has come: reading the answer skips none
		return r, err
	}
	if r.RR, err = a.result(window); err != nil {
		return r, err
	}
	r.Inflight = 0
	r.Rate, r.Offered, r.LateSends, r.Stalls = a.c.rate, offered, late, a.book.Stalls
	return r, nil
}

// schedule sends a request every interval for d nanoseconds, catching up when it falls behind. It
// returns how many requests the schedule held, and how many of them were late.
func (a *udpAsker) schedule(interval float64, d int64, measured bool) (offered, late int64, err error) {
	begin := sock.Now()
	offered = int64(math.Ceil(float64(d) / interval))
	a.heard = begin
	for k := int64(0); k < offered; k++ {
		due := begin + int64(float64(k)*interval)
		if err := a.listen(due); err != nil {
			return offered, late, err
		}
		t := sock.Now()
		if t-begin >= d {
			late += offered - k // they never leave
			break
		}
		if float64(t-due) > interval {
			late++
		}
		if t-a.heard > int64(a.c.timeout) && float64(t-a.heard) > 3*interval {
			return offered, late, fmt.Errorf("no reply for %v: %w", a.c.timeout, sock.ErrSilent)
		}
		if err := a.send(int(a.seq%uint64(len(a.book.Slots))), due, measured); err != nil {
			return offered, late, err
		}
	}
	return offered, late, a.listen(begin + d)
}

// listen reads replies until t and all that are waiting then.
func (a *udpAsker) listen(t int64) error {
	for {
		left := t - sock.Now()
		if a.asker.stop.Stopped() {
			return sock.ErrStopped
		}
		if left > sock.SpinBelow && !a.c.Spin {
			a.doze(left - sock.SpinBelow)
		}
		// Poll during the last moment: waking up takes about as long.
		freed, err := a.asker.receive(unix.MSG_DONTWAIT)
		if err == nil {
			err = a.record()
		}
		if err != nil {
			return err
		}
		if len(freed) > 0 {
			a.heard = sock.Now()
		} else if left <= 0 {
			return nil
		}
	}
}

// doze waits for a reply, for at most d nanoseconds. It reads pending stamps, which would end every
// doze at once.
func (a *udpAsker) doze(d int64) {
	if sock.HotPoll(a.fd, unix.POLLIN, time.Duration(d))&unix.POLLERR != 0 {
		a.samples.Collect(a.sock)
	}
}
