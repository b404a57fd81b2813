package cli

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/target/remote"
)

// agentCommand is the far end of a connection to another machine, on standard input and output.
func agentCommand() *cobra.Command {
	var remove string
	c := &cobra.Command{
		Use:    "agent",
		Short:  "Internal command: serve as the agent of a machine; weir starts it itself",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
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
	return c
}
