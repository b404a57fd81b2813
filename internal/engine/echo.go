package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// An echoer is what a server keeps of one run of requests and replies.
type echoer struct {
	params
	sock     *stampedSocket
	samples  samples
	ids      uint32 // of stamps
	polls    int    // looks for a message since the last one
	silent   int64  // when they began, roughly
	place    *place // where it spins
	restore  func() // undoes that
	marked   bool   // the last message was, so that the next may be a sample
	noStamps string // why it takes none although asked to
}

// newEchoer prepares this thread and a socket for p.
func newEchoer(p params, s *stampedSocket) (*echoer, error) {
	e := &echoer{params: p, sock: s}
	if p.Spin {
		at, restore, err := settle(false)
		if err != nil {
			return nil, err
		}
		e.place, e.restore = &at, restore
	}
	if p.Stamps {
		if err := s.stampOn(); err != nil {
			e.noStamps = "the server: " + err.Error()
		} else {
			e.samples = newSamples()
		}
	}
	return e, nil
}

// end leaves the thread and the socket as they were.
func (e *echoer) end() {
	if e == nil {
		return
	}
	if e.sock.on {
		_ = e.sock.stampOff() // it was turned on, so it can be turned off
	}
	if e.restore != nil {
		e.restore()
	}
}

// flags are those of the next read. Where nothing has come for a while nobody
// measures, and a spinning server would burn a CPU for nothing.
func (e *echoer) flags() int {
	if !e.Spin {
		return 0
	}
	if e.polls++; e.polls%pollsPerLook != 0 {
		return unix.MSG_DONTWAIT
	}
	t := now()
	if e.polls == pollsPerLook {
		e.silent = t
	}
	if t-e.silent > int64(tick) {
		return 0
	}
	return unix.MSG_DONTWAIT
}

// reply sends b, which answers the message just read, and keeps the stamps of both.
func (e *echoer) reply(seq uint64, b []byte) (int, unix.Errno) {
	rx, got := e.sock.rx, time.Now().UnixNano()
	n, errno := e.sock.send(b, true)
	if errno == 0 && n == len(b) {
		e.samples.add(sample{seq: seq, id: e.ids, start: got, rx: rx, got: got})
	}
	return n, errno
}

// stamping reports whether a marked message is to be stamped.
func (e *echoer) stamping() bool { return e.sock.on && !e.samples.full() }

// heeds reports whether the stamp of the next message is to be read.
func (e *echoer) heeds() bool { return e.sock.on && (e.marked || !e.sock.live) }

// receive reads the next datagram: with stamps while a run of requests and
// replies is on, and else with the count of drops.
func (u *udpServer) receive() (n int, drops uint32, errno unix.Errno) {
	if u.echo == nil {
		return u.msg.recv(u.fd, 0)
	}
	n, errno = u.echo.sock.recv(u.msg.buf, u.echo.flags(), u.echo.heeds())
	u.msg.hdr.Namelen = u.echo.sock.fromLen
	if errno == 0 {
		u.echo.polls = 0
	}
	return n, u.drops, errno
}

// echoes begins what p asks for in place of what was before.
func (u *udpServer) echoes(p params) (err error) {
	u.echo.end()
	u.echo = nil
	if echoing(p.Workload) {
		u.echo, err = newEchoer(p, newStampedSocket(u.fd, &u.msg.name))
	}
	return err
}

// describe adds to an answer what the run's echoer does.
func (u *udpServer) describe(a *accepted) {
	if u.echo != nil {
		a.Place, a.NoStamps = u.echo.place, u.echo.noStamps
	}
}

