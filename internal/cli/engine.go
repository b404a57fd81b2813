package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/cni"
	"github.com/weir-bench/weir/internal/engine"
	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
)

// engineCommand is the native traffic engine, a program like any other tool. Its commands parse
// their own flags because an agent uses them too.
func engineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "engine serve|run|ping",
		Short: "Measure between two machines by hand",
		Long: `The traffic generator of weir's own probes, for two machines that exist already: serve
on one, run on the other. It prints JSON lines.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("missing command: want serve, run or ping; see %s --help", c.CommandPath())
		},
		Example: "  weir engine serve                       # prints its token, for the other machine:\n  WEIR_TOKEN=… weir engine run tcp-stream ADDR",
	}
	c.AddCommand(
		engineDoes("serve [ADDR][:PORT]", "Answer the measurements of other machines", false),
		engineDoes("run WORKLOAD ADDR[:PORT]", "Measure the path to a machine that runs weir engine serve", false),
		engineDoes("ping ADDR", "Measure the time of ICMP echoes", false),
		engineDoes("nats ADDR:PORT", "Measure requests through a NATS server", true),
		engineDoes("reach ADDR:PORT", "Prove that the path carries a packet of a size", true),
		engineDoes("hog --share SHARE", "Take a share of the CPU time", true),
		engineDoes("agent", "Run commands from standard input", true),
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
			return complete(wire.Workloads)(c, as, word)
		},
		RunE: func(c *cobra.Command, as []string) error {
			err := confineEngine(as)
			if err != nil {
				return failure.Environment.Of(err)
			}
			if c.Name() == "agent" {
				err = engine.Agent(c.Context(), os.Stdin, os.Stdout, os.Stderr)
			} else {
				err = engine.Main(c.Context(), append([]string{c.Name()}, as...), os.Stdin, os.Stdout)
			}
			switch {
			case errors.Is(err, engine.ErrUsage):
				return failure.Usage.Of(err)
			case errors.Is(err, engine.ErrEnvironment):
				return failure.Environment.Of(err)
			}
			return err
		},
	}
}

// pauseCommand is the process of a container.
func pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "pause [IMAGE]",
		Short:  "Wait until stopped, or write the image of a container that does",
		Hidden: true,
		Args:   args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			if len(as) == 1 {
				return job.WriteRootFS(as[0])
			}
			<-c.Context().Done()
			return nil
		},
	}
}

// cniCommand attaches pods with CNI plugins; the plans of such networks run it.
func cniCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "cni",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, as []string) error {
			err := cni.Main(c.Context(), as, os.Stdout)
			if errors.Is(err, cni.ErrUsage) {
				return failure.Usage.Of(err)
			}
			return err
		},
	}
}

// sweepCommand is the process that removes control groups.
func sweepCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sweep NAME",
		Hidden: true,
		Args:   args(cobra.ExactArgs(1)),
		RunE:   func(_ *cobra.Command, as []string) error { return cgroup.Sweep(as[0]) },
	}
}
