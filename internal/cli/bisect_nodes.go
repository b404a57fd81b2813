package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job/bisection"
)

// bisectNodesFlags are the flags of weir run --kube that a comparison of nodes takes.
var bisectNodesFlags = []string{"context", "namespace", "image", "shell-image", "pull-secret", "tolerations", "port", "program"}

func bisectNodes(version string) *cobra.Command {
	f := &bisectFlags{}
	var pairs int
	c := &cobra.Command{
		Use:   "nodes LABEL=GOOD LABEL=BAD",
		Short: "Find out whether nodes with one label are slower than nodes with another",
		Long: `Find out whether the nodes of a Kubernetes cluster with one label differ from those with
another in what a network costs, and in which settings the nodes differ.

weir measures between two nodes of each group, in different zones if possible. A
comparison is --pairs pairs of short runs: in each pair, the same study runs once on the
nodes of each group, in random order. weir goes on until it is as sure as --certainty says
that the groups differ, or that they do not. Every run is an ordinary results directory
in -o, and bisect.html is a page about all of them. After an interruption, --resume or the
same command with -o continues.

The page lists what else differs between the groups, as far as the runs recorded it. This
comparison does not show which of it is the cause; weir explain says what limits a run of
the slower nodes.`,
		Example: `  weir bisect nodes pool=old pool=new -n pod -p tcp-stream
  weir bisect nodes node.kubernetes.io/instance-type=m5.large node.kubernetes.io/instance-type=m6i.large -n host -p udp-rr`,
		RunE: func(c *cobra.Command, as []string) error {
			f.o.Caller, f.o.Output = caller(version), os.Stderr
			if err := f.nodes(c, as, pairs); err != nil {
				return err
			}
			return f.search(c)
		},
	}
	f.register(c, bisectNodesFlags...)
	c.Flags().IntVar(&pairs, "pairs", usualPairs, "pairs of runs in a comparison")
	c.Flags().Lookup("blocks").Usage += "; of each run, here 2 unless you give it"
	return c
}

// nodes reads what to compare, unless a directory holds it.
func (f *bisectFlags) nodes(c *cobra.Command, as []string, pairs int) error {
	if f.o.Resume != "" {
		return f.resumes(c, as)
	}
	if len(as) != 2 || as[0] == as[1] {
		return usage("%s: want two labels, those of the good nodes and of the bad ones, as in: weir bisect nodes pool=old pool=new -n pod -p tcp-stream", counted(len(as), "argument"))
	}
	for _, label := range as {
		if key, value, ok := strings.Cut(label, "="); !ok || key == "" || value == "" || strings.ContainsAny(label, ", !()") {
			return usage("invalid label %q: want KEY=VALUE, as kubectl get nodes --show-labels shows it", label)
		}
	}
	if pairs < 2 || pairs > mostPairs {
		return usage("invalid --pairs %d: want 2 to %d", pairs, mostPairs)
	}
	f.study.target.inKube = true
	if err := f.measured(c); err != nil {
		return err
	}
	if f.of == "" && !c.Flags().Changed("blocks") {
		f.o.Study.Blocks = blocksOfRuns
	}
	var err error
	f.o.Nodes, err = bisection.NodeGroups(c.Context(), *f.o.Study.Target.Kube, [2]string(as), pairs)
	return err
}
