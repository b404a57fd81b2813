package engine

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/unit"
)

// A udpAsker sends requests over UDP.
type udpAsker struct {
	*asker
	*udpClient
	request []byte
	seq     uint64
	ids     uint32 // stamps of sending asked for since they were last turned on
	freed   [1]int

	// Of the open loop.
	heard int64 // when the last reply came
	poll  [1]unix.PollFd
}

func newUDPAsker(u *udpClient, c config, slots int) *udpAsker {
	a := &udpAsker{asker: newAsker(c, u.stop, u.fd, slots), udpClient: u, request: make([]byte, c.Size)}
	a.book.timeout = int64(event.ReplyTimeout)
	a.asker.send, a.asker.receive = a.send, a.receive
	a.asker.stamp(u.far.NoStamps)
	return a
}

// runUDP agrees with the server, measures on a thread, and fetches the server's stamps.
func runUDP(ctx context.Context, c config, s *stopper, out events, slots int, measure func(*udpAsker) error, r *event.RR) error {
	u, err := meet(ctx, c, s)
	if err != nil {
		return err
	}
	defer u.close()
	a := newUDPAsker(u, c, slots)
	out.say("%s to %s (%v): requests: %d bytes, %s; %v after %v of warm-up\n", c.Workload, c.name, c.server, c.Size, requestsOf(c), c.Duration, c.Warmup)
	a.watch(out)
	err = <-onThread(func() error {
		if err := a.settle(u.far.Place); err != nil {
			return err
		}
		return measure(a)
	})
	var far []farSample
	if err == nil && a.every > 0 {
		far, err = u.fetchStamps(ctx)
	}
	if err == nil {
		err = a.split(r, far)
	}
	if err != nil {
		return fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	r.SndBuf, r.RcvBuf = u.sndBuf, u.far.RcvBuf
	return nil
}

// requestsOf says how often a run asks.
func requestsOf(c config) string {
	if c.Workload == "udp-open" {
		return unit.Format(c.rate, "1/s")
	}
	return fmt.Sprintf("%d in flight", max(c.Inflight, 1))
}

func runUDPRR(ctx context.Context, c config, s *stopper, out events) (any, error) {
	var r event.RR
	err := runUDP(ctx, c, s, out, max(c.Inflight, 1), func(a *udpAsker) (err error) {
		r, err = a.closed(out)
		return err
	}, &r)
	return r, err
}

// send sends one request. The slot travels where datagrams of a stream carry
// their time: the reply brings it back.
func (a *udpAsker) send(i int, start int64, measured bool) error {
	x := slot{seq: a.seq, start: start, sent: start, measured: measured, sample: -1}
	a.seq++
	h := header{kind: kindEcho, run: a.run, seq: x.seq, sent: uint64(i)}
	marked, sample := a.due(start, measured)
	if marked {
		h.kind = kindStamped
	}
	if sample {
		x.sample = len(a.samples.list)
	}
	h.put(a.request)
	_, errno := a.sock.send(a.request, x.sample >= 0)
	if x.sample >= 0 {
		a.enter(x, a.ids)
		a.ids++
	}
	a.book.open(i, x)
	switch {
	case errno == 0:
	case transient(errno):
		a.book.slots[i].sent = start - 2*int64(event.ReplyTimeout) // lost, at once
		if x.sample >= 0 {
			return a.renumber()
		}
	default:
		return fmt.Errorf("request: %w", errno)
	}
	return nil
}

// renumber begins to count stamps anew: whether the kernel counted the one that
// it failed to send depends on its version.
func (a *udpAsker) renumber() error {
	a.ids = 0
	a.samples.restart()
	return a.sock.stampOn()
}

func (a *udpAsker) receive(flags int) ([]int, error) {
	n, errno := a.sock.recv(a.buf, flags, a.heeds())
	switch {
	case transient(errno):
		return nil, nil
	case errno != 0:
		return nil, fmt.Errorf("reply: %w", errno)
	}
	t := now()
	a.read = t
	h, ok := parseHeader(a.buf[:n])
	if !ok || h.run != a.run || n != len(a.request) || h.kind != kindEcho|kindAnswer && h.kind != kindStamped|kindAnswer {
		a.book.late++ // such as a repeated answer to the hello
		return nil, nil
	}
	a.freed[0] = int(h.sent)
	x, ok := a.book.reply(int(h.sent), h.seq, t)
	if !ok {
		return nil, nil
	}
	a.answers = append(a.answers, answer{x, t, a.sock.rx})
	return a.freed[:], nil
}

// transient reports that one datagram could not go, and the next one may: the
// call was cut short, a queue of this machine was full, or the path just told
// of a smaller MTU, from which on the kernel fragments.
func transient(errno unix.Errno) bool {
	return again(errno) || errno == unix.ENOBUFS || errno == unix.EMSGSIZE
}
