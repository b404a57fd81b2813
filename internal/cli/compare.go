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
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/report/several"
	"github.com/weir-bench/weir/internal/unit"
)

// A comparing is what the flags of weir compare say.
type comparing struct {
	bound, format, junit string
	json                 bool
}

var compareFormats = []string{"text", "md", "json", "github"}

func compareCommand() *cobra.Command {
	var f comparing
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
		RunE: func(c *cobra.Command, as []string) error { return f.run(as, c.ArgsLenAtDash()) },
	}
	c.Flags().StringVar(&f.bound, "max-regression", "0%", "largest regression to tolerate")
	c.Flags().StringVar(&f.format, "format", "text", "text, md, json or github (annotations)")
	c.Flags().StringVar(&f.junit, "junit", "", "also write a test case per cell to this file, as JUnit XML")
	c.Flags().BoolVar(&f.json, "json", false, "print machine-readable output (--format json)")
	_ = c.RegisterFlagCompletionFunc("format", complete(compareFormats))
	return c
}

// run compares the directories before those from cut on with these; cut is -1 if the user did not separate them.
func (f comparing) run(as []string, cut int) error {
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
	if cut < 0 && len(as) == 2 {
		cut = 1
	}
	if cut < 1 || cut == len(as) {
		return usage("cannot tell which of %d directories are before and which after: separate them with --, as in: weir compare old-1 old-2 -- new-1 new-2", len(as))
	}
	a, err := loadSide(as[:cut])
	if err != nil {
		return err
	}
	b, err := loadSide(as[cut:])
	if err != nil {
		return err
	}
	return f.print(compareSides(a, b, most))
}

func compareSides(a, b side, most float64) analysis.Comparison {
	cmp := analysis.Compare(a.runs, b.runs, most)
	cmp.Differ = facts.Differ(append(a.facts, b.facts...))
	if d, ok := analysis.CoresDiffer(append(slices.Clone(a.runs), b.runs...)); ok {
		cmp.Differ = append(cmp.Differ, d)
	}
	return cmp
}

// print prints a comparison, and fails if a cell is worse.
func (f comparing) print(cmp analysis.Comparison) (err error) {
	cases := export.Changes(cmp)
	switch f.format {
	case "json":
		err = printJSON(os.Stdout, cmp)
	case "github":
		err = export.Annotations(os.Stdout, "weir compare", cases)
	default:
		err = formats[f.format](os.Stdout, spoken(several.Comparison(cmp)))
	}
	if err := errors.Join(err, writeJUnit(f.junit, "weir compare", cases)); err != nil {
		return exit(exitEnvironment, err)
	}
	var worse []string
	for _, c := range cmp.Changes {
		if c.Worse {
			worse = append(worse, c.String())
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse by more than %s: %s", f.bound, strings.Join(worse, "; "))
	}
	return nil
}

// A side is the runs before, or those after.
type side struct {
	runs  []*analysis.Run
	facts []map[string][]byte // of each run
}

// loadSide reads the runs that dirs stand for.
func loadSide(dirs []string) (s side, err error) {
	runs, err := runDirs(dirs)
	if err != nil {
		return s, err
	}
	for _, run := range runs {
		rep, err := load(run, false)
		if err != nil {
			return s, err
		}
		warn(rep.Problems...)
		s.runs = append(s.runs, rep.Analysis)
		s.facts = append(s.facts, rep.Conditions())
	}
	return s, nil
}
