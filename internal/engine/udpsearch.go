package engine

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/unit"
)

func runUDPSearch(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	u, err := meet(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer u.close()
	result, err := onThread(func() (any, error) { return u.search(ctx, c, out) })
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	return result, nil
}

// An aim is what a udp-search looks for. The run's duration bounds its time.
type aim struct {
	loss  []float64 // largest losses to tolerate, shares of the offered datagrams, 0..1; nil is defaultLoss
	width float64   // how close the bounds of the rate are to be
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
	c.aim.width = defaultWidth
	fs.Func("loss", "udp-search: largest loss to tolerate, such as 0.5%; 0 finds the no-drop rate; several goals, with commas, in one search (default 0.5%)", func(s string) error {
		for one := range strings.SplitSeq(s, ",") {
			loss, err := unit.ParsePercent(one)
			if err != nil {
				return err
			}
			c.aim.loss = append(c.aim.loss, loss)
		}
		return nil
	})
	fs.Func("width", "udp-search: how close to bring the bounds of the rate (default 2%)", func(s string) (err error) {
		c.aim.width, err = unit.ParsePercent(s)
		return err
	})
	fs.DurationVar(&c.aim.phase, "phase", 0, "udp-search: how long to try a rate at a time (default 100ms, or a 40th of the duration)")
}

func (c *config) finishSearch() error {
	g := &c.aim
	if c.Workload != "udp-search" {
		if g.loss != nil || g.width != defaultWidth || g.phase != 0 {
			return fmt.Errorf("%s: --loss, --width and --phase are only for udp-search", c.Workload)
		}
		return nil
	}
	if g.phase == 0 {
		g.phase = max(min(defaultPhase, c.Duration/defaultPhases), minPhase)
	}
	if g.loss == nil {
		g.loss = []float64{defaultLoss}
	}
	if err := event.CheckGoals(g.loss); err != nil {
		return err
	}
	switch {
	case g.width < minWidth || g.width > 1:
		return fmt.Errorf("width %g%% is outside %g%%..100%%", 100*g.width, 100*minWidth)
	case g.phase < minPhase || g.phase > c.Duration:
		return fmt.Errorf("phase %v is outside %v and the duration, %v", g.phase, minPhase, c.Duration)
	}
	return nil
}

func (u *udpClient) search(ctx context.Context, c config, out events) (r event.UDPSearch, err error) {
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
	s := tally.NewGoals(c.aim.loss, c.aim.width, tally.Slowest(c.aim.width, c.aim.phase))
	out.begin()
	begin, before := sock.Now(), gauge.Read()
	var phases []event.Phase
	rate, done := s.Next()
	for !done && (len(phases) == 0 || sock.Now()-begin+int64(c.aim.phase) < int64(c.Duration)) {
		p, err := u.phase(ctx, c, tx, rate)
		if err != nil {
			return r, err
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
	length := seconds(int64(c.aim.phase))
	goals := s.Found(length)
	return event.UDPSearch{
		Head: event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(window)),
		Loss: c.aim.loss[0], Width: c.aim.width, Length: length, Found: s[0].Found(goals[0].Limit != event.LimitTime), Goals: goals, Phases: phases,
		Send: c.Send, Batch: c.Batch, Recv: c.Recv, Nap: u.far.Nap.Seconds(),
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
	if err := send(c, tx, wire.KindWarmup, time.Duration(settling*float64(c.aim.phase))); err != nil {
		return p, err
	}
	u.first = tx.First
	if err := u.ask(ctx, wire.KindBegin, nil, nil); err != nil {
		return p, fmt.Errorf("begin: %w", err)
	}
	if err := send(c, tx, wire.KindMeasure, c.aim.phase); err != nil {
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
