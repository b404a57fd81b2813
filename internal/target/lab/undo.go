package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

// undoTime bounds all undo commands of a lab together.
const undoTime = 10 * time.Second

// undoLater records the command that undoes e, which ended with err. A command that
// failed half-way is undone too; then the error of its undo command is dropped.
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

// undoAll runs the recorded undo commands, the last one first.
func (l *lab) undoAll() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), undoTime, fmt.Errorf("undo commands still running after %v", undoTime))
	defer cancel()
	var errs []error
	for _, undo := range slices.Backward(l.undo) {
		errs = append(errs, undo(ctx))
	}
	l.undo = nil
	return errors.Join(errs...)
}
