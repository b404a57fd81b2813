package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// An echoer is the server's state for a run of requests and replies.
type echoer struct {
	wire.Params
	sock     *sock.Stamped
	samples  tally.Samples
	ids      uint32          // of stamps
	polls    int             // reads since the last message
	silent   int64           // when they began, approximately
	idle     bool            // nothing has come for a Tick, or nothing needs to come: the thread can wait for long
	place    *wire.Core      // where it spins
	restore  func()          // leaves that CPU
	marked   bool            // the last message was marked, so the next can be a sample
	noStamps string          // why it takes none although it was asked to
	edges    [2]wire.Reading // of this thread and its connection at the last two requests for it, over TCP
	arrivals *tally.Arrivals // of udp-outage, reported in every reply; nil for other workloads
}

// newEchoer prepares this thread and a socket for p.
func newEchoer(p wire.Params, s *sock.Stamped) (*echoer, error) {
	e := &echoer{Params: p, sock: s}
	if strings.HasSuffix(p.Workload, "-outage") {
		e.arrivals = tally.NewArrivals(p.Gap)
	}
	if p.Spin {
		at, restore, err := sock.Settle(false)
		if err != nil {
			return nil, err
		}
		e.place, e.restore, s.Spin = &at, restore, true
	}
	if p.Stamps {
		if err := s.TurnOn(); err != nil {
			e.noStamps = "the server: " + err.Error()
		} else {
			e.samples = tally.NewSamples()
		}
	}
	return e, nil
}

func (e *echoer) end() {
	if e == nil {
		return
	}
	if e.sock.On {
		_ = e.sock.TurnOff() // cannot fail after TurnOn
	}
	if e.restore != nil {
		e.restore()
	}
}

// flags returns the flags of the next read. After a silence, a server stops spinning: it would burn a CPU for nothing.
func (e *echoer) flags() int {
	e.polls++
	if !e.Spin {
		e.idle = e.idle || e.polls > 1
		return 0
	}
	if e.polls == 1 {
		return unix.MSG_DONTWAIT
	}
	t := sock.Now()
	if e.polls == 2 {
		e.silent = t
	}
	if e.idle = t-e.silent > int64(sock.Tick); e.idle {
		return 0
	}
	return unix.MSG_DONTWAIT
}

// heard notes that something has come.
func (e *echoer) heard() { e.polls, e.idle = 0, false }

// reply answers the last message with b and keeps the stamps of both.
func (e *echoer) reply(seq uint64, b []byte) (int, unix.Errno) {
	rx, got := e.sock.Rx, time.Now().UnixNano()
	n, errno := e.sock.Send(b, true)
	if errno == 0 && n == len(b) {
		e.samples.Add(tally.Sample{Seq: seq, ID: e.ids, Start: got, Rx: rx, Got: got})
	}
	return n, errno
}

func (e *echoer) stamping() bool { return e.sock.On && !e.samples.Full() }

// heeds reports whether to read the stamp of the next message.
func (e *echoer) heeds() bool {
	return e.sock.On && (e.marked || !e.sock.Live || e.arrivals != nil)
}

// tell writes what is known of the arrivals of the run into the reply b to request seq.
func (e *echoer) tell(seq uint64, b []byte) {
	if len(b) < wire.HeaderSize+wire.ArrivalSize {
		return
	}
	e.arrivals.Add(seq, sock.Monotonic(e.sock.Arrived()), int64(e.sock.Dropped))
	tell := e.arrivals.Tell
	if e.stream() {
		tell = e.arrivals.TellStream
	}
	tell(sock.Monotonic(sock.Now())).Put(b[wire.HeaderSize:])
}

func (e *echoer) stream() bool { return e.Workload == "tcp-outage" }

// awake waits for something to read. It wakes up every millisecond, to know when this thread had no CPU.
func (e *echoer) awake(deadline int64, s *sock.Stopper) error {
	for {
		come := sock.HotPoll(e.sock.FD, unix.POLLIN, time.Millisecond)
		e.arrivals.Alive(sock.Monotonic(sock.Now()), come != 0)
		if come != 0 {
			return nil
		}
		if err := sock.MayWait(deadline, s); err != nil {
			return err
		}
	}
}

// receive reads the next datagram: with stamps during a run of requests and replies, otherwise with
// the drop counter.
func (u *udpServer) receive() (n int, drops uint32, errno unix.Errno) {
	if u.echo == nil {
		return u.msg.Recv(u.fd, 0)
	}
	n, errno = u.echo.sock.Recv(u.msg.Buf, u.echo.flags(), u.echo.heeds())
	u.msg.Hdr.Namelen = u.echo.sock.FromLen
	if errno == 0 {
		u.echo.heard()
	}
	return n, u.drops, errno
}

// echoes replaces the echoer with the one for p, if any.
func (u *udpServer) echoes(p wire.Params) (err error) {
	u.echo.end()
	u.echo = nil
	if wire.Echoing(p.Workload) && !wire.Web(p.Workload) {
		u.echo, err = newEchoer(p, sock.NewStamped(u.fd, &u.msg.Name))
	}
	return err
}

