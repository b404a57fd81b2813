package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
)

// explainFlags say what to explain, and how to test that.
type explainFlags struct {
	network, hypotheses                string
	json, md, behind, keep, test, fast bool
	blocks                             int
	maxTime                            time.Duration
}

func explainCommand(version string) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain [DIR]",
		Short: "Say why each network of a run costs what it costs",
		Long: `Say in at most six statements per network what limits it, what a packet costs there, and
what would change if the cause were gone, with intervals and, where a run can refute a
statement, how. Nothing is said about a cause without an effect. Without DIR, explain the
newest run in weir-results and in this directory.

--test runs what "Refuted if" asks for: for every such statement, the network as it
was found and the same network without the supposed cause, in paired blocks, in a lab
on this machine. The verdict is one of these:

  stands          the change is there, and as large as predicted
  refuted         the interval excludes the predicted change; exit status 1
  open            the interval decides nothing: give it more --max-time, or --blocks
  not reproduced  the network, built anew, does not show what was found

The runs are stored in DIR/tests; weir explain and weir report then show the verdicts.
After an interruption, the same command continues. For machines and clusters, weir
only prints the commands that remove the cause there.`,
		Example: `  weir explain results
  weir explain results --evidence --network vxlan-overlay
  weir explain results --test --fast
  weir explain results --test --hypothesis mine.json`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			dirs, err := orNewest(as)
			if err != nil {
				return err
			}
			return f.explain(c, dirs[0], version)
		},
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&f.md, "md", false, "print Markdown")
	c.Flags().StringVar(&f.network, "network", "", "explain only this network")
	c.Flags().BoolVarP(&f.behind, "evidence", "v", false, "also print the evidence behind each statement, and statements beyond the first six")
	c.Flags().BoolVar(&f.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&f.test, "test", false, "run what could refute each statement, in a lab on this machine")
	c.Flags().BoolVar(&f.fast, "fast", false, "with --test: short windows")
	c.Flags().IntVar(&f.blocks, "blocks", 8, "with --test: passes through the cells of each run; unless you give it, weir adds as many as the verdict needs")
	c.Flags().DurationVar(&f.maxTime, "max-time", 3*time.Minute, "with --test: time limit of each run")
	c.Flags().StringVar(&f.hypotheses, "hypothesis", "", "with --test: JSON file with findings of your own to test instead (docs/adr/0043)")
	return c
}

// mostBlocks is the most blocks of a study.
const mostBlocks = 100_000

func (f *explainFlags) check(c *cobra.Command) error {
	switch {
	case f.json && f.md:
		return usage("--json and --md cannot be combined")
	case !f.test && (f.fast || c.Flags().Changed("blocks") || c.Flags().Changed("max-time") || f.hypotheses != ""):
		return usage("--fast, --blocks, --max-time and --hypothesis are for --test: add it")
	case c.Flags().Changed("blocks") && c.Flags().Changed("max-time"):
		return usage("--max-time limits the blocks that weir plans, and --blocks says how many; leave one out")
	case f.maxTime <= 0:
		return usage("invalid --max-time %v: want more than 0s", f.maxTime)
	case f.blocks < 1 || f.blocks > mostBlocks:
		return usage("invalid --blocks %d: want 1 to %d", f.blocks, mostBlocks)
	}
	return nil
}

// explain explains the run in dir, or tests what is said about it.
func (f *explainFlags) explain(c *cobra.Command, dir, version string) error {
	a, err := job.Single(dir, f.keep)
	if err != nil {
		return err
	}
	if all := a.Analysis.Networks; f.network != "" && !slices.Contains(all, f.network) {
		return usage("--network %s: %s has no such network%s", f.network, dir, cmp.Or(meant(f.network, all), ", only "+strings.Join(all, ", ")))
	}
	if f.test {
		o := job.RefuteOptions{Caller: caller(version), Account: a, Network: f.network, Hypotheses: f.hypotheses, Fast: f.fast, Keep: f.keep, Blocks: f.blocks, MaxTime: f.maxTime}
		if c.Flags().Changed("blocks") {
			o.MaxTime = 0
		}
		return f.refute(c.Context(), o)
	}
	tell.Warn(a.Problems...)
	page, x := section.Explanation(a, f.network, f.behind)
	return f.print(page, x)
}

// print prints a page, or in JSON what it says.
func (f *explainFlags) print(page *doc.Document, says any) error {
	switch {
	case f.json:
		return printJSON(os.Stdout, says)
	case f.md:
		return render.Markdown(os.Stdout, spoken(page))
	}
	return render.Text(os.Stdout, spoken(page), width())
}

// refute runs what can refute the statements about a run, or prints how the user can do so.
func (f *explainFlags) refute(ctx context.Context, o job.RefuteOptions) error {
	r, err := job.PlanRefutation(o)
	switch {
	case err != nil:
		return err
	case len(r.Statements) == 0:
		tell.Warn(lang.T("nothing to test: no run could refute what weir explain %s says", o.Account.Dir))
		return nil
	case o.Account.Target.Exists():
		return printByHand(r)
	}
	return place.Lab.Enter(ctx, func() error {
		verdicts, err := r.Run(ctx)
		if err != nil {
			return err
		}
		if err := f.print(section.Verdicts(verdicts), verdicts); err != nil {
			return err
		}
		refuted := 0
		for _, v := range verdicts {
			if v.Outcome == explain.Refuted {
				refuted++
			}
		}
		if refuted > 0 {
			return fmt.Errorf("%d of %d statements are refuted", refuted, len(verdicts))
		}
		return nil
	})
}

// printByHand prints what the user would run on machines that weir does not change.
func printByHand(r *job.Refutation) error {
	all, err := r.ByHand()
	if err != nil {
		return err
	}
	dir := r.Account.Dir
	fmt.Println(said(lang.T("weir changes nothing on %s. To test a statement, remove the supposed cause yourself:", place.About(r.Account.Target))))
	for _, t := range all {
		fmt.Printf("\n%s: %s\n", t.Cells[0].Network, t.Statement)
		for _, s := range t.Steps {
			fmt.Printf("  %s\n    %s\n", said(lang.T("on %s:", s.Where)), strings.Join(s.Commands, "\n    "))
		}
		for _, with := range t.Measure {
			fmt.Println("  " + said(lang.T("measure with %s", with)))
		}
	}
	file := plan.ShellWord(filepath.Join(dir, "study.yaml"))
	fmt.Printf("\n%s\n    weir run %s -o after\n    weir compare %s after\n", said(lang.T("Then measure again and compare:")), file, plan.ShellWord(dir))
	return nil
}
