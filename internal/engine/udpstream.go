package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/unit"
)

// runDatagrams runs udp-stream or udp-search on one thread of its own.
func runDatagrams(ctx context.Context, c config, s *stopper, out events) (any, error) {
	u, err := meet(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer u.close()
	defer out.people.halt()
	var result any
	err = <-onThread(func() error {
		if c.Workload == "udp-search" {
			result, err = u.search(ctx, c, out)
		} else {
			result, err = u.stream(ctx, c, out)
		}
		return err
	})
	return result, err
}

func (u *udpClient) stream(ctx context.Context, c config, out events) (any, error) {
	out.say("%s to %s (%v): datagrams: %d bytes, %d per call, %s; sent by %s, received by %s; %v after %v of warm-up\n",
		c.Workload, c.name, c.server, c.Size, max(c.Batch, 1), atRate(c), c.Send, c.Recv, c.Duration, c.Warmup)
	path, err := newPath(u.fd, c)
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	tx := sender{path: path, batch: c.Batch, interval: interval(c), whole: c.Send == event.SendGSO, stop: u.stop}
	if err := tx.run(kindWarmup, int64(c.Warmup)); err != nil {
		return nil, fmt.Errorf("engine: udp %v: warm-up: %w", c.server, explain(c, err))
	}
	// The answer comes after the warm-up has left the server's buffer, so
	// nothing of it is counted, and no drop of it either.
	u.asked = 0
	if err := u.ask(ctx, kindBegin, nil, nil); err != nil {
		return nil, fmt.Errorf("engine: udp %v: begin: %w", c.server, err)
	}
	if u.control >= 0 {
		out.watch(u.count, delivery)
	}
	if err := out.begin(); err != nil {
		return nil, err
	}
	begin := now()
	err = tx.run(kindMeasure, int64(c.Duration))
	window := now() - begin
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: send: %w", c.server, explain(c, err))
	}
	if err := out.end(); err != nil {
		return nil, err
	}
	var r udpReport
	if err := u.ask(ctx, kindReport, nil, &r); err != nil {
		return nil, fmt.Errorf("engine: udp %v: the server's count: %w", c.server, err)
	}
	return u.ladder(c, tx, r, window)
}

// ladder joins what both ends counted, and refuses what cannot be.
func (u *udpClient) ladder(c config, tx sender, r udpReport, window int64) (any, error) {
	bad := func(format string, args ...any) (any, error) {
		return nil, fmt.Errorf("engine: udp %v: "+format, append([]any{c.server}, args...)...)
	}
	switch {
	case r.Error == "" && tx.sent == 0:
		return bad("no datagram of %d bytes could be sent: %v", c.Size, tx.errors())
	case window <= 0:
		return bad("impossible: window %d ns", window)
	case r.Silence < 0 || r.Silence > r.Span || r.Wait < 0:
		return bad("impossible: a silence of %d ns between arrivals over %d ns, the first after %d ns", r.Silence, r.Span, r.Wait)
	}
	received, err := u.received(c, tx.sent, r)
	if err != nil {
		return bad("%w", err)
	}
	return event.UDPStream{
		Head: event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(window)), Rate: c.rate,
		Offered: tx.offered, Sent: tx.sent, Received: received, Delivered: r.Delivered,
		Bytes: r.Bytes, Dropped: received - r.Delivered, Duplicates: r.Duplicates, Reordered: r.Reordered,
		Jitter: r.Jitter / 1e9, Span: seconds(r.Span), Silence: seconds(silence(r, window)), SendErrors: tx.errors(),
		Send: or(c.Send, event.SendSingle), Batch: max(c.Batch, 1), Recv: or(c.Recv, event.RecvSingle), Nap: seconds(int64(c.Nap)),
		Reads: r.Reads, Buffers: r.Buffers, DSCP: u.dscp, SndBuf: u.sndBuf, RcvBuf: u.far.RcvBuf,
	}, nil
}

// silence is the longest time without an arrival, of a window that lasted so many
// nanoseconds. The server's clock shows neither end of the window: it begins with
// the request to count, less than a round trip early, and lasts as long as the
// client's.
func silence(r udpReport, window int64) int64 {
	return max(r.Silence, min(r.Wait, window), window-r.Wait-r.Span)
}

// received returns how many of the datagrams that were sent reached the server's
// socket, and refuses a report that cannot be.
func (u *udpClient) received(c config, sent int64, r udpReport) (int64, error) {
	switch {
	case r.Error != "":
		return 0, fmt.Errorf("the server's count: %s", r.Error)
	case r.Span < 0 || r.Jitter < 0:
		return 0, fmt.Errorf("impossible: arrivals over %d ns, jitter %g ns", r.Span, r.Jitter)
	case r.Delivered > sent:
		return 0, fmt.Errorf("impossible: %d datagrams delivered of %d sent", r.Delivered, sent)
	case r.Bytes != r.Delivered*int64(c.Size):
		return 0, fmt.Errorf("impossible: %d bytes in %d datagrams of %d", r.Bytes, r.Delivered, c.Size)
	case r.Reads < 0 || r.Reads > r.Buffers || r.Buffers > r.Delivered+r.Duplicates:
		return 0, fmt.Errorf("impossible: %d datagrams and %d duplicates in %d buffers and %d reads", r.Delivered, r.Duplicates, r.Buffers, r.Reads)
	}
	// The socket's counter also holds requests that were dropped: to begin, after the
	// one that was answered, and for the report, before it; and duplicates made by the
	// network.
	dropped := r.Dropped
	if c.Recv == event.RecvGRO {
		dropped = min(dropped*perBuffer(c, r), sent-r.Delivered)
	}
	received := r.Delivered + dropped
	if extra := received - sent; extra > 0 {
		if extra > int64(u.asked)+r.Duplicates {
			return 0, fmt.Errorf("impossible: %d datagrams delivered and %d dropped at the socket, of %d sent", r.Delivered, dropped, sent)
		}
		received = sent
	}
	return received, nil
}

// perBuffer is how many datagrams a buffer holds that the server's socket dropped:
// as many as those that it did not. With UDP_GRO the kernel counts drops by the
// buffer (__udp_enqueue_schedule_skb, net/ipv4/udp.c). A batch that is sent by gso
// and crosses no device that cuts it is one buffer, and then this is exact.
func perBuffer(c config, r udpReport) int64 {
	if r.Buffers == 0 {
		return int64(max(c.Batch, 1))
	}
	return (r.Delivered + r.Duplicates + r.Buffers - 1) / r.Buffers
}

// atRate says how fast a run shall send.
func atRate(c config) string {
	if c.rate == 0 {
		return "as fast as possible"
	}
	return "at " + unit.Format(c.rate, "bit/s")
}

// interval returns the nanoseconds from one datagram to the next, 0 without a rate.
func interval(c config) float64 {
	if c.rate == 0 {
		return 0
	}
	return float64(c.Size) * 8 / c.rate * float64(time.Second)
}