// reply answers a request of n bytes with itself.
func (u *udpServer) reply(h wire.Header, n int) {
	u.msg.Buf[2] |= byte(wire.KindAnswer)
	defer u.meter.Add(1, n) // once the reply is on its way
	e := u.echo
	if e != nil {
		e.marked = h.Kind == wire.KindStamped
		if e.arrivals != nil && h.Run == u.run {
			e.tell(h.Seq, u.msg.Buf[:n])
		}
	}
	if h.Kind != wire.KindStamped || e == nil || h.Run != u.run || !e.stamping() {
		if e != nil {
			e.sock.Send(u.msg.Buf[:n], false) // a reply that cannot be sent is a lost reply
		} else {
			u.msg.Answer(u.fd, n)
		}
		return
	}
	if _, errno := e.reply(h.Seq, u.msg.Buf[:n]); errno != 0 {
		// Kernel versions differ in whether they count a stamp that was not sent.
		e.ids = 0
		e.samples.Restart()
		_ = e.sock.TurnOn() // it was possible before
		return
	}
	e.ids++
	e.samples.Collect(e.sock)
}

func (u *udpServer) tellStamps(h wire.Header, n int) {
	if u.echo == nil || h.Run != u.run || n < wire.HeaderSize+4 {
		return
	}
	u.echo.samples.Collect(u.echo.sock)
	b := u.echo.samples.Encode(u.msg.Buf[:wire.HeaderSize], int(binary.BigEndian.Uint32(u.msg.Buf[wire.HeaderSize:])), tally.FarMost)
	h.Kind |= wire.KindAnswer
	h.Put(b)
	u.msg.Answer(u.fd, len(b))
}

// fetchStamps asks for the server's samples until all have come.
func (u *udpClient) fetchStamps(ctx context.Context) ([]tally.FarSample, error) {
	var all []tally.FarSample
	deadline := sock.Now() + int64(u.timeout)
	for {
		b, err := u.askRaw(ctx, wire.KindStamps, binary.BigEndian.AppendUint32(nil, uint32(len(all))))
		if err != nil {
			return nil, fmt.Errorf("the server's stamps: %w", err)
		}
		list, from, total, err := tally.DecodeFar(b)
		switch {
		case err != nil:
			return nil, err
		case from == len(all): // not a late answer to the previous request
			all = append(all, list...)
			deadline = sock.Now() + int64(u.timeout)
		case sock.Now() > deadline:
			return nil, fmt.Errorf("the server's stamps: %w", sock.ErrSilent)
		}
		if len(all) >= total {
			return all, nil
		}
	}
}

// readingSize is the size of the Reading that the server of a tcp-rr run sends at its end.
var readingSize = binary.Size(wire.Reading{})

// echo answers every message with itself until the client shuts down its side, then sends what this
// thread and its connection used in the client's window, and the samples.
func (s *server) echo(e *echoer) {
	gauge := sock.NewGauge(e.sock.FD)
	defer gauge.Close()
	b := make([]byte, e.Size)
	sent := uint32(0)
	deadline := sock.Now() + int64(e.Warmup+e.Duration+s.patience)
	for seq := uint64(0); ; seq++ {
		if err := e.read(b, deadline, s.stop); err != nil {
			break // io.EOF when the client is done
		}
		if seq == 0 && e.Stamps && e.noStamps == "" && e.sock.TurnOn() != nil {
			return
		}
		rest := b
		e.marked = b[0]&markStamped != 0
		if b[0]&markClock != 0 {
			e.edges = [2]wire.Reading{e.edges[1], gauge.Read()}
			s.marks.at(sock.Now(), e.Duration)
		}
		if e.marked && e.stamping() {
			// All bytes so far are acknowledged: stamps are numbered from here.
			e.ids = sent + uint32(len(b)) - 1
			n, errno := e.reply(seq, b)
			if errno != 0 && !sock.Again(errno) {
				return
			}
			if errno == 0 {
				rest = b[n:]
			}
		}
		if e.arrivals != nil {
			e.tell(seq, b)
		}
		began := sock.Now()
		if sock.HotWriteFull(e.sock.FD, rest, deadline, s.stop) != nil {
			return
		}
		if t := sock.Now(); e.arrivals != nil && t-began > int64(time.Millisecond) {
			e.arrivals.Blocked(sock.Monotonic(t))
		}
		sent += uint32(len(b))
		s.meter.Add(1, len(b))
		if len(rest) < len(b) {
			e.samples.Collect(e.sock)
		}
	}
	end, _ := binary.Append(nil, binary.BigEndian, e.edges[1].Since(e.edges[0])) // has a fixed size
	if e.sock.On {
		end = e.samples.Encode(end, 0, tally.MaxSamples)
	}
	_ = sock.WriteFull(e.sock.FD, end, sock.Now()+int64(helloTimeout), s.stop) // a client that is gone needs none
}

var errTooLong = errors.New("the client kept sending long after the measured window")

// read fills b like sock.ReadFull, but stops at the deadline even if the client keeps sending.
func (e *echoer) read(b []byte, deadline int64, s *sock.Stopper) error {
	for got := 0; got < len(b); {
		if e.stream() {
			if err := e.awake(deadline, s); err != nil {
				return err
			}
		} else if e.idle {
			sock.Await(e.sock.FD, deadline)
		}
		n, errno := e.sock.Recv(b[got:], e.flags(), e.heeds())
		switch {
		case sock.Again(errno):
			if err := sock.MayWait(deadline, s); err != nil {
				return err
			}
		case errno != 0:
			return errno
		case n == 0:
			return io.EOF
		default:
			got += n
			if e.heard(); sock.Now() > deadline {
				return errTooLong
			}
		}
	}
	return nil
}
