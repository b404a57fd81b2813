package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/cni"
	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/hostns"
)

// engineCommand is the native traffic engine, a program like any other tool.
func engineCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "engine",
		Short:              "The native traffic engine",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, as []string) error {
			run := func() error { return engine.Main(c.Context(), as, os.Stdout, os.Stderr) }
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

// cniCommand attaches pods with CNI plugins; plans of such networks run it.
func cniCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "cni",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, as []string) error {
			err := cni.Main(c.Context(), as, os.Stdout)
			if errors.Is(err, cni.ErrUsage) {
				return exit(exitUsage, err)
			}
			return err
		},
	}
}

// hostCommand is the process that holds the namespaces of a host with daemons.
func hostCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "host",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, as []string) error { return exit(exitUsage, hostns.Main(as)) },
	}
}
