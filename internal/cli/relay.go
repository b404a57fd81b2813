package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/relay"
)

func relayCommand() *cobra.Command {
	var c relay.Config
	var neighbors []string
	cmd := &cobra.Command{
		Use:    "relay DEVICE --neighbour LOCAL,REMOTE...",
		Short:  "Relay the frames of a TAP device to neighbors over UDP, until SIGTERM",
		Hidden: true,
		Args:   args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, as []string) error {
			c.Dev = as[0]
			for _, n := range neighbors {
				neighbor, err := relay.ParseNeighbor(n)
				if err != nil {
					return usage("--neighbour %s: %w", n, err)
				}
				c.Neighbors = append(c.Neighbors, neighbor)
			}
			if c.Wait < 0 || c.Wait > time.Second {
				return usage("invalid --wait %v: want 0 to 1s", c.Wait)
			}
			count, err := relay.Run(cmd.Context(), c, os.Stdout)
			if err != nil {
				return failure.Environment.Errorf("relay: %w", err)
			}
			return printJSON(os.Stdout, count)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&neighbors, "neighbour", nil, "local address and port, and those of a neighboring relay")
	f.BoolVar(&c.Encrypt, "encrypt", false, "encrypt frames with NaCl's box; relays exchange keys unauthenticated")
	f.DurationVar(&c.Wait, "wait", 0, "longest time that a frame waits for others (default: while more can be read at once)")
	return cmd
}
