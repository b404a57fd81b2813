package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/distance"
	"github.com/weir-bench/weir/internal/failure"
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
