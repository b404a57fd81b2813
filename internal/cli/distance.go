package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/distance"
)

func distanceCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "distance",
		Short:  "Internal: delay and drop packets between hosts, until SIGTERM",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := distance.Run(cmd.Context(), os.Stdout); err != nil {
				return exit(exitEnvironment, fmt.Errorf("distance: %w", err))
			}
			return nil
		},
	}
}
