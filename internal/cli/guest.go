package cli

import (
	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/guest"
)

// guestCommand is process 1 of a virtual machine.
func guestCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "guest",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			guest.Init()
			return nil
		},
	}
}
