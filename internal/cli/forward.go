package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/distance"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/redirect"
)

// forwarder is a program that plans run on hosts until they end it.
func forwarder(use, short string, as cobra.PositionalArgs, run func(ctx context.Context, as []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Hidden: true, Args: args(as), RunE: func(c *cobra.Command, as []string) error {
		if err := run(c.Context(), as); err != nil {
			return failure.Environment.Errorf("%s: %w", c.Name(), err)
		}
		return nil
	}}
}

func distanceCommand() *cobra.Command {
	return forwarder("distance", "Internal: delay and drop packets between hosts, until SIGTERM", cobra.NoArgs,
		func(ctx context.Context, _ []string) error { return distance.Run(ctx, os.Stdout) })
}

func redirectCommand() *cobra.Command {
	return forwarder("redirect af-xdp|xdp|tcx|netkit UNDERLAY-DEVICE POD-DEVICE...", "Internal: forward packets between devices by BPF programs, until SIGTERM",
		cobra.MinimumNArgs(2), func(ctx context.Context, as []string) error { return redirect.Run(ctx, as[0], as[1:], os.Stdout) })
}

// outliveCommand runs a program that removes what an interrupted command made elsewhere, after that command has ended.
func outliveCommand() *cobra.Command {
	return &cobra.Command{Use: "outlive TIME COMMAND...", Short: "Internal: run a command for a bounded time", Hidden: true, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, as []string) error {
			if len(as) < 2 {
				return usage("weir outlive TIME COMMAND...")
			}
			limit, err := time.ParseDuration(as[0])
			if err != nil {
				return usage("weir outlive: %w", err)
			}
			return failure.Environment.Of(place.Remove(c.Context(), limit, as[1:]))
		}}
}
