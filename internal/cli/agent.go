package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/target/kube"
)

// agentCommand is the far end of a connection to another machine: on standard input and output, or to a
// coordinator that it dials.
func agentCommand() *cobra.Command {
	var remove, coordinator, tokenFile string
	var proxy bool
	c := &cobra.Command{
		Use:    "agent",
		Short:  "Internal command: serve as the agent of a machine; weir starts it itself",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if proxy {
				mode, err := kube.AskProxy(c.Context(), kube.ProxyAddr)
				fmt.Print(mode)
				return exit(exitEnvironment, err)
			}
			if coordinator != "" {
				return exit(exitEnvironment, job.JoinCoordinator(c.Context(), coordinator, tokenFile))
			}
			return exit(exitEnvironment, job.ServeAgent(c.Context(), os.Stdin, os.Stdout, remove))
		},
	}
	c.Flags().StringVar(&remove, "remove", "", "directory to remove first, with the file weir in it")
	c.Flags().StringVar(&coordinator, "join", "", "coordinator to dial, HOST:PORT")
	c.Flags().StringVar(&tokenFile, "token-file", "", "with --join: file with the token of the run")
	c.Flags().BoolVar(&proxy, "kube-proxy", false, "print the mode that the kube-proxy of this machine states, and end")
	return c
}
