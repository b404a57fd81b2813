package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/published"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/record"
)

func reproduceCommand(version string) *cobra.Command {
	r := reproduction{version: version}
	var f reproducing
	c := &cobra.Command{
		Use:   "reproduce [CLAIM…]",
		Short: "Test published figures on this machine",
		Long: `Test claims: published figures, each with a study that tests it and the bounds
within which a measurement agrees. Without arguments, list the claims.

A claim that does not hold is a finding, and the exit status is 0. It is 1 if
trials failed, and 3 if no claim could be tested. Each study stores its results in
a subdirectory of -o; to continue an interrupted reproduction, give the same -o
again.

--runs 5 --every 1h runs all studies five times, one hour from start to start, and
judges the ratios pooled over the runs. Their intervals also cover differences
between runs, which no single run can show.`,
		Example: `  weir reproduce
  weir reproduce tso-doubles-tcp udp-loses-more-than-tcp --fast
  weir reproduce --all -o reproduced
  weir reproduce vxlan-86 --runs 5 --every 10m
  weir reproduce --from results      # without measuring`,
		ValidArgsFunction: func(c *cobra.Command, as []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return complete(claimNames())(c, as, toComplete) // lazily, not whenever weir starts
		},
		RunE: func(c *cobra.Command, as []string) error { return f.run(c, &r, as) },
	}
	c.Flags().BoolVar(&f.all, "all", false, "test every claim")
	c.Flags().BoolVar(&r.fast, "fast", false, "use the fast form of each study: few blocks, short windows, wide intervals")
	c.Flags().StringArrayVar(&f.from, "from", nil, "results directory, or directory of several runs, to test claims on instead of measuring; repeatable")
	c.Flags().StringVarP(&r.dir, "output", "o", "", "directory for the results of each study (default weir-results/reproduce-TIME)")
	c.Flags().BoolVar(&r.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&r.json, "json", false, "print JSON")
	c.Flags().BoolVar(&r.md, "md", false, "print the verdicts as Markdown")
	c.Flags().StringVar(&r.junit, "junit", "", "also write a test case per claim to this file, as JUnit XML")
	c.Flags().StringVar(&f.elsewhere, "ssh", "", "")
	c.Flags().BoolVar(&f.kube, "kube", false, "")
	_ = c.Flags().MarkHidden("ssh")
	_ = c.Flags().MarkHidden("kube")
	f.many.register(c)
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagDirname("from")
	return c
}

// A reproducing is what the flags of weir reproduce say beyond the reproduction.
type reproducing struct {
	all       bool
	from      []string // results that exist
	many      seriesFlags
	elsewhere string // refused, and so is kube
	kube      bool
}

func (f reproducing) run(c *cobra.Command, r *reproduction, as []string) error {
	shipped, err := claim.Shipped()
	if err != nil {
		return err
	}
	switch {
	case f.elsewhere != "" || f.kube || asPlugin() && (f.all || len(as) > 0):
		return usage("claims are about networks that weir builds, on this machine: run weir itself, without --ssh and --kube; weir run measures machines that exist")
	case r.json && r.md:
		return usage("--json and --md cannot be combined")
	case f.all && len(as) > 0:
		return usage("--all tests every claim; it cannot be combined with names of claims")
	case f.from != nil && (r.dir != "" || r.fast || c.Flags().Changed("runs") || c.Flags().Changed("every")):
		return usage("--from tests existing results; it cannot be combined with -o, --fast, --runs or --every")
	case len(as) == 0 && !f.all && f.from == nil:
		return listClaims(shipped, r.json)
	}
	if len(as) > 0 {
		if shipped, err = choose(shipped, as); err != nil {
			return err
		}
	}
	if f.from != nil {
		return r.existing(shipped, f.from, len(as) > 0)
	}
	if err := f.many.check(c); err != nil {
		return err
	}
	r.Series = store.Series{Runs: f.many.runs, Every: f.many.every}
	return r.run(c.Context(), shipped)
}

