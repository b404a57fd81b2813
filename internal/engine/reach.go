package engine

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func ipUDPHeaders(v6 bool) int {
	if v6 {
		return 40 + 8
	}
	return 20 + 8
}

// A blockedError is about the path, not its ends: it says what does not get through.
type blockedError struct {
	error
	what event.Blocked
}

func (e *blockedError) Unwrap() error        { return e.error }
func (e *blockedError) Is(target error) bool { return target == ErrEnvironment }

// blockedTCP returns err as a blockedError if it is one of connecting.
func blockedTCP(err error) error {
	for _, errno := range []unix.Errno{unix.ECONNREFUSED, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.ENETUNREACH} {
		if errors.Is(err, errno) {
			return &blockedError{err, event.Blocked{Protocol: "tcp"}}
		}
	}
	return err
}

// reachMain is `weir engine reach`: it proves that the path carries an IP packet of a size,
// unfragmented, to the server and back. The route's path MTU can be out of date. A server with a
// token is first asked over TCP and with small datagrams, as in every run, so that an error names
// what does not get through.
func reachMain(ctx context.Context, args []string, out events, help io.Writer) error {
	var source tokenSource
	fs := flag.NewFlagSet("reach", flag.ContinueOnError)
	size := fs.Int("size", 0, "bytes of the IP packet, including headers")
	timeout := fs.Duration("timeout", 2*time.Second, "how long to try")
	fs.StringVar(&source.word, "token", "", "`token` of the server; other users of this machine can read it in the process list")
	fs.StringVar(&source.file, "token-file", "", "`file` with the token (default $"+tokenVariable+", otherwise the server must be open)")
	pos, err := parseFlags(fs, args, help, "Prove that a packet of a size reaches a server and comes back, unfragmented.", "ADDR:PORT")
	if err != nil {
		return err
	}
	server, err := parseServer("reach", pos[0])
	if err != nil {
		return err
	}
	token, err := source.read()
	least := ipUDPHeaders(server.Addr().Is6()) + wire.HeaderSize
	err = cmp.Or(err, event.Within("size", *size, least, 65535, "bytes"), event.Within("timeout", *timeout, 1, wire.MaxTime, ""))
	if err != nil {
		return fmt.Errorf("%w: reach: %w", ErrUsage, err)
	}
	s, release := sock.StopWith(ctx)
	defer release()
	u, err := approach(ctx, config{server: server, token: token, timeout: *timeout}, s)
	if err != nil {
		return sock.Canceled(ctx, err)
	}
	defer u.close()
	r, err := onThread(func() (event.Reach, error) { return u.reach(ctx, *size) })
	if err != nil {
		return sock.Canceled(ctx, err)
	}
	return out.print(r)
}

// approach returns a socket whose packets the server returns. For a server with a token it is that
// of a run in which nothing is measured.
func approach(ctx context.Context, c config, s *sock.Stopper) (*udpClient, error) {
	u := &udpClient{control: -1, server: c.server, run: rand.Uint32N(wire.MaxRun + 1), timeout: c.timeout, stop: s, buf: make([]byte, 1<<16)}
	var err error
	if c.token == "" {
		u.fd, _, err = sock.DialUDP(c.server, 0, askEvery)
	} else {
		c.Params = wire.Params{Weir: wire.Version, Workload: "udp-rr", Run: u.run, Streams: 1, Size: wire.HeaderSize, Duration: min(c.timeout+narrowing, wire.MaxTime)}
		u, err = meet(ctx, c, s)
	}
	if err != nil {
		return nil, err
	}
	if err = cmp.Or(sock.SetDiscover(u.fd, c.server.Addr().Is6(), unix.IP_PMTUDISC_PROBE), sock.SetTimeouts(u.fd, retryEvery)); err != nil {
		u.close()
		return nil, fmt.Errorf("engine: reach %v: %w", c.server, err)
	}
	return u, nil
}

// reach sends a packet every 10 ms until one comes back. Errors do not end it: the server can be
// about to start, a device about to get its MTU.
func (u *udpClient) reach(ctx context.Context, size int) (event.Reach, error) {
	e := bouncer{udpClient: u, seen: map[string]int{}}
	begin := sock.Now()
	for sock.Now()-begin < int64(u.timeout) {
		next := sock.Now() + int64(retryEvery)
		rtt, err := e.bounce(size, next)
		if err != nil {
			return event.Reach{}, err
		}
		if rtt > 0 {
			return event.Reach{Head: event.NewHead("reach", u.server.String(), size, time.Duration(sock.Now()-begin)),
				Tries: len(e.sent), RTT: seconds(rtt)}, nil
		}
		if err := sock.SleepUntil(ctx, next, nil); err != nil {
			return event.Reach{}, err
		}
	}
	return event.Reach{}, e.explain(ctx, size)
}

