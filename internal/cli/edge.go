package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/lang"
)

// slow is when a step that usually takes no time explains itself.
const slow = 2 * time.Second

// patiently calls f, which does not know ctx, and returns when ctx is done at the latest. The process then
// ends, and f with it.
func patiently(ctx context.Context, what lang.Text, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- caught.Error(f) }()
	late := time.NewTimer(slow)
	defer late.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-late.C:
			warn(lang.T("%s takes long, as it has many networks or cells; Ctrl-C ends it", what))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// quietPipes makes printing to a pipe without a reader an error. Otherwise it would end this process, and the
// run with it.
func quietPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// notEmpty refuses text flags that were given without text, as by an unset variable of a script: their
// default would take effect without a word.
func notEmpty(c *cobra.Command, _ []string) error {
	var errs []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty: give it a value, or leave it out", f.Name))
		}
	})
	return exit(exitUsage, errors.Join(errs...))
}
