package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Bits of the first byte of a TCP message. All other bytes are 0.
const (
	markStamped = 1 << iota // the server keeps the message's time stamps
	markClock               // the server reads its gauge
)

// A tcpAsker sends requests over one connection, where replies come in order.
type tcpAsker struct {
	*asker
	tcpConn
	message []byte // of a request
	in      []byte
	got     int // bytes read of the current reply
	slots   []int
	first   int // of the slots that wait for a reply, in a ring
	waiting int
	freed   []int
	stampID uint32 // number of the last byte sent, which identifies its stamp
	clock   byte   // markClock if it goes with the next request, else 0
}

func runTCPRR(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	t, err := dialTCP(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	n := max(c.Inflight, 1)
	a := &tcpAsker{asker: newAsker(c, s, t.fd, n, n), tcpConn: t, message: make([]byte, c.Size),
		in: make([]byte, max(c.Size, event.MaxPipeline)), slots: make([]int, n), freed: make([]int, 0, n)}
	a.asker.send, a.asker.receive = a.send, a.receive
	a.mark = func(end bool) error {
		a.clock = markClock
		if end {
			return a.keepBusy(0, false)
		}
		return nil // the first measured request takes it
	}
	a.asker.stamp(a.whyNot())
	var r event.RR
	err = a.perform(t.far.Place, func() (err error) {
		if r, err = a.closed(out); err == nil {
			err = a.finish() // the buffer, before the connection ends
		}
		return err
	}, a.fetchStamps, &r)
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Congestion, r.FarCongestion, r.SndBuf, r.RcvBuf = t.cc, t.far.CC, a.sndBuf, t.far.RcvBuf
	return r, nil
}

// whyNot returns why response times cannot be split, or "". A stream has no messages: a stamp
// belongs to a segment, and so to a message only if the segment holds exactly that message.
func (a *tcpAsker) whyNot() string {
	if a.far.NoStamps != "" {
		return a.far.NoStamps
	}
	mss, err := unix.GetsockoptInt(a.fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	switch {
	case len(a.slots) > 1:
		return "a segment may hold several of the requests that are in flight"
	case err != nil:
		return fmt.Sprintf("the largest segment is not known: %v", err)
	case a.c.Size > mss:
		return fmt.Sprintf("a message of %d bytes does not fit a segment of %d", a.c.Size, mss)
	}
	return ""
}

func (a *tcpAsker) send(i int, start int64, measured bool) error {
	x := a.request(start, measured)
	a.message[0], a.clock = a.clock, 0
	if x.Marked {
		a.message[0] |= markStamped
	}
	b, deadline := a.message, start+int64(a.c.timeout)
	if x.Sample >= 0 {
		n, errno := a.sock.Send(b, true)
		if errno != 0 && !sock.Again(errno) {
			return fmt.Errorf("request: %w", errno)
		}
		if errno == 0 {
			b = b[n:] // the rest, if any, has no stamp, so the sample will be incomplete
		}
	}
	if err := sock.HotWriteFull(a.fd, b, deadline, a.stop); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	a.stampID += uint32(len(a.message))
	if x.Sample >= 0 {
		a.enter(x, a.stampID-1)
	}
	a.book.Open(i, x)
	a.slots[(a.first+a.waiting)%len(a.slots)] = i
	a.waiting++
	return nil
}

func (a *tcpAsker) receive(flags int) ([]int, error) {
	n, errno := a.sock.Recv(a.in, flags, a.heeds())
	switch {
	case sock.Again(errno):
		return nil, nil
	case errno != 0:
		return nil, fmt.Errorf("reply: %w", errno)
	case n == 0:
		return nil, fmt.Errorf("reply: %w", io.EOF)
	}
	t := sock.Now()
	a.read = t
	a.freed = a.freed[:0]
	for a.got += n; a.got >= a.c.Size; a.got -= a.c.Size {
		if a.waiting == 0 {
			return nil, errors.New("reply: the server sent more than requested")
		}
		i := a.slots[a.first]
		a.first, a.waiting = (a.first+1)%len(a.slots), a.waiting-1
		x, _ := a.book.Reply(i, a.book.Slots[i].Seq, t)
		a.answers = append(a.answers, answer{x, t, a.sock.Rx})
		a.freed = append(a.freed, i)
	}
	return a.freed, nil
}

// fetchStamps shuts down the sending side. The server then sends what it used and its samples, if it
// has any, and closes.
func (a *tcpAsker) fetchStamps() ([]tally.FarSample, error) {
	if err := unix.Shutdown(a.fd, unix.SHUT_WR); err != nil {
		return nil, fmt.Errorf("the server's stamps: %w", err)
	}
	b, err := sock.ReadAll(a.fd, make([]byte, readingSize+tally.FarHeader+tally.MaxSamples*tally.FarSize+1), sock.Now()+int64(a.c.timeout), a.stop)
	if err != nil {
		return nil, fmt.Errorf("the server's stamps: %w", err)
	}
	var used wire.Reading
	if _, err := binary.Decode(b, binary.BigEndian, &used); err != nil {
		return nil, fmt.Errorf("the server's CPU time: %d bytes, want %d", len(b), readingSize)
	}
	a.farEdges = []wire.Reading{{}, used}
	if a.every == 0 {
		return nil, nil
	}
	list, from, total, err := tally.DecodeFar(b[readingSize:])
	if err == nil && (from != 0 || len(list) != total) {
		err = fmt.Errorf("%w: %d of %d", tally.ErrFar, len(list), total)
	}
	return list, err
}
