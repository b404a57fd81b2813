package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/engine"
)

// engineCommand is the native traffic engine, a program like any other tool. Its
// commands read their own flags, since an agent gives them too.
func engineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine serve|run|ping",
		Short: "Measure between two machines by hand",
		Long: `The traffic generator that weir's own probes use, for two machines that are there
already: serve on one, run on the other.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("one of serve, run, ping is needed; see %s --help", c.CommandPath())
		},
		Example: "  weir engine serve                       # prints what to type at the other machine:\n  WEIR_TOKEN=… weir engine run tcp-stream HOST",
	}
	c.AddCommand(
		engineDoes("serve [ADDR][:PORT]", "Answer the measurements of other machines", false),
		engineDoes("run WORKLOAD HOST[:PORT]", "Measure the path to a machine that serves", false),
		engineDoes("ping ADDR", "Measure the time of ICMP echoes", false),
		engineDoes("reach ADDR:PORT", "Prove that a packet of a size arrives", true),
		engineDoes("hog --share SHARE", "Take a share of the CPU time", true),
		engineDoes("agent", "Take commands from standard input", true),
	)
	return c
}

func engineDoes(use, short string, hidden bool) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short,
		Hidden:             hidden,
		DisableFlagParsing: true,
		ValidArgsFunction: func(c *cobra.Command, as []string, word string) ([]string, cobra.ShellCompDirective) {
			if c.Name() != "run" || len(as) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(engine.Workloads())(c, as, word)
		},
		RunE: func(c *cobra.Command, as []string) error {
			var err error
			if c.Name() == "agent" {
				err = engine.Agent(c.Context(), os.Stdin, os.Stdout, os.Stderr)
			} else {
				err = engine.Asked(c.Context(), append([]string{c.Name()}, as...), os.Stdin, os.Stdout)
			}
			switch {
			case errors.Is(err, engine.ErrUsage):
				return exit(exitUsage, err)
			case errors.Is(err, engine.ErrEnvironment):
				return exit(exitEnvironment, err)
			}
			return err
		},
	}
}
