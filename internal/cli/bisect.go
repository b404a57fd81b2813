package cli

import (
	"github.com/spf13/cobra"
)

func bisectCommand(version string) *cobra.Command {
	c := &cobra.Command{
		Use:   "bisect commits|kernels|nodes|settings",
		Short: "Find what made it slower: the commit, the kernel, the nodes or the setting that changed what a study measures",
		Long: `Find what changed what a study measures. Each comparison is a run in which both sides
alternate, and weir chooses the one that tells the most.`,
		Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("missing what to search in: commits, kernels, nodes or settings; see %s --help", c.CommandPath())
		},
		Example: `  weir bisect commits v0.25.0 v0.28.4 -n flannel-udp -p tcp-stream -- go build -o {programs}/flanneld .
  weir bisect kernels ~/kernels/6.1 ~/kernels/6.12 -n bridge -p tcp-rr
  weir bisect nodes pool=old pool=new -n pod -p tcp-stream
  weir bisect settings before after`,
	}
	c.AddCommand(bisectCommits(version), bisectKernels(version), bisectNodes(version), bisectSettings(version))
	return c
}