// reply answers a request of n bytes with itself.
func (u *udpServer) reply(h header, n int) {
	u.msg.buf[2] |= byte(kindAnswer)
	defer u.meter.add(1, n) // when the reply is on its way
	e := u.echo
	if e != nil {
		e.marked = h.kind == kindStamped
	}
	if h.kind != kindStamped || e == nil || h.run != u.run || !e.stamping() {
		if e != nil && e.Spin {
			e.sock.send(u.msg.buf[:n], false) // a reply that cannot be sent is one that gets lost
		} else {
			u.msg.answer(u.fd, n)
		}
		return
	}
	if _, errno := e.reply(h.seq, u.msg.buf[:n]); errno != 0 {
		// Whether the kernel counted a stamp that it failed to send depends on
		// its version.
		e.ids = 0
		e.samples.restart()
		_ = e.sock.stampOn() // it could be turned on before
		return
	}
	e.ids++
	e.samples.collect(e.sock)
}

// tellStamps answers a request for samples.
func (u *udpServer) tellStamps(h header, n int) {
	if u.echo == nil || h.run != u.run || n < headerSize+4 {
		return
	}
	u.echo.samples.collect(u.echo.sock)
	b := u.echo.samples.encode(u.msg.buf[:headerSize], int(binary.BigEndian.Uint32(u.msg.buf[headerSize:])), farMost)
	h.kind |= kindAnswer
	h.put(b)
	u.msg.answer(u.fd, len(b))
}

// fetchStamps asks for the server's samples until all have come.
func (u *udpClient) fetchStamps(ctx context.Context) ([]farSample, error) {
	var all []farSample
	deadline := now() + int64(u.timeout)
	for {
		b, err := u.askRaw(ctx, kindStamps, binary.BigEndian.AppendUint32(nil, uint32(len(all))))
		if err != nil {
			return nil, fmt.Errorf("the server's stamps: %w", err)
		}
		list, from, total, err := decodeFar(b)
		switch {
		case err != nil:
			return nil, err
		case from == len(all): // and not a late answer to the request before
			all = append(all, list...)
			deadline = now() + int64(u.timeout)
		case now() > deadline:
			return nil, fmt.Errorf("the server's stamps: %w", errSilent)
		}
		if len(all) >= total {
			return all, nil
		}
	}
}

// echo answers every message with itself until the client ends its side, and then
// sends the samples.
func (s *server) echo(e *echoer) {
	b := make([]byte, e.Size)
	sent := uint32(0)
	deadline := now() + int64(e.Warmup+e.Duration+s.patience)
	for seq := uint64(0); ; seq++ {
		if err := e.read(b, deadline, s.stop); err != nil {
			break // io.EOF when the client is done
		}
		if seq == 0 && e.Stamps && e.noStamps == "" && e.sock.stampOn() != nil {
			return
		}
		rest := b
		e.marked = b[0] == markStamped
		if e.marked && e.stamping() {
			// All bytes so far are acknowledged: stamps are numbered from here.
			e.ids = sent + uint32(len(b)) - 1
			n, errno := e.reply(seq, b)
			if errno != 0 && !again(errno) {
				return
			}
			if errno == 0 {
				rest = b[n:]
			}
		}
		if writeFull(e.sock.fd, rest, deadline, s.stop) != nil {
			return
		}
		sent += uint32(len(b))
		s.meter.add(1, len(b))
		if len(rest) < len(b) {
			e.samples.collect(e.sock)
		}
	}
	if e.sock.on {
		b := e.samples.encode(nil, 0, maxSamples)
		_ = writeFull(e.sock.fd, b, now()+int64(helloTimeout), s.stop) // a client that is gone needs none
	}
}

var errTooLong = errors.New("the client went on long after the measured window")

// read fills b, as readFull does, but goes on for no longer than the deadline even
// when the other end is not silent.
func (e *echoer) read(b []byte, deadline int64, s *stopper) error {
	for got := 0; got < len(b); {
		n, errno := e.sock.recv(b[got:], e.flags(), e.heeds())
		switch {
		case again(errno):
			if err := mayWait(deadline, s); err != nil {
				return err
			}
		case errno != 0:
			return errno
		case n == 0:
			return io.EOF
		default:
			got += n
			if e.polls = 0; now() > deadline {
				return errTooLong
			}
		}
	}
	return nil
}
