package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
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
			w := watcher{progress: progress{out: os.Stdout, screen: newScreen(os.Stdout)}}
			defer w.End()
			report, err := job.Watch(c.Context(), dirs[0], w.show)
			if err != nil {
				return err
			}
			fmt.Println(said(lang.T("report: %s", report)))
			return nil
		},
	}
}

// A watcher shows a run that another process writes.
type watcher struct {
	progress
	run string // the directory of the run that it has shown
}

// show shows a look, and leaves the ratios of the last one on the screen.
func (w *watcher) show(l job.Look) {
	if l.Run != w.run {
		w.run, w.name, w.block = l.Run, l.Name, 0
	}
	if l.Last { // compute the ratios at any cost
		w.ratios.next = time.Time{}
	}
	if l.Fresh {
		w.ratios.study = l.Study
		w.ratios.update(func() ([]record.Result, error) { return l.Results, nil })
	}
	w.text = l.Text
	switch {
	case w.screen != nil:
		w.draw(l.Done, l.Total, l.Left)
	case l.Done > 0:
		w.line(l.Results[len(l.Results)-1].Block, l.Done, l.Total, l.Left)
	}
	if !l.Last {
		return
	}
	lines := w.ratios.lines(width() - echo)
	w.End()
	for _, line := range lines {
		fmt.Fprintln(w.out, strings.TrimRight(line, " "))
	}
}
