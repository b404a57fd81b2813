package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/cli/progress"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
)

func watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch [DIR]",
		Short: "Show the progress of a run that another process writes",
		Long: `Show the progress of a run, or of a series of runs, that another weir on this
machine writes to DIR, until it ends: on a terminal with each network's ratio to the
baseline so far, whose interval narrows as blocks arrive, and otherwise a line per
block. It reads the directory once a second and changes nothing. Without DIR, it
watches the newest run in weir-results and in this directory.

Exit status: 0 the run is complete; 3 it ended before it wrote its report.`,
		Example: `  weir run -o results & weir watch results
  ssh lab1 -t weir watch results`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			dirs, err := orNewest(as)
			if err != nil {
				return err
			}
			w := progress.NewWatcher(os.Stdout, language, width())
			defer w.End()
			report, err := job.Watch(c.Context(), dirs[0], w.Show)
			if err != nil {
				return err
			}
			fmt.Println(said(lang.T("report: %s", report)))
			return nil
		},
	}
}
