package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weir-bench/weir/internal/engine/event"
)

// maxOrder is longer than any order, bytes.
const maxOrder = 64 << 10

// Agent is `weir engine agent`: an engine that stays, so that a measurement does not
// wait for a process to start. Every line of stdin is an order: a JSON array with the
// arguments of another command, such as ["run","udp-rr","10.64.2.1:5202"]. The agent
// prints what that command prints, and exactly one result or error per order. It ends
// with stdin.
//
// An agent expects open servers (admit.go) at literal addresses.
func Agent(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	orders := bufio.NewScanner(stdin)
	orders.Buffer(nil, maxOrder)
	for orders.Scan() {
		var args []string
		err := json.Unmarshal(orders.Bytes(), &args)
		if err != nil {
			err = fmt.Errorf("%w: invalid order, want a JSON array of strings: %w", ErrUsage, err)
		} else {
			err = command(ctx, args, &events{w: stdout, order: true}, stderr)
		}
		if ctx.Err() != nil {
			return err
		}
		// The command has printed every other error itself.
		if errors.Is(err, ErrUsage) {
			if err := (events{w: stdout}).print(event.Error{Event: event.KindError, Error: err.Error()}); err != nil {
				return err
			}
		}
	}
	if err := orders.Err(); err != nil {
		return fmt.Errorf("engine: orders: %w", err)
	}
	return nil
}
