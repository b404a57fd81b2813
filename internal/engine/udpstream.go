package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A flow is one of a run's streams of datagrams. It has a socket and a thread at each end.
type flow struct {
	u          *udpClient
	counting   int64 // when the server's counters were at zero
	begin, end int64 // of sending
	used       wire.Reading
	report     wire.UDPReport
	ladder     event.UDPStream
}

// A barrier lets flows begin together, and tells when all have sent.
type barrier struct {
	ready chan struct{} // one from each flow: its counters are at zero
	begin chan struct{} // closed when all are ready
	sent  chan struct{} // one from each flow: its last datagram has left
}

func runUDPStream(ctx context.Context, c config, _ *sock.Stopper, out events) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	threads, ctx := errgroup.WithContext(ctx)
	s, release := sock.StopWith(ctx) // the first error stops all flows
	defer release()
	var flows []*flow
	defer func() {
		for _, f := range flows {
			f.u.close()
		}
	}()
	for range c.Streams {
		u, err := meet(ctx, c, s)
		if err != nil {
			return nil, err
		}
		flows = append(flows, &flow{u: u})
	}
	at := barrier{make(chan struct{}, len(flows)), make(chan struct{}), make(chan struct{}, len(flows))}
	for i, f := range flows {
		threads.Go(func() error {
			err := <-sock.OnThread(func() error { return f.run(ctx, c, at) })
			if err != nil && len(flows) > 1 {
				err = fmt.Errorf("stream %d: %w", i+1, err)
			}
			return err
		})
	}
	if each(ctx, at.ready) {
		out.begin()
		close(at.begin)
		if each(ctx, at.sent) {
			out.end()
		}
	}
	if err := threads.Wait(); err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	return together(flows), nil
}

// each waits for every flow; it returns false if one has failed.
func each(ctx context.Context, point <-chan struct{}) bool {
	for range cap(point) {
		select {
		case <-point:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// sender returns a sender for c after the warm-up. interval is the time between datagrams, ns; 0
// sends as fast as possible.
func (u *udpClient) sender(c config, interval float64) (*sock.Sender, error) {
	path, err := sock.NewPath(u.fd, c.Run, c.Mode())
	if err != nil {
		return nil, err
	}
	tx := &sock.Sender{Path: path, Batch: c.Batch, Interval: interval, Whole: c.Send == event.SendGSO || c.Send == event.SendXDP, Stop: u.stop}
	if err := send(c, tx, wire.KindWarmup, c.Warmup); err != nil {
		path.Close()
		return nil, err
	}
	return tx, nil
}

func send(c config, tx *sock.Sender, k wire.Kind, d time.Duration) error {
	if err := tx.Run(k, int64(d)); err != nil {
		return fmt.Errorf("send: %w", sock.ExplainSend(c.Mode(), err))
	}
	return nil
}

func (f *flow) run(ctx context.Context, c config, at barrier) error {
	interval := 0.0
	if c.rate > 0 {
		interval = float64(c.Size) * 8 * float64(c.Streams) / c.rate * float64(time.Second)
	}
	gauge := sock.NewGauge(-1)
	defer gauge.Close()
	tx, err := f.u.sender(c, interval)
	if err != nil {
		return err
	}
	defer tx.Path.Close()
	// The answer comes after the warm-up has left the server's buffer, so neither its datagrams nor
	// its drops are counted.
	f.u.asked = 0
	if err := f.u.ask(ctx, wire.KindBegin, nil, nil); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	f.counting = sock.Now()
	at.ready <- struct{}{}
	select {
	case <-at.begin:
	case <-ctx.Done():
		return sock.ErrStopped
	}
	before := gauge.Read()
	f.begin = sock.Now()
	if err := send(c, tx, wire.KindMeasure, c.Duration); err != nil {
		return err
	}
	f.end, f.used = sock.Now(), gauge.Read().Since(before)
	at.sent <- struct{}{}
	if err := f.u.ask(ctx, wire.KindReport, nil, &f.report); err != nil {
		return fmt.Errorf("the server's count: %w", err)
	}
	if f.report.Wait > 0 { // for the first datagram, not for the other flows
		f.report.Wait = max(0, f.report.Wait-(f.begin-f.counting))
	}
	f.ladder, err = f.u.ladder(c, tx, f.report, f.end-f.begin)
	return err
}

// ladder joins the counts of both ends, and refuses impossible ones.
func (u *udpClient) ladder(c config, tx *sock.Sender, r wire.UDPReport, window int64) (l event.UDPStream, err error) {
	switch {
	case r.Error == "" && tx.Sent == 0:
		return l, fmt.Errorf("no datagram of %d bytes could be sent: %v", c.Size, tx.Errors())
	case window <= 0:
		return l, fmt.Errorf("impossible: window %d ns", window)
	case r.Used.Check() != nil:
		return l, fmt.Errorf("impossible: the server's %w", r.Used.Check())
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
		Send: cmp.Or(c.Send, event.SendSingle), Batch: max(c.Batch, 1), Recv: cmp.Or(c.Recv, event.RecvSingle), Nap: u.far.Nap.Seconds(),
		Reads: r.Reads, Buffers: r.Buffers, DSCP: u.dscp, SndBuf: u.sndBuf, RcvBuf: u.far.RcvBuf,
	}, nil
}

// together joins the ladders of flows that have one.
func together(flows []*flow) event.UDPStream {
	sum := flows[0].ladder
	sum.SendErrors = maps.Clone(sum.SendErrors)
	if len(flows) > 1 {
		sum.Streams = len(flows)
	}
	var here, there []wire.Reading
	begin, end := flows[0].begin, flows[0].end
	var first, last int64 // arrivals of all
	for i, f := range flows {
		here, there = append(here, f.used), append(there, f.report.Used)
		begin, end = min(begin, f.begin), max(end, f.end)
		if f.report.Delivered > 0 { // on this end's clock, less than a round trip early: see tally.Silence
			arrival := f.begin + f.report.Wait
			if first == 0 {
				first = arrival
			}
			first, last = min(first, arrival), max(last, arrival+f.report.Span)
		}
		if i > 0 {
			sum.Add(f.ladder)
		}
		if sum.Streams > 0 {
			sum.StreamBytes = append(sum.StreamBytes, f.ladder.Bytes)
		}
	}
	sum.Jitter /= float64(len(flows))
	sum.Window, sum.Span = seconds(end-begin), seconds(last-first)
	sum.Own = own(wire.Sum(here), wire.Sum(there), false)
	return sum
}
