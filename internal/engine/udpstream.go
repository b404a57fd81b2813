package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/unit"
)

// runDatagrams runs udp-stream or udp-search on a thread of its own.
func runDatagrams(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	u, err := meet(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer u.close()
	defer out.console.halt()
	var result any
	err = <-sock.OnThread(func() error {
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
	path, err := sock.NewPath(u.fd, c.Run, c.Mode())
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	tx := sock.Sender{Path: path, Batch: c.Batch, Interval: interval(c), Whole: c.Send == event.SendGSO, Stop: u.stop}
	if err := tx.Run(wire.KindWarmup, int64(c.Warmup)); err != nil {
		return nil, fmt.Errorf("engine: udp %v: warm-up: %w", c.server, sock.ExplainSend(c.Mode(), err))
	}
	// The answer comes after the warm-up has left the server's buffer, so neither its
	// datagrams nor its drops are counted.
	u.asked = 0
	if err := u.ask(ctx, wire.KindBegin, nil, nil); err != nil {
		return nil, fmt.Errorf("engine: udp %v: begin: %w", c.server, err)
	}
	if u.control >= 0 {
		out.watch(u.count, delivery)
	}
	if err := out.begin(); err != nil {
		return nil, err
	}
	begin := sock.Now()
	err = tx.Run(wire.KindMeasure, int64(c.Duration))
	window := sock.Now() - begin
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: send: %w", c.server, sock.ExplainSend(c.Mode(), err))
	}
	if err := out.end(); err != nil {
		return nil, err
	}
	var r wire.UDPReport
	if err := u.ask(ctx, wire.KindReport, nil, &r); err != nil {
		return nil, fmt.Errorf("engine: udp %v: the server's count: %w", c.server, err)
	}
	return u.ladder(c, tx, r, window)
}

// ladder joins the counts of both ends, and refuses impossible ones.
func (u *udpClient) ladder(c config, tx sock.Sender, r wire.UDPReport, window int64) (any, error) {
	bad := func(format string, args ...any) (any, error) {
		return nil, fmt.Errorf("engine: udp %v: "+format, append([]any{c.server}, args...)...)
	}
	switch {
	case r.Error == "" && tx.Sent == 0:
		return bad("no datagram of %d bytes could be sent: %v", c.Size, tx.Errors())
	case window <= 0:
		return bad("impossible: window %d ns", window)
	case r.Silence < 0 || r.Silence > r.Span || r.Wait < 0:
		return bad("impossible: a silence of %d ns between arrivals over %d ns, the first after %d ns", r.Silence, r.Span, r.Wait)
	}
	arrived, err := tally.Received(c.Mode(), u.asked, tx.Sent, r)
	if err != nil {
		return bad("%w", err)
	}
	return event.UDPStream{
		Head: event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(window)), Rate: c.rate,
		Offered: tx.Offered, Sent: tx.Sent, Received: arrived, Delivered: r.Delivered,
		Bytes: r.Bytes, Dropped: arrived - r.Delivered, Duplicates: r.Duplicates, Reordered: r.Reordered,
		Jitter: r.Jitter / 1e9, Span: seconds(r.Span), Silence: seconds(tally.Silence(r, window)), SendErrors: tx.Errors(),
		Send: cmp.Or(c.Send, event.SendSingle), Batch: max(c.Batch, 1), Recv: cmp.Or(c.Recv, event.RecvSingle), Nap: seconds(int64(c.Nap)),
		Reads: r.Reads, Buffers: r.Buffers, DSCP: u.dscp, SndBuf: u.sndBuf, RcvBuf: u.far.RcvBuf,
	}, nil
}

// atRate says how fast a run sends.
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
