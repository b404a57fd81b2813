package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/unit"
)

var compareFormats = []string{"text", "md", "json", "github"}

// compareFlags say what is a regression, and how to print changes.
type compareFlags struct {
	bound, format, junit string
	json                 bool
}

func compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare BEFORE AFTER | compare BEFORE... -- AFTER...",
		Short: "Compare runs before and after a change; exit 1 on a regression",
		Long: `Compare what networks cost before and after a change. BEFORE and AFTER are results
directories, or directories of several runs (weir run --runs). With --, each side can
list several of either kind.

Each cell is divided by the baseline of its own run, or as the study states
(compare:), and the ratios are pooled over the runs of a side. The spread between
runs decides what counts as a change. The intervals of all cells hold together. A
cell is a regression when its whole interval is worse than the bound; the exit
status is then 1. Further tables compare the network's part of response times, own
CPU cost, and absolute values. They never fail; absolute values move with the machine.

One run a side cannot tell a change from the difference between runs, unless weir
knows the spread between runs of this machine. It then says how many runs would do,
and the exit status is 0.

--format github prints annotations for GitHub Actions, and --format md a step summary.
--junit writes a test case per cell: a regression fails, and a cell about which the
runs cannot tell is skipped. docs/ci.md has complete examples.`,
		Example: `  weir run -o before --runs 5 --every 10m
  weir run -o after --runs 5 --every 10m
  weir compare before after --max-regression 5%
  weir compare old-1 old-2 old-3 -- new-1 new-2 new-3
  weir compare before after --junit weir.xml`,
		Args: args(cobra.MinimumNArgs(2)),
		RunE: func(c *cobra.Command, as []string) error { return f.compare(as, c.ArgsLenAtDash()) },
	}
	c.Flags().StringVar(&f.bound, "max-regression", "0%", "largest regression to tolerate")
	c.Flags().StringVar(&f.format, "format", "text", "text, md, json or github (annotations)")
	c.Flags().StringVar(&f.junit, "junit", "", "also write a test case per cell to this file, as JUnit XML")
	c.Flags().BoolVar(&f.json, "json", false, "print machine-readable output (--format json)")
	_ = c.RegisterFlagCompletionFunc("format", complete(compareFormats))
	return c
}

// compare compares directories. cut is how many precede the -- that separates those before the change from those after
// it; < 0: there is no --.
func (f *compareFlags) compare(dirs []string, cut int) error {
	if f.json {
		f.format = "json"
	}
	if !slices.Contains(compareFormats, f.format) {
		return usage("unknown format %q: want %s", f.format, strings.Join(compareFormats, ", "))
	}
	most, err := unit.ParsePercent(f.bound)
	if err != nil {
		return usage("--max-regression: %w", err)
	}
	if cut < 0 && len(dirs) == 2 {
		cut = 1
	}
	if cut < 1 || cut == len(dirs) {
		return usage("cannot tell which of %d directories are before and which after: separate them with --, as in: weir compare old-1 old-2 -- new-1 new-2", len(dirs))
	}
	changes, err := job.Compare(dirs[:cut], dirs[cut:], most, tell)
	if err != nil {
		return err
	}
	if err := f.print(changes); err != nil {
		return failure.Environment.Of(err)
	}
	var worse []string
	for _, c := range changes.Changes {
		if c.Worse {
			worse = append(worse, c.String())
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse by more than %s: %s", f.bound, strings.Join(worse, "; "))
	}
	return nil
}

func (f *compareFlags) print(changes analysis.Comparison) (err error) {
	cases := export.Changes(changes)
	switch f.format {
	case "json":
		err = printJSON(os.Stdout, changes)
	case "github":
		err = export.Annotations(os.Stdout, "weir compare", cases)
	default:
		err = formats[f.format](os.Stdout, spoken(several.Comparison(changes)))
	}
	return errors.Join(err, writeJUnit(f.junit, "weir compare", cases))
}
