package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

type tcpConn struct {
	fd     int
	cc     string  // congestion control in effect at this end
	sndBuf int     // bytes, at this end
	dscp   int     // in effect at this end
	paced  float64 // bit/s of payload, limit in effect; 0: none
	far    wire.Accepted
	zero   *sock.Zerocopy // nil: no MSG_ZEROCOPY
	file   *sock.File     // nil: no sendfile
}

// dialTCP connects and agrees on parameters. It retries refused connections until the timeout: the server can be about to start.
func dialTCP(ctx context.Context, c config, s *sock.Stopper) (tcpConn, error) {
	deadline := sock.Now() + int64(c.timeout)
	for {
		t, err := dialOnce(ctx, c)
		if err == nil {
			if err = t.agree(c, s); err != nil {
				unix.Close(t.fd)
				return t, fmt.Errorf("engine: tcp %v: agree on parameters: %w", c.server, err)
			}
			return t, nil
		}
		if !errors.Is(err, unix.ECONNREFUSED) || sock.Now() > deadline {
			return t, blockedTCP(fmt.Errorf("engine: tcp %v: connect: %w%s", c.server, err, advice(err, c)))
		}
		if err := sock.SleepUntil(ctx, sock.Now()+int64(retryEvery), nil); err != nil {
			return t, err
		}
	}
}

// advice says how to reach a server that does not answer.
func advice(err error, c config) string {
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return fmt.Sprintf(" for %v: nothing listens there, or a firewall rejects it; start weir engine serve on that machine", c.timeout)
	case errors.Is(err, unix.ETIMEDOUT):
		return fmt.Sprintf(" within %v: is the address right, and do firewalls let TCP and UDP through to port %d?", c.timeout, c.server.Port())
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH):
		return ": no machine has this address, there is no route to it (ip route get shows why), or a firewall rejects it"
	case errors.Is(err, unix.EINVAL) && c.server.Addr().IsLinkLocalUnicast():
		return ": a link-local address belongs to one interface; use another address of that machine"
	}
	return ""
}

// retryEvery is the time between two attempts to reach a server.
const retryEvery = 10 * time.Millisecond

func dialOnce(ctx context.Context, c config) (t tcpConn, err error) {
	t.fd, err = unix.Socket(sock.Family(c.server.Addr()), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return t, err
	}
	defer func() {
		if err != nil {
			unix.Close(t.fd)
		}
	}()
	// Before connecting: the buffer bounds the window scale, and congestion control already governs
	// the handshake.
	t.cc, _, t.dscp, err = sock.SetTCP(t.fd, c.server.Addr().Is6(), c.CC, c.AnyCC, unix.SO_SNDBUF, c.sndBuf, c.DSCP)
	if err == nil {
		err = sock.ConnectTCP(ctx, t.fd, c.server, c.timeout)
	}
	if err == nil {
		err = sock.SetTimeouts(t.fd, sock.Tick)
	}
	if err == nil && c.rate > 0 {
		t.paced, err = sock.Pace(t.fd, c.rate/float64(c.Streams))
	}
	return t, err
}

// agree sends the parameters and reads the server's settings.
func (t *tcpConn) agree(c config, s *sock.Stopper) error {
	deadline := sock.Now() + int64(c.timeout)
	if c.AnyCC {
		c.CC = t.cc
	}
	hello, err := json.Marshal(c.Params)
	if err == nil {
		err = sock.WriteFull(t.fd, append(hello, '\n'), deadline, s)
	}
	if err == nil {
		err = sock.ReadJSON(t.fd, &t.far, deadline, s)
	}
	if err == nil && t.far.Challenge != "" {
		if c.token == "" {
			return fmt.Errorf("the server admits only clients that hold its token: set %s to the one that it printed, or use --token-file", tokenVariable)
		}
		err = sock.WriteJSON(t.fd, wire.Admission{Proof: prove(c.token, t.far.Challenge, hello)}, deadline, s)
		if t.far = (wire.Accepted{}); err == nil {
			err = sock.ReadJSON(t.fd, &t.far, deadline, s)
		}
	}
	switch {
	case errors.Is(err, wire.ErrNotJSON), errors.Is(err, io.EOF), errors.Is(err, sock.ErrSilent):
		return fmt.Errorf("%w: is the program on that port weir engine serve?", err)
	case err != nil:
		return err
	}
	if err = t.far.Check(); err == nil && c.AnyCC && t.far.CC != t.cc {
		if t.cc, err = sock.SetCC(t.fd, t.far.CC); err != nil {
			err = fmt.Errorf("the server cannot set %s and uses %s, which this machine cannot set: ask for one that both allow with --cc (cc of the probe), such as reno: %w", c.CC, t.far.CC, err)
		}
	}
	return err
}

// finish reads the send buffer after autotuning.
func (t *tcpConn) finish() error {
	var err error
	t.sndBuf, err = sock.SetBuffer(t.fd, unix.SO_SNDBUF, 0)
	return err
}
