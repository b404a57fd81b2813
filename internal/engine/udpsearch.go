package engine

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/unit"
)

// A goal is what a udp-search looks for; its duration bounds the time.
type goal struct {
	loss  float64 // the most that may be lost, of what is offered, 0..1
	width float64 // the bounds of the rate shall be this close
	phase time.Duration
}

const (
	defaultLoss  = 0.005 // as FD.io CSIT does; see docs/adr/0025-loss-bounded-search.md
	defaultWidth = 0.02
	minWidth     = 0.001
	// defaultPhase is long against a time slice of the scheduler, some 3 ms, and against
	// what a link saves up while it is idle (250 µs in a lab). A search takes some
	// twenty phases; where there is no time for defaultPhases of that length, they are
	// shorter.
	defaultPhase  = 100 * time.Millisecond
	defaultPhases = 40
	minPhase      = 100 * time.Microsecond
	// settling is the part of a phase for which datagrams flow at its rate before
	// they are counted.
	settling = 0.1
)

func (c *config) searchFlags(fs *flag.FlagSet) {
	c.goal = goal{loss: defaultLoss, width: defaultWidth}
	share := func(to *float64) func(string) error {
		return func(s string) (err error) { *to, err = unit.ParsePercent(s); return err }
	}
	fs.Func("loss", "udp-search: the most that may be lost, such as 0.5%; 0 finds the no-drop rate (default 0.5%)", share(&c.goal.loss))
	fs.Func("width", "udp-search: how close the bounds of the rate shall be (default 2%)", share(&c.goal.width))
	fs.DurationVar(&c.goal.phase, "phase", 0, "udp-search: for how long each rate is tried at a time (default 100ms, or a 40th of the duration)")
}

// finishSearch fills in what the flags leave open, and checks them.
func (c *config) finishSearch() error {
	g := &c.goal
	if c.Workload != "udp-search" {
		if *g != (goal{loss: defaultLoss, width: defaultWidth}) {
			return fmt.Errorf("%s: --loss, --width and --phase are for udp-search alone", c.Workload)
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

// search runs phases until the search is done or its time is over.
func (u *udpClient) search(ctx context.Context, c config, out events) (any, error) {
	out.say("%s to %s (%v): datagrams: %d bytes, %d per call; sent by %s, received by %s; phases of %v for the highest rate that loses at most %g %%, %v at most\n",
		c.Workload, c.name, c.server, c.Size, max(c.Batch, 1), c.Send, c.Recv, c.goal.phase, 100*c.goal.loss, c.Duration)
	path, err := newPath(u.fd, c)
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	tx := sender{path: path, batch: c.Batch, whole: c.Send == event.SendGSO, stop: u.stop}
	if err := tx.run(kindWarmup, int64(c.Warmup)); err != nil {
		return nil, fmt.Errorf("engine: udp %v: warm-up: %w", c.server, explain(c, err))
	}
	s := search{loss: c.goal.loss, width: c.goal.width, floor: slowest(c.goal.width, c.goal.phase)}
	if err := out.begin(); err != nil {
		return nil, err
	}
	begin := now()
	var phases []event.Phase
	rate, done := s.next()
	for !done && (len(phases) == 0 || now()-begin+int64(c.goal.phase) < int64(c.Duration)) {
		p, err := u.phase(ctx, c, &tx, rate)
		if err != nil {
			return nil, err
		}
		if c.every > 0 {
			out.say("%6.2f s  %s\n", seconds(now()-begin), inWordsOf(p, s.judge(p)))
		}
		phases = append(phases, p)
		s.add(p)
		rate, done = s.next()
	}
	window := now() - begin
	if err := out.end(); err != nil {
		return nil, err
	}
	return event.UDPSearch{
		Head: event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(window)),
		Loss: s.loss, Width: s.width, Length: seconds(int64(c.goal.phase)), Found: s.found(done), Phases: phases,
		Send: c.Send, Batch: c.Batch, Recv: c.Recv, Nap: seconds(int64(c.Nap)),
		DSCP: u.dscp, SndBuf: u.sndBuf, RcvBuf: u.far.RcvBuf,
	}, nil
}

// phase offers datagrams at a rate, packet/s, and asks what became of them. Requests
// and answers take the way of the datagrams, so each waits until the queues have
// drained: nothing of one phase is left in the next.
func (u *udpClient) phase(ctx context.Context, c config, tx *sender, rate float64) (p event.Phase, err error) {
	failed := func(what string, err error) (event.Phase, error) {
		return p, fmt.Errorf("engine: udp %v: %s: %w", c.server, what, err)
	}
	tx.interval = 0
	if rate > 0 {
		tx.interval = float64(time.Second) / rate
	}
	tx.first += uint64(tx.sent)
	if err := tx.run(kindWarmup, int64(settling*float64(c.goal.phase))); err != nil {
		return failed("settle", explain(c, err))
	}
	u.first = tx.first
	if err := u.ask(ctx, kindBegin, nil, nil); err != nil {
		return failed("begin", err)
	}
	if err := tx.run(kindMeasure, int64(c.goal.phase)); err != nil {
		return failed("send", explain(c, err))
	}
	var r udpReport
	if err := u.ask(ctx, kindReport, nil, &r); err != nil {
		return failed("the server's count", err)
	}
	received, err := u.received(c, tx.sent, r)
	if err != nil {
		return failed("the server's count", err)
	}
	return event.Phase{Asked: rate, Offered: tx.offered, Refused: tx.refused, Sent: tx.sent, Delivered: r.Delivered,
		Dropped: received - r.Delivered, Window: seconds(tx.took), Queue: seconds(r.Queue)}, nil
}

func inWordsOf(p event.Phase, v verdict) string {
	asked := "flat out"
	if p.Asked > 0 {
		asked = unit.Format(p.Asked, "packet/s")
	}
	return fmt.Sprintf("%s: %s sent, %s arrived, %.3g %% lost: %s", asked, unit.Format(p.Reached(), "packet/s"),
		unit.Format(p.Carried(), "packet/s"), 100*p.Lost(), v)
}
