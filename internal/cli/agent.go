package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
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
				return failure.Environment.Of(err)
			}
			if coordinator != "" {
				return failure.Environment.Of(job.JoinCoordinator(c.Context(), coordinator, tokenFile))
			}
			return failure.Environment.Of(job.ServeAgent(c.Context(), os.Stdin, os.Stdout, remove))
		},
	}
	c.Flags().StringVar(&remove, "remove", "", "directory to remove first, with the file weir in it")
	c.Flags().StringVar(&coordinator, "join", "", "coordinator to dial, HOST:PORT")
	c.Flags().StringVar(&tokenFile, "token-file", "", "with --join: file with the token of the run")
	c.Flags().BoolVar(&proxy, "kube-proxy", false, "print the mode that the kube-proxy of this machine states, and end")
	return c
}

// tapCommand runs in a node.
func tapCommand() *cobra.Command {
	var shared bool
	c := &cobra.Command{
		Use:    "tap",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE:   func(*cobra.Command, []string) error { return job.Tap(os.Stdin, os.Stdout, shared) },
	}
	c.Flags().BoolVar(&shared, "shared", false, "keep only packets of the engine")
	return c
}

// samplerCommand samples the CPUs of its machine until its standard input ends. That input names a window, and the
// command prints the samples in it.
func samplerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sampler",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return failure.Environment.Of(job.Sample(os.Stdin, os.Stdout))
		},
	}
}
