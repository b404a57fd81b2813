package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/failure"
)

// quietPipes makes printing to a pipe without a reader an error. Otherwise it would end this process, and the
// run with it.
func quietPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// notEmpty refuses text flags with an empty value, for example from an unset variable of a script: their default would
// silently take effect.
func notEmpty(c *cobra.Command, _ []string) error {
	var errs []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s is empty: give it a value, or leave it out", f.Name))
		}
	})
	return failure.Usage.Of(errors.Join(errs...))
}
