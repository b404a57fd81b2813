package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/store"
)

// seriesFlags are the flags of a series of runs.
type seriesFlags struct {
	runs  int
	every time.Duration
}

func (f *seriesFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.runs, "runs", 1, "number of complete runs, each with its own networks, engines and random order; the report pools them")
	c.Flags().DurationVar(&f.every, "every", 0, "with --runs: time from the start of one run to the start of the next, idle in between; 0: back to back")
}

func (f *seriesFlags) check(c *cobra.Command) error {
	switch {
	case f.runs < 1 || f.runs > store.MaxRuns:
		return usage("invalid --runs %d: want 1 to %d", f.runs, store.MaxRuns)
	case f.every < 0:
		return usage("invalid --every %v: want 0 (back to back) or more", f.every)
	case c.Flags().Changed("every") && !c.Flags().Changed("runs"):
		return usage("--every %v is the time between the starts of several runs; add --runs N", f.every)
	}
	return nil
}
