package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

// prints runs a command in p and checks its output.
func (l *lab) prints(ctx context.Context, p *place, o plan.Output) error {
	if err := l.state(p); err != nil {
		return err
	}
	out, err := l.output(ctx, p, nil, o.Argv)
	if err == nil {
		err = o.Check(out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// await repeats a command until it prints what the plan expects. It fails when a
// service ends meanwhile or the time is up.
func (l *lab) await(ctx context.Context, p *place, a *plan.Await) error {
	limit := time.Duration(a.Seconds()) * time.Second
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	last := fmt.Errorf("%s is still running", a.Argv[0])
	for {
		err := l.prints(wait, p, a.Output)
		if err == nil {
			return nil
		}
		if wait.Err() == nil { // otherwise err only says that the time is up
			last = err
		}
		if err := l.ended(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-wait.Done():
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return fmt.Errorf("condition not met within %v: %w%s", limit, last, l.said(p.name))
		}
	}
}
