package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/relay"
)

// relayCommand runs a relay, a daemon of a network like any other.
// relayCommand is the relay, a daemon like any other.
func relayCommand() *cobra.Command {
	var c relay.Config
	var neighbours []string
	cmd := &cobra.Command{
		Use:    "relay DEVICE --neighbour LOCAL,REMOTE[,DELAY]...",
		Short:  "Relay the frames of a TAP device to neighbours over UDP, until SIGTERM",
		Hidden: true,
		Args:   args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, as []string) error {
			c.Dev = as[0]
			for _, n := range neighbours {
				neighbour, err := relay.ParseNeighbour(n)
				if err != nil {
					return usage("--neighbour %s: %w", n, err)
				}
				c.Neighbours = append(c.Neighbours, neighbour)
			}
			if c.Wait < 0 || c.Wait > time.Second {
				return usage("invalid --wait %v: want 0 to 1s", c.Wait)
			}
			count, err := relay.Run(cmd.Context(), c, os.Stdout)
			if err != nil {
				return exit(exitEnvironment, fmt.Errorf("relay: %w", err))
			}
			return printJSON(os.Stdout, count)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&neighbours, "neighbour", nil, "local address and port, those of an adjacent relay, and optionally a delay for what is sent there")
	f.BoolVar(&c.Encrypt, "encrypt", false, "seal frames with NaCl's box; keys are exchanged in the open")
	f.DurationVar(&c.Wait, "wait", 0, "how long a frame can wait for others (default: while more can be read at once)")
	return cmd
}
