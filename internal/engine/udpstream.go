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
	result, err := onThread(func() (any, error) {
		if c.Workload == "udp-search" {
			return u.search(ctx, c, out)
		}
		return u.stream(ctx, c, out)
	})
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	return result, nil
}

// sender returns a sender of the datagrams that c asks for, after the warm-up. interval
// is the time from one to the next, ns; 0 sends as fast as possible.
func (u *udpClient) sender(c config, interval float64) (*sock.Sender, error) {
	path, err := sock.NewPath(u.fd, c.Run, c.Mode())
	if err != nil {
		return nil, err
	}
	tx := &sock.Sender{Path: path, Batch: c.Batch, Interval: interval, Whole: c.Send == event.SendGSO, Stop: u.stop}
	return tx, send(c, tx, wire.KindWarmup, c.Warmup)
}

func send(c config, tx *sock.Sender, k wire.Kind, d time.Duration) error {
	if err := tx.Run(k, int64(d)); err != nil {
		return fmt.Errorf("send: %w", sock.ExplainSend(c.Mode(), err))
	}
	return nil
}

func (u *udpClient) stream(ctx context.Context, c config, out events) (any, error) {
	out.say("%s to %s (%v): datagrams: %d bytes, %d per call, %s; sent by %s, received by %s; %v after %v of warm-up\n",
		c.Workload, c.name, c.server, c.Size, max(c.Batch, 1), atRate(c), c.Send, c.Recv, c.Duration, c.Warmup)
	interval := 0.0
	if c.rate > 0 {
		interval = float64(c.Size) * 8 / c.rate * float64(time.Second)
	}
	tx, err := u.sender(c, interval)
	if err != nil {
		return nil, err
	}
	// The answer comes after the warm-up has left the server's buffer, so neither its
	// datagrams nor its drops are counted.
	u.asked = 0
	if err := u.ask(ctx, wire.KindBegin, nil, nil); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if u.control >= 0 {
		out.watch(u.count, delivery)
	}
	out.begin()
	begin := sock.Now()
	if err := send(c, tx, wire.KindMeasure, c.Duration); err != nil {
		return nil, err
	}
	window := sock.Now() - begin
	out.end()
	var r wire.UDPReport
	if err := u.ask(ctx, wire.KindReport, nil, &r); err != nil {
		return nil, fmt.Errorf("the server's count: %w", err)
	}
	return u.ladder(c, tx, r, window)
}

// ladder joins the counts of both ends, and refuses impossible ones.
func (u *udpClient) ladder(c config, tx *sock.Sender, r wire.UDPReport, window int64) (l event.UDPStream, err error) {
	switch {
	case r.Error == "" && tx.Sent == 0:
		return l, fmt.Errorf("no datagram of %d bytes could be sent: %v", c.Size, tx.Errors())
	case window <= 0:
		return l, fmt.Errorf("impossible: window %d ns", window)
	case r.Silence < 0 || r.Silence > r.Span || r.Wait < 0:
		return l, fmt.Errorf("impossible: a silence of %d ns between arrivals over %d ns, the first after %d ns", r.Silence, r.Span, r.Wait)
	}
	arrived, err := tally.Received(c.Mode(), u.asked, tx.Sent, r)
	if err != nil {
		return l, err
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