// A bouncer sends packets that the server returns.
type bouncer struct {
	*udpClient
	seen  map[string]int // errors, by description
	sent  []int64        // times, by number
	size  int            // of the packets since first
	first uint64
}

// bounce sends a packet and waits until next for one of its size to come back. It returns that one's
// round trip, ns, or 0. The error is sock.ErrStopped.
func (e *bouncer) bounce(size int, next int64) (rtt int64, err error) {
	seq := uint64(len(e.sent))
	if size != e.size {
		e.size, e.first = size, seq // no answer to another size counts
	}
	packet := make([]byte, size-ipUDPHeaders(e.server.Addr().Is6()))
	wire.Header{Kind: wire.KindReach, Run: e.run, Seq: seq}.Put(packet)
	e.sent = append(e.sent, sock.Now())
	_, errno := sock.Send(e.fd, packet)
	if errno == unix.EMSGSIZE {
		next = 0
	}
	b, err := e.await(wire.KindReach, e.first, next)
	switch {
	case errors.Is(err, sock.ErrStopped):
		return 0, err
	case b != nil && len(b) == len(packet)-wire.HeaderSize:
		if h, ok := wire.ParseHeader(e.buf); ok && h.Seq <= seq {
			return max(sock.Now()-e.sent[h.Seq], 1), nil
		}
	}
	if sock.ReadErrors(e.fd, e.seen) == 0 && errno != 0 && !sock.Again(errno) {
		e.seen[unix.ErrnoName(errno)+" when sending"]++
	}
	return 0, nil
}

const (
	// narrowing bounds the search for the largest packet that comes back.
	narrowing = 3 * time.Second
	// patient is how long that search waits for a small packet, at most, and narrowTries how often it
	// tries a size.
	patient     = 300 * time.Millisecond
	narrowTries = 3
)

// explain returns why no packet of a size came back.
func (e *bouncer) explain(ctx context.Context, size int) error {
	why := fmt.Errorf("engine: reach %v: no packet of %d bytes came back within %v (%d tries): %s", e.server, size, e.timeout, len(e.sent), summary(e.seen, e.server.Addr().Is6()))
	carries, not, err := e.narrow(ctx, size)
	switch {
	case err != nil:
		return err
	case carries == 0, carries >= not: // the smallest packet comes back by now
		return why
	}
	return &blockedError{fmt.Errorf("%w; the path carries %d bytes but not %d", why, carries, not),
		event.Blocked{Carries: carries, Not: not}}
}

// narrow bisects between the smallest packet and one that does not come back. It returns the largest
// size that came back, 0 if not even the smallest did, and the smallest that did not.
func (e *bouncer) narrow(ctx context.Context, size int) (carries, not int, err error) {
	deadline, wait := sock.Now()+int64(narrowing), int64(min(patient, e.timeout/narrowTries))
	comes := func(size int) (bool, error) {
		for range narrowTries {
			rtt, err := e.bounce(size, sock.Now()+wait)
			if rtt > 0 && carries == 0 {
				wait = min(max(4*rtt, int64(askEvery)), wait)
			}
			if rtt > 0 || err != nil {
				return rtt > 0, err
			}
			if err := sock.SleepUntil(ctx, sock.Now()+int64(time.Millisecond), nil); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	least := ipUDPHeaders(e.server.Addr().Is6()) + wire.HeaderSize
	if ok, err := comes(least); !ok {
		return 0, size, err
	}
	for carries, not = least, size; not-carries > 1 && sock.Now() < deadline; {
		middle := (carries + not) / 2
		ok, err := comes(middle)
		switch {
		case err != nil:
			return 0, 0, err
		case ok:
			carries = middle
		default:
			not = middle
		}
	}
	return carries, not, nil
}

// summary describes the errors seen. The kernel refuses packets to new neighbors while its table of them is
// full (ENOBUFS, neigh_alloc, net/core/neighbour.c); at the far end, that loses the answer (EHOSTUNREACH).
func summary(seen map[string]int, v6 bool) string {
	if len(seen) == 0 {
		return "saw neither EMSGSIZE nor an ICMP error: the path drops it silently, or no server answers"
	}
	var parts []string
	full := false
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		parts = append(parts, fmt.Sprintf("%s (%d times)", k, seen[k]))
		full = full || strings.HasPrefix(k, "ENOBUFS") || strings.HasPrefix(k, "EHOSTUNREACH")
	}
	all := strings.Join(parts, ", ")
	if full {
		ip := "ipv4"
		if v6 {
			ip = "ipv6"
		}
		all += fmt.Sprintf("; with many hosts or networks, the neighbor table can be full, which all network namespaces of a machine share: raise the sysctl net.%s.neigh.default.gc_thresh3 (1024 by default), or measure fewer at once", ip)
	}
	return all
}
