package cli

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/relay"
)

// relayCommand is the relay, a daemon like any other.
func relayCommand() *cobra.Command {
	var c relay.Config
	var neighbours []string
	cmd := &cobra.Command{
		Use:    "relay DEVICE --neighbour LOCAL,REMOTE...",
		Short:  "Relay the frames of a TAP device to neighbours over UDP, until SIGTERM",
		Hidden: true,
		Args:   args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, as []string) error {
			c.Dev = as[0]
			for _, n := range neighbours {
				l, r, _ := strings.Cut(n, ",")
				local, err := netip.ParseAddrPort(l)
				if err != nil {
					return usage("--neighbour %s: %w", n, err)
				}
				remote, err := netip.ParseAddrPort(r)
				if err != nil {
					return usage("--neighbour %s: %w", n, err)
				}
				c.Neighbours = append(c.Neighbours, relay.Neighbour{Local: local, Remote: remote})
			}
			if c.Delay < 0 || c.Delay > time.Second {
				return usage("--delay %v is outside 0..1s", c.Delay)
			}
			count, err := relay.Run(cmd.Context(), c, os.Stdout)
			if err != nil {
				return exit(exitEnvironment, fmt.Errorf("relay: %w", err))
			}
			return printJSON(os.Stdout, count)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&neighbours, "neighbour", nil, "address and port here, and of a relay next to this one")
	f.BoolVar(&c.Encrypt, "encrypt", false, "seal frames with NaCl's box; keys are exchanged in the open")
	f.DurationVar(&c.Delay, "delay", 0, "how long a frame may wait for others (default: while more can be read at once)")
	return cmd
}
