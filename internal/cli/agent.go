package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/remote"
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
				return exit(exitEnvironment, joinCoordinator(c.Context(), coordinator, tokenFile))
			}
			in, from := io.Pipe() // a signal must end a read, too
			go func() {
				_, err := io.Copy(from, os.Stdin)
				from.CloseWithError(cmp.Or(err, io.EOF))
			}()
			defer context.AfterFunc(c.Context(), func() { from.CloseWithError(context.Cause(c.Context())) })()
			return exit(exitEnvironment, remote.Serve(in, os.Stdout, remove))
		},
	}
	c.Flags().StringVar(&remove, "remove", "", "directory to remove first, with the file weir in it")
	c.Flags().StringVar(&coordinator, "join", "", "coordinator to dial, HOST:PORT")
	c.Flags().StringVar(&tokenFile, "token-file", "", "with --join: file with the token of the run")
	c.Flags().BoolVar(&proxy, "kube-proxy", false, "print the mode that the kube-proxy of this machine states, and end")
	return c
}

// joinCoordinator serves the coordinator at addr as the agent of this pod.
func joinCoordinator(ctx context.Context, addr, tokenFile string) error {
	place, err := kube.PlaceOf(os.Getenv)
	if err != nil {
		return err
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	return remote.Join(ctx, addr, strings.TrimSpace(string(token)), place)
}
