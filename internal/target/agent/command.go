package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/local"
)

// maxSaid bounds what an error quotes of a command's output, bytes.
const maxSaid = 500

// command runs a command of an event, and remembers what undoes it until that has run.
func (a *agent) command(c plan.Command) error {
	if i := slices.IndexFunc(a.undo, func(u plan.Command) bool { return slices.Equal(u.Argv, c.Argv) }); i >= 0 {
		a.undo = slices.Delete(a.undo, i, i+1)
	} else if len(c.Undo) > 0 {
		a.undo = append(a.undo, plan.Command{Argv: c.Undo, Timeout: c.Timeout})
	}
	return perform(a.life, c)
}

// undone undoes what is left of events, the last one first: the coordinator is gone, or has forgotten it.
func (a *agent) undone() {
	a.acting.Lock()
	defer a.acting.Unlock()
	for _, c := range slices.Backward(a.undo) {
		_ = perform(context.Background(), c) // nobody is left to hear of a failure
	}
	a.undo = nil
}

// perform runs a command to its end, within its time. Nothing that it started outlives it.
func perform(ctx context.Context, c plan.Command) error {
	within := time.Duration(c.Seconds()) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it did not end within %v (timeout)", within))
	defer cancel()
	if len(c.Argv) == 0 {
		return errors.New("the command names no program")
	}
	cmd, tag := local.Command(ctx, c.Argv, nil)
	var said bytes.Buffer
	cmd.Dir = "/"
	cmd.Stdout = writer(func(b []byte) {
		said.Write(b)
		said.Next(max(0, said.Len()-maxSaid))
	})
	cmd.Stderr = cmd.Stdout // os/exec then has one goroutine for both
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
		tag.End(cmd.Process.Pid)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.Argv, " "), err, foreign.Text(strings.TrimSpace(said.String())))
	}
	return nil
}
