package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/pause"
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

// pauseCommand is the process of a container.
func pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "pause [IMAGE]",
		Short:  "Wait to be ended, or write the image of a container that does",
		Hidden: true,
		Args:   args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			if len(as) == 1 {
				return pause.Image(as[0])
			}
			<-c.Context().Done()
			return nil
		},
	}
}

// sweepCommand is the process that removes control groups.
func sweepCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sweep NAME",
		Hidden: true,
		Args:   args(cobra.ExactArgs(1)),
		RunE:   func(_ *cobra.Command, as []string) error { return cgroup.Sweep(as[0]) },
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
