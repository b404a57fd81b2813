package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/store"
)

// attach shows a run that an earlier command has started in a cluster, until it ends.
func attach(cmd *cobra.Command, as []string, f *targetFlags, r *runner) error {
	var other []string
	cmd.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains([]string{"kube", "in-cluster", "attach", "context", "namespace", "keep", "json", "output"}, g.Name) {
			other = append(other, "--"+g.Name)
		}
	})
	if other = append(other, as...); len(other) > 0 {
		return usage("--attach looks at a run that has its study and its nodes: leave out %s", strings.Join(other, ", "))
	}
	r.study.Name = strings.TrimPrefix(f.attach, "weir-")
	r.dir = r.newDir()
	if err := store.Free(r.dir); err != nil {
		return exit(exitEnvironment, err)
	}
	r.at = place.Attached(f.kube, f.attach, tell)
	look := func(o *job.RunOptions, ctx context.Context) (*store.Dir, error) { return o.Attach(ctx, f.attach) }
	return r.at.Enter(cmd.Context(), func() error { return r.home(look, cmd.Context()) })
}
