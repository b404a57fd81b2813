package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

// undoTime bounds how long the commands that undo others may take, all together.
const undoTime = 10 * time.Second

// undoLater remembers what undoes e, which ended with err. What has failed half-way
// is undone, too; that this fails then is no news.
func (l *lab) undoLater(p *place, e *plan.Exec, err error) {
	if len(e.Undo) == 0 {
		return
	}
	l.undo = append(l.undo, func(ctx context.Context) error {
		_, undone := l.output(ctx, p, e.Env, e.Undo)
		if err != nil {
			return nil
		}
		return undone
	})
}

// undoAll runs what undoes the commands of the plan, the last one first.
func (l *lab) undoAll() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), undoTime, fmt.Errorf("not done within %v", undoTime))
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(l.undo) {
		errs = append(errs, undo(ctx))
	}
	l.undo = nil
	return errors.Join(errs...)
}
