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

// reachMain is `weir engine reach`: it proves that the path carries an IP packet of a size,
// unfragmented, to the server and back. The route's path MTU can be out of date.
func reachMain(ctx context.Context, args []string, out *events, help io.Writer) error {
	fs := flag.NewFlagSet("reach", flag.ContinueOnError)
	size := fs.Int("size", 0, "bytes of the IP packet, including headers")
	timeout := fs.Duration("timeout", 2*time.Second, "how long to try")
	jsonFlag(fs, out)
	pos, err := parseFlags(fs, out, args, plainHelp(help, fs, "weir engine reach ADDR:PORT --size BYTES [flags]\n\nProve that a packet of a size reaches an open server and comes back, unfragmented."), "ADDR:PORT")
	if err != nil {
		return err
	}
	server, err := parseServer("reach", pos[0])
	if err != nil {
		return err
	}
	least := ipUDPHeaders(server.Addr().Is6()) + wire.HeaderSize
	err = cmp.Or(event.Within("size", *size, least, 65535, "bytes"), event.Within("timeout", *timeout, 1, wire.MaxTime, ""))
	if err != nil {
		return fmt.Errorf("%w: reach: %w", ErrUsage, err)
	}
	s, release := sock.StopWith(ctx)
	defer release()
	fd, _, err := sock.DialUDP(server, 0, askEvery)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err = cmp.Or(sock.SetDiscover(fd, server.Addr().Is6(), unix.IP_PMTUDISC_PROBE), sock.SetTimeouts(fd, retryEvery)); err != nil {
		return fmt.Errorf("engine: reach %v: %w", server, err)
	}
	u := &udpClient{fd: fd, server: server, run: rand.Uint32N(wire.MaxRun + 1), timeout: *timeout, stop: s, buf: make([]byte, 1<<16)}
	r, err := onThread(func() (event.Reach, error) { return u.reach(ctx, *size) })
	if err != nil {
		return sock.Canceled(ctx, err)
	}
	return out.print(r)
}

// reach sends a packet every 10 ms until one comes back. Errors do not end it: the server can be
// about to start, a device about to get its MTU.
func (u *udpClient) reach(ctx context.Context, size int) (event.Reach, error) {
	payload := size - ipUDPHeaders(u.server.Addr().Is6())
	packet := make([]byte, payload)
	var sent []int64 // by sequence number
	seen := map[string]int{}
	begin := sock.Now()
	tries := 0
	for sock.Now()-begin < int64(u.timeout) {
		next := sock.Now() + int64(retryEvery)
		wire.Header{Kind: wire.KindReach, Run: u.run, Seq: uint64(tries)}.Put(packet)
		tries++
		sent = append(sent, sock.Now())
		_, errno := sock.Send(u.fd, packet)
		b, err := u.await(wire.KindReach, 0, next)
		switch {
		case errors.Is(err, sock.ErrStopped):
			return event.Reach{}, err
		case len(b) == payload-wire.HeaderSize && b != nil:
			r := event.Reach{Tries: tries}
			if h, ok := wire.ParseHeader(u.buf); ok && h.Seq < uint64(len(sent)) {
				r.RTT = float64(sock.Now()-sent[h.Seq]) / 1e9
			}
			r.Head = event.NewHead("reach", u.server.String(), size, time.Duration(sock.Now()-begin))
			return r, nil
		}
		if sock.ReadErrors(u.fd, seen) == 0 && errno != 0 && !sock.Again(errno) {
			seen[unix.ErrnoName(errno)+" when sending"]++
		}
		if err := sock.SleepUntil(ctx, next, nil); err != nil {
			return event.Reach{}, err
		}
	}
	return event.Reach{}, fmt.Errorf("engine: reach %v: no packet of %d bytes came back within %v (%d tries): %s", u.server, size, u.timeout, tries, summary(seen))
}

func summary(seen map[string]int) string {
	if len(seen) == 0 {
		return "saw neither EMSGSIZE nor an ICMP error: the path drops it silently, or no server answers"
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		parts = append(parts, fmt.Sprintf("%s (%d times)", k, seen[k]))
	}
	return strings.Join(parts, ", ")
}
