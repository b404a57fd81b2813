package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/store"
)

// An explaining is what the flags of weir explain say.
type explaining struct {
	refutation
	json, md, behind, test bool
}

func explainCommand(version string) *cobra.Command {
	e := explaining{refutation: refutation{version: version}}
	c := &cobra.Command{
		Use:   "explain DIR",
		Short: "Say why each network of a run costs what it costs",
		Long: `Say in at most six statements per network what limits it, what a packet costs there, and
what would change if the cause were gone, with intervals and, where a run can refute it,
with how. Nothing is said about a cause without an effect.

--test runs what "Refuted if" asks for: for every such statement, the network as it
was found and the same network without the supposed cause, in paired blocks, in a lab
on this machine. The verdict is one of these:

  stands          the change is there, and as large as predicted
  refuted         the interval excludes the predicted change; exit status 1
  open            the interval decides nothing: give it more --max-time, or --blocks
  not reproduced  the network, built anew, does not show what was found

The runs are stored in DIR/tests; weir explain and weir report then show the verdicts.
Interrupted, the same command continues. For machines and clusters, weir only prints
the commands that remove the cause there.`,
		Example: `  weir explain results
  weir explain results --evidence --network vxlan-overlay
  weir explain results --test --fast
  weir explain results --test --hypothesis mine.json`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			return e.run(c.Context(), as[0], c.Flags().Changed("blocks"), c.Flags().Changed("max-time"))
		},
	}
	c.Flags().BoolVar(&e.json, "json", false, "print JSON")
	c.Flags().BoolVar(&e.md, "md", false, "print Markdown")
	c.Flags().StringVar(&e.network, "network", "", "explain only this network")
	c.Flags().BoolVarP(&e.behind, "evidence", "v", false, "also print the evidence behind each statement, and statements beyond the first six")
	c.Flags().BoolVar(&e.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&e.test, "test", false, "run what could refute each statement, in a lab on this machine")
	c.Flags().BoolVar(&e.fast, "fast", false, "with --test: short windows")
	c.Flags().IntVar(&e.blocks, "blocks", 8, "with --test: passes through the cells of each run; unless you give it, weir adds as many as the verdict needs")
	c.Flags().DurationVar(&e.maxTime, "max-time", 3*time.Minute, "with --test: time limit of each run")
	c.Flags().StringVar(&e.hypotheses, "hypothesis", "", "with --test: JSON file with findings of your own to test instead (docs/adr/0043)")
	return c
}

// run explains the run in a directory, or tests what it says. blocksGiven and timeGiven say which flags the user gave.
func (e explaining) run(ctx context.Context, dir string, blocksGiven, timeGiven bool) (err error) {
	switch {
	case e.json && e.md:
		return usage("--json and --md cannot be combined")
	case !e.test && (e.fast || blocksGiven || timeGiven || e.hypotheses != ""):
		return usage("--fast, --blocks, --max-time and --hypothesis are for --test: add it")
	case blocksGiven && timeGiven:
		return usage("--max-time limits the blocks that weir plans, and --blocks says how many; leave one out")
	case e.maxTime <= 0:
		return usage("invalid --max-time %v: want more than 0s", e.maxTime)
	case e.blocks < 1 || e.blocks > mostBlocks:
		return usage("invalid --blocks %d: want 1 to %d", e.blocks, mostBlocks)
	}
	if e.rep, err = explained(dir, e.keep); err != nil {
		return err
	}
	if all := e.rep.Analysis.Networks; e.network != "" && !slices.Contains(all, e.network) {
		return usage("--network %s: %s has no such network, only %s", e.network, dir, strings.Join(all, ", "))
	}
	e.dir = dir
	if blocksGiven {
		e.maxTime = 0
	}
	if e.test {
		return e.refutation.run(ctx, e.json, e.md)
	}
	warn(e.rep.Problems...)
	page, x := section.Explanation(e.rep, e.network, e.behind)
	switch {
	case e.json:
		return printJSON(os.Stdout, x)
	case e.md:
		return render.Markdown(os.Stdout, spoken(page))
	}
	return render.Text(os.Stdout, spoken(page), width())
}

// mostBlocks is the most blocks of a study.
const mostBlocks = 100_000

// explained reads the results of a single run and the verdicts on them.
func explained(dir string, keep bool) (*account.Account, error) {
	runs, err := store.Runs(dir)
	if err != nil {
		return nil, usage("cannot read results from %w", err)
	}
	if runs[0] != dir {
		return nil, usage("%s holds a series of %d runs, and an explanation is of one; give one of them, such as %s", dir, len(runs), runs[0])
	}
	return load(dir, keep)
}
