package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/redirect"
)

func redirectCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "redirect xdp|tcx|netkit UNDERLAY-DEVICE POD-DEVICE...",
		Short:  "Internal: forward IPv4 packets between devices by BPF programs, until SIGTERM",
		Hidden: true,
		Args:   args(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, as []string) error {
			if err := redirect.Run(cmd.Context(), as[0], as[1:], os.Stdout); err != nil {
				return exit(exitEnvironment, fmt.Errorf("redirect: %w", err))
			}
			return nil
		},
	}
}
