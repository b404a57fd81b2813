package engine

import (
	"cmp"
	"context"
	"flag"
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

func (u *udpClient) stream(ctx context.Context, c config, out events) (any, error) {
	out.say("%s to %s (%v): datagrams: %d bytes, %d per call, %s; sent by %s, received by %s; %v after %v of warm-up\n",
		c.Workload, c.name, c.server, c.Size, max(c.Batch, 1), atRate(c), c.Send, c.Recv, c.Duration, c.Warmup)
	interval := 0.0
	if c.rate > 0 {
		interval = float64(c.Size) * 8 / c.rate * float64(time.Second)
	}
	gauge := sock.NewGauge(-1)
	defer gauge.Close()
	tx, err := u.sender(c, interval)
	if err != nil {
		return nil, err
	}
	defer tx.Path.Close()
	// The answer comes after the warm-up has left the server's buffer, so neither its datagrams nor
	// its drops are counted.
	u.asked = 0
	if err := u.ask(ctx, wire.KindBegin, nil, nil); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if u.control >= 0 {
		out.watch(u.count, delivery)
	}
	out.begin()
	begin, before := sock.Now(), gauge.Read()
	if err := send(c, tx, wire.KindMeasure, c.Duration); err != nil {
		return nil, err
	}
	window, used := sock.Now()-begin, gauge.Read().Since(before)
	out.end()
	var r wire.UDPReport
	if err := u.ask(ctx, wire.KindReport, nil, &r); err != nil {
		return nil, fmt.Errorf("the server's count: %w", err)
	}
	l, err := u.ladder(c, tx, r, window)
	l.Own = own(used, r.Used, false)
	return l, err
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
		Send: cmp.Or(c.Send, event.SendSingle), Batch: max(c.Batch, 1), Recv: cmp.Or(c.Recv, event.RecvSingle), Nap: seconds(int64(c.Nap)),
		Reads: r.Reads, Buffers: r.Buffers, DSCP: u.dscp, SndBuf: u.sndBuf, RcvBuf: u.far.RcvBuf,
	}, nil
}

func atRate(c config) string {
	if c.rate == 0 {
		return "as fast as possible"
	}
	return "at " + unit.Format(c.rate, "bit/s")
}

// A goal is the aim of a udp-search; its duration bounds the time.
type goal struct {
	loss  float64 // largest loss to tolerate, share of the offered datagrams, 0..1
	width float64 // how close the bounds of the rate are to be
	phase time.Duration
}

const (
	defaultLoss  = 0.005 // as FD.io CSIT does; see docs/adr/0025-loss-bounded-search.md
	defaultWidth = 0.02
	minWidth     = 0.001
	// defaultPhase is long against a time slice of the scheduler, about 3 ms, and the credit of an
	// idle link (250 µs in a lab). A search takes about twenty phases; if defaultPhases of that
	// length do not fit, they are shorter.
	defaultPhase  = 100 * time.Millisecond
	defaultPhases = 40
	minPhase      = 100 * time.Microsecond
	// settling is how long datagrams flow at the rate of a phase before they count, as a share of
	// the phase.
	settling = 0.1
)

func (c *config) searchFlags(fs *flag.FlagSet) {
	c.goal = goal{loss: defaultLoss, width: defaultWidth}
	share := func(to *float64) func(string) error {
		return func(s string) (err error) { *to, err = unit.ParsePercent(s); return err }
	}
	fs.Func("loss", "udp-search: largest loss to tolerate, such as 0.5%; 0 finds the no-drop rate (default 0.5%)", share(&c.goal.loss))
	fs.Func("width", "udp-search: how close to bring the bounds of the rate (default 2%)", share(&c.goal.width))
	fs.DurationVar(&c.goal.phase, "phase", 0, "udp-search: how long to try a rate at a time (default 100ms, or a 40th of the duration)")
}

