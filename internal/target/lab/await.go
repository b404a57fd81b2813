package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
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
	err := until(ctx, a.Seconds(), "condition not met", fmt.Errorf("%s is still running", a.Argv[0]), l.ended,
		func(ctx context.Context) error { return l.prints(ctx, p, a.Output) })
	if err == nil || errors.Is(err, target.ErrService) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w%s", err, l.said(p.name))
}
