package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/engine"
)

// engineCommand is the native traffic engine, a program like any other tool.
func engineCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "engine",
		Short:              "The native traffic engine",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, as []string) error {
			run := func() error { return engine.Asked(c.Context(), as, os.Stdin, os.Stdout, os.Stderr) }
			if len(as) == 1 && as[0] == "agent" {
				run = func() error { return engine.Agent(c.Context(), os.Stdin, os.Stdout, os.Stderr) }
			}
			err := run()
			if errors.Is(err, engine.ErrUsage) {
				return exit(exitUsage, err)
			}
			return err
		},
	}
}