func (c *config) finishSearch() error {
	g := &c.goal
	if c.Workload != "udp-search" {
		if *g != (goal{loss: defaultLoss, width: defaultWidth}) {
			return fmt.Errorf("%s: --loss, --width and --phase are only for udp-search", c.Workload)
		}
		return nil
	}
	if g.phase == 0 {
		g.phase = max(min(defaultPhase, c.Duration/defaultPhases), minPhase)
	}
	switch {
	case g.loss < 0 || g.loss >= 1:
		return fmt.Errorf("loss %g%% is outside 0%%..100%%", 100*g.loss)
	case g.width < minWidth || g.width > 1:
		return fmt.Errorf("width %g%% is outside %g%%..100%%", 100*g.width, 100*minWidth)
	case g.phase < minPhase || g.phase > c.Duration:
		return fmt.Errorf("phase %v is outside %v and the duration, %v", g.phase, minPhase, c.Duration)
	}
	return nil
}

func (u *udpClient) search(ctx context.Context, c config, out events) (r event.UDPSearch, err error) {
	out.say("%s to %s (%v): datagrams: %d bytes, %d per call; sent by %s, received by %s; phases of %v for the highest rate that loses at most %g %%, %v at most\n",
		c.Workload, c.name, c.server, c.Size, max(c.Batch, 1), c.Send, c.Recv, c.goal.phase, 100*c.goal.loss, c.Duration)
	gauge := sock.NewGauge(-1)
	defer gauge.Close()
	tx, err := u.sender(c, 0)
	if err != nil {
		return r, err
	}
	defer tx.Path.Close()
	far, err := u.reading(ctx)
	if err != nil {
		return r, err
	}
	s := tally.Search{Loss: c.goal.loss, Width: c.goal.width, Floor: tally.Slowest(c.goal.width, c.goal.phase)}
	out.begin()
	begin, before := sock.Now(), gauge.Read()
	var phases []event.Phase
	rate, done := s.Next()
	for !done && (len(phases) == 0 || sock.Now()-begin+int64(c.goal.phase) < int64(c.Duration)) {
		p, err := u.phase(ctx, c, tx, rate)
		if err != nil {
			return r, err
		}
		if c.every > 0 {
			out.say("%6.2f s  %s\n", seconds(sock.Now()-begin), inWordsOf(p, s.Judge(p)))
		}
		phases = append(phases, p)
		s.Add(p)
		rate, done = s.Next()
	}
	window, used := sock.Now()-begin, gauge.Read().Since(before)
	out.end()
	last, err := u.reading(ctx)
	if far = last.Since(far); err == nil && far.Check() != nil {
		err = fmt.Errorf("impossible: the server's %w", far.Check())
	}
	return event.UDPSearch{
		Head: event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(window)),
		Loss: s.Loss, Width: s.Width, Length: seconds(int64(c.goal.phase)), Found: s.Found(done), Phases: phases,
		Send: c.Send, Batch: c.Batch, Recv: c.Recv, Nap: seconds(int64(c.Nap)),
		DSCP: u.dscp, SndBuf: u.sndBuf, RcvBuf: u.far.RcvBuf, Own: own(used, far, false),
	}, err
}

// phase offers datagrams at a rate, packet/s, and asks how many arrived. Requests and answers
// follow the datagrams, so each waits until the queues have drained, and no datagram is left for
// the next phase.
func (u *udpClient) phase(ctx context.Context, c config, tx *sock.Sender, rate float64) (p event.Phase, err error) {
	tx.Interval = 0
	if rate > 0 {
		tx.Interval = float64(time.Second) / rate
	}
	tx.First += uint64(tx.Sent)
	if err := send(c, tx, wire.KindWarmup, time.Duration(settling*float64(c.goal.phase))); err != nil {
		return p, err
	}
	u.first = tx.First
	if err := u.ask(ctx, wire.KindBegin, nil, nil); err != nil {
		return p, fmt.Errorf("begin: %w", err)
	}
	if err := send(c, tx, wire.KindMeasure, c.goal.phase); err != nil {
		return p, err
	}
	var r wire.UDPReport
	if err := u.ask(ctx, wire.KindReport, nil, &r); err != nil {
		return p, fmt.Errorf("the server's count: %w", err)
	}
	arrived, err := tally.Received(c.Mode(), u.asked, tx.Sent, r)
	if err != nil {
		return p, err
	}
	return event.Phase{Asked: rate, Offered: tx.Offered, Refused: tx.Refused, Sent: tx.Sent, Delivered: r.Delivered,
		Dropped: arrived - r.Delivered, Window: seconds(tx.Took), Queue: seconds(r.Queue)}, nil
}
