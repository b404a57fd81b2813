package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
)

func indexCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "index DIR",
		Short: "Write a page of all runs below a directory",
		Long: fmt.Sprintf(`Write DIR/index.html: a page of all runs and series below DIR, the newest first, with
time, machine, study, answer and a link to each report. It needs no server. Runs that
are incomplete or cannot be read are listed with the reason.

weir looks %d directories deep, does not follow symbolic links, and replaces an
index.html only if it wrote it.`, job.IndexDepth),
		Example: `  weir index weir-results`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, as []string) error {
			file, runs, err := job.Index(as[0], language)
			if err != nil {
				return err
			}
			fmt.Println(said(lang.T("index of %d runs: %s", runs, file)))
			return nil
		},
	}
}
