package cli

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/kubeapi"
	"github.com/weir-bench/weir/internal/plan"
)

func kubeAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:    "kube-api ADDRESS FILE",
		Short:  "Stand in for a Kubernetes API server with the Services of a file, until SIGTERM",
		Hidden: true,
		Args:   args(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, as []string) error {
			b, err := os.ReadFile(as[1])
			if err != nil {
				return failure.Environment.Of(err)
			}
			var objects plan.KubeObjects
			if err := json.Unmarshal(b, &objects); err != nil {
				return usage("%s: %w", as[1], err)
			}
			return failure.Environment.Of(kubeapi.Run(c.Context(), as[0], objects, os.Stdout))
		},
	}
}
