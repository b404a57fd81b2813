package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// undoTime bounds how long the commands that undo others may take, all together.
const undoTime = 10 * time.Second

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
