package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// askEvery is how long a request waits before it is repeated. It is longer than most round trips,
// and a late answer is accepted too.
const askEvery = 20 * time.Millisecond

// A udpClient is a connected socket and the control messages on it.
type udpClient struct {
	fd      int
	run     uint32
	server  netip.AddrPort
	timeout time.Duration
	stop    *sock.Stopper
	buf     []byte
	asked   int    // requests sent so far
	first   uint64 // the number of the first datagram that counts
	sndBuf  int    // bytes in effect
	dscp    int    // in effect
	far     wire.Accepted
	control int // the TCP connection that holds the run; -1: none
}

// meet makes a socket and agrees with the server on the parameters. A server that is not known to
// be open first admits it over TCP, and sends a secret for the hello over UDP. So does any server if there are several
// streams, by which it tells them apart.
func meet(ctx context.Context, c config, s *sock.Stopper) (*udpClient, error) {
	u := &udpClient{fd: -1, control: -1, run: c.Run, server: c.server, timeout: c.timeout, stop: s, buf: make([]byte, 1<<16)}
	if !c.open || c.Streams > 1 {
		control := c
		control.sndBuf, control.rate = 0, 0
		t, err := dialTCP(ctx, control, s)
		if err != nil {
			return nil, err
		}
		u.control, c.Secret = t.fd, t.far.Secret
	}
	if err := u.greet(ctx, c); err != nil {
		u.close()
		return nil, err
	}
	return u, nil
}

func (u *udpClient) greet(ctx context.Context, c config) (err error) {
	if u.fd, u.sndBuf, err = sock.DialUDP(c.server, c.sndBuf, askEvery); err != nil {
		return err
	}
	b, err := json.Marshal(c.Params)
	if err == nil {
		u.dscp, err = sock.SetDSCP(u.fd, c.server.Addr().Is6(), c.DSCP)
	}
	blocked := false
	if err == nil {
		var refused unix.Errno
		err = u.ask(ctx, wire.KindHello, b, &u.far)
		if err == nil && u.far.Again {
			u.far = wire.Accepted{}
			err = u.ask(ctx, wire.KindHello, b, &u.far)
		}
		if err == nil && u.far.Again {
			err = errors.New("the server's route to this machine begins at another of its addresses: use that one")
		}
		blocked = u.control >= 0 && (errors.Is(err, sock.ErrSilent) || errors.As(err, &refused))
	}
	if err == nil {
		err = u.far.Check()
	}
	switch {
	case err == nil:
		return nil
	case blocked && closed(u.control):
		err = fmt.Errorf("%w: the server closed the TCP connection of this run; it may have ended", err)
	case blocked:
		err = fmt.Errorf("%w: the server answers over TCP but not over UDP; does a firewall block UDP to port %d?", err, c.server.Port())
		return &blockedError{fmt.Errorf("engine: udp %v: agree on parameters: %w", c.server, err), event.Blocked{Protocol: "udp"}}
	}
	return fmt.Errorf("engine: udp %v: agree on parameters: %w", c.server, err)
}

// closed reports whether the far end has closed a TCP connection. Bytes that it sent stay there to be read.
func closed(fd int) bool {
	n, errno := sock.RecvFlags(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return errno == 0 && n == 0 || errno != 0 && !sock.Again(errno)
}

// close also ends the run at the server.
func (u *udpClient) close() {
	for _, fd := range []int{u.fd, u.control} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// reading asks for what the kernel has accounted to the server's thread.
func (u *udpClient) reading(ctx context.Context) (r wire.Reading, err error) {
	if err = u.ask(ctx, wire.KindClock, nil, &r); err != nil {
		err = fmt.Errorf("the server's CPU clock: %w", err)
	}
	return r, err
}

// ask is askRaw with the answer decoded into v unless v is nil.
func (u *udpClient) ask(ctx context.Context, k wire.Kind, payload []byte, v any) error {
	b, err := u.askRaw(ctx, k, payload)
	if err != nil || v == nil {
		return err
	}
	return wire.StrictJSON(b, v)
}

// askRaw repeats a request until it is answered, and returns the answer, valid until the next
// message. It repeats refused requests too: the server can be about to start.
func (u *udpClient) askRaw(ctx context.Context, k wire.Kind, payload []byte) ([]byte, error) {
	deadline := sock.Now() + int64(u.timeout)
	request := make([]byte, wire.HeaderSize+len(payload))
	copy(request[wire.HeaderSize:], payload)
	reason := sock.ErrSilent
	first := uint64(u.asked)
	for sock.Now() < deadline {
		wire.Header{Kind: k, Run: u.run, Seq: uint64(u.asked), Sent: u.first}.Put(request)
		u.asked++
		sock.ReadErrors(u.fd, nil) // they take up buffer space that the answer needs
		if _, errno := sock.Send(u.fd, request); errno != 0 {
			reason = errno
		}
		b, err := u.await(k, first, sock.Now()+int64(askEvery))
		switch {
		case errors.Is(err, sock.ErrStopped):
			return nil, err
		case err != nil:
			reason = err
			if err := sock.SleepUntil(ctx, sock.Now()+int64(retryEvery), nil); err != nil {
				return nil, err
			}
		case b != nil:
			return b, nil
		}
	}
	return nil, fmt.Errorf("no answer within %v: %w", u.timeout, reason)
}

// await returns the payload of an answer to a request of kind k with number first or higher, nil if
// none comes by the deadline. Answers to earlier requests can still arrive: a request that waits in
// a queue is repeated.
func (u *udpClient) await(k wire.Kind, first uint64, deadline int64) ([]byte, error) {
	for {
		n, errno := sock.Recv(u.fd, u.buf)
		if u.stop.Stopped() {
			return nil, sock.ErrStopped
		}
		if errno != 0 && !sock.Again(errno) {
			return nil, errno
		}
		if errno == 0 {
			h, ok := wire.ParseHeader(u.buf[:n])
			if ok && h.Kind == k|wire.KindAnswer && h.Run == u.run && h.Seq >= first {
				return u.buf[wire.HeaderSize:n:n], nil
			}
		}
		if sock.Now() > deadline {
			return nil, nil
		}
	}
}