func claimNames() []string {
	shipped, _ := claim.Shipped() // a mistake in the files is reported when they are used
	var names []string
	for _, c := range shipped {
		names = append(names, c.ID)
	}
	return names
}

func index(claims []claim.Claim, id string) int {
	return slices.IndexFunc(claims, func(c claim.Claim) bool { return c.ID == id })
}

func choose(shipped []claim.Claim, names []string) (chosen []claim.Claim, _ error) {
	for _, name := range names {
		i := index(shipped, name)
		if i < 0 {
			return nil, usage("unknown claim %q; weir reproduce lists all %d", name, len(shipped))
		}
		if index(chosen, name) < 0 {
			chosen = append(chosen, shipped[i])
		}
	}
	return chosen, nil
}

func listClaims(shipped []claim.Claim, asJSON bool) error {
	if asJSON {
		type line struct {
			claim.Claim
			Study string `json:"study"`
		}
		var lines []line
		for _, c := range shipped {
			lines = append(lines, line{c, c.Study.Name})
		}
		return printJSON(os.Stdout, lines)
	}
	rows := [][]lang.Text{{lang.T("claim"), lang.T("published"), lang.T("study"), lang.T("text of the claim")}}
	for _, c := range shipped {
		p := "–"
		if r := c.Tests[0].Published(); r > 0 {
			p = fmt.Sprintf("%.2f×", r)
		}
		rows = append(rows, []lang.Text{lang.Text(c.ID), lang.Text(p), lang.Text(c.Study.Name), lang.Stored(c.Text)})
	}
	return printColumns(os.Stdout, rows)
}

type reproduction struct {
	version              string
	dir                  string
	junit                string // file, "" for none
	fast, keep, json, md bool
	store.Series         // of every study
}

// print prints the outcomes in claim order and determines the exit status.
func (r *reproduction) print(claims []claim.Claim, outcomes []claim.Outcome, results []record.Result) error {
	if len(outcomes) == 0 {
		return exit(exitEnvironment, errors.New("these results test no claim; weir reproduce lists the claims and their studies"))
	}
	slices.SortStableFunc(outcomes, func(a, b claim.Outcome) int {
		return cmp.Compare(index(claims, a.Claim.ID), index(claims, b.Claim.ID))
	})
	// Skipped trials make claims untestable, which the table already shows.
	ran := slices.DeleteFunc(slices.Clone(results), func(x record.Result) bool { return x.Status == record.Skipped })
	var failed error
	if len(ran) > 0 {
		failed = verdict(ran)
	}
	err := writeJUnit(r.junit, "weir reproduce", claimCases(outcomes, failed))
	if err != nil {
		return exit(exitEnvironment, err)
	}
	switch {
	case r.json:
		err = printJSON(os.Stdout, outcomes)
	case r.md:
		err = render.Markdown(os.Stdout, spoken(published.Claims(outcomes)))
	default:
		err = render.Text(os.Stdout, spoken(published.Claims(outcomes)), width())
	}
	if err != nil {
		return err
	}
	if !r.json && !r.md && len(results) > 0 {
		fmt.Printf("\n%s\n", said(lang.T("results and reports: %s", r.dir)))
	}
	if failed != nil {
		return failed
	}
	if !slices.ContainsFunc(outcomes, func(o claim.Outcome) bool { return o.Verdict != claim.Untestable }) {
		return exit(exitEnvironment, errors.New("no claim could be tested; the table shows what is missing"))
	}
	return nil
}

// claimCases returns a check per claim, and one that is broken if trials failed.
func claimCases(outcomes []claim.Outcome, failed error) []export.Case {
	cases := export.Claims(outcomes)
	if failed != nil {
		cases = append(cases, export.Case{Class: "weir.reproduce", Name: "trials", State: export.Errored, Why: failed.Error()})
	}
	return cases
}
