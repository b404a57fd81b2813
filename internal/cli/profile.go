package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
)

// samplerCommand samples the CPUs of its machine until its standard input ends, which names a window, and prints the
// samples in it.
func samplerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sampler",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return exit(exitEnvironment, job.Sample(os.Stdin, os.Stdout))
		},
	}
}
