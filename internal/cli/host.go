package cli

import (
	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/lab"
)

// hostCommand is what programs that weir runs need of the host they run on.
func hostCommand() *cobra.Command {
	c := &cobra.Command{
		Use:    "host",
		Short:  "Plumbing for programs of a trial",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return usage("weir host is not for people")
		},
	}
	c.AddCommand(&cobra.Command{
		Use:                "rsh CPUS NAMESPACE HOST COMMAND...",
		Short:              "Run a shell command in another namespace of the lab",
		DisableFlagParsing: true, // what follows belongs to the command
		RunE: func(_ *cobra.Command, as []string) error {
			if len(as) < 4 {
				return usage("weir host rsh CPUS NAMESPACE HOST COMMAND...")
			}
			// The namespace says where; HOST is the caller's name for it.
			return exit(exitEnvironment, lab.Rsh(as[0], as[1], as[3:]))
		},
	})
	return c
}
