package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/report"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

func reproduceCommand(version string) *cobra.Command {
	r := reproduction{version: version}
	var all bool
	var from []string
	c := &cobra.Command{
		Use:   "reproduce [CLAIM…]",
		Short: "Test published figures on this machine",
		Long: `Test claims: published figures, each with a study that tests it and the bounds
within which a measurement agrees. Without arguments, list the claims.

A claim that does not hold is a finding, and the exit status is 0. It is 1 if
trials failed, and 3 if no claim could be tested. Each study stores its results in
a subdirectory of -o; to continue an interrupted reproduction, give the same -o
again.`,
		Example: `  weir reproduce
  weir reproduce tso-doubles-tcp udp-loses-more-than-tcp --fast
  weir reproduce --all -o reproduced
  weir reproduce --from results      # without measuring`,
		ValidArgsFunction: func(c *cobra.Command, as []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return complete(claimNames())(c, as, toComplete) // lazily, not whenever weir starts
		},
		RunE: func(c *cobra.Command, as []string) error {
			shipped, err := claim.Shipped()
			if err != nil {
				return err
			}
			switch {
			case r.json && r.md:
				return usage("--json and --md cannot be combined")
			case all && len(as) > 0:
				return usage("--all tests every claim; it cannot be combined with names of claims")
			case from != nil && (r.dir != "" || r.fast):
				return usage("--from tests existing results; it cannot be combined with -o or --fast")
			case len(as) == 0 && !all && from == nil:
				return listClaims(shipped, r.json)
			}
			if len(as) > 0 {
				if shipped, err = choose(shipped, as); err != nil {
					return err
				}
			}
			if from != nil {
				return r.existing(shipped, from, len(as) > 0)
			}
			return r.run(c.Context(), shipped)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "test every claim")
	c.Flags().BoolVar(&r.fast, "fast", false, "use the fast form of each study: few blocks, short windows, wide intervals")
	c.Flags().StringArrayVar(&from, "from", nil, "results directory to test claims on instead of measuring; repeatable")
	c.Flags().StringVarP(&r.dir, "output", "o", "", "directory for the results of each study (default weir-results/reproduce-TIME)")
	c.Flags().BoolVar(&r.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&r.json, "json", false, "print JSON")
	c.Flags().BoolVar(&r.md, "md", false, "print the verdicts as Markdown")
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagDirname("from")
	return c
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
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "claim\tpublished\tstudy\ttext")
	for _, c := range shipped {
		p := "–"
		if r := c.Tests[0].Published(); r > 0 {
			p = fmt.Sprintf("%.2f×", r)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.ID, p, c.Study.Name, c.Text)
	}
	return w.Flush()
}

type reproduction struct {
	version              string
	dir                  string
	fast, keep, json, md bool
}

// existing tests claims on existing results. A claim can have an outcome per run. With asked,
// claims that no run tests get one as well.
func (r *reproduction) existing(claims []claim.Claim, dirs []string, asked bool) error {
	var outcomes []claim.Outcome
	for _, dir := range dirs {
		for _, one := range runsIn(dir) {
			rep, err := load(one, r.keep)
			if err != nil {
				return err
			}
			warn(rep.Problems)
			for _, o := range rep.Claims {
				if index(claims, o.Claim.ID) >= 0 {
					outcomes = append(outcomes, o)
				}
			}
		}
	}
	if asked {
		outcomes = append(outcomes, untested(claims, outcomes, "these results do not test it")...)
	}
	return r.print(claims, outcomes, nil)
}

// runsIn returns dir, or the results directories below it if dir is that of a reproduction.
func runsIn(dir string) []string {
	below, _ := filepath.Glob(filepath.Join(dir, "*", "results.jsonl")) // a bad pattern matches nothing
	if _, err := os.Stat(filepath.Join(dir, "study.yaml")); err == nil || len(below) == 0 {
		return []string{dir}
	}
	for i, file := range below {
		below[i] = filepath.Dir(file)
	}
	return below
}

// run runs each study that tests claims once.
func (r *reproduction) run(ctx context.Context, claims []claim.Claim) error {
	var outcomes []claim.Outcome
	var studies []study.Study
	for _, c := range claims {
		if err := missing(c); err != nil {
			outcomes = append(outcomes, c.Cannot(err.Error()))
			continue
		}
		if slices.ContainsFunc(studies, func(s study.Study) bool { return s.Name == c.Study.Name }) {
			continue
		}
		s := catalog.Available(c.Study)
		if r.fast {
			s = s.Faster()
		}
		s.KeepDisturbed = s.KeepDisturbed || r.keep
		if err := check(s); err != nil {
			return err
		}
		studies = append(studies, s)
	}
	if len(studies) == 0 {
		return r.print(claims, outcomes, nil)
	}
	return inLab(ctx, func() error {
		results, measured, err := r.measure(ctx, studies, claims)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, measured...)
		outcomes = append(outcomes, untested(claims, outcomes, "the existing results are from another form of the study")...)
		return r.print(claims, outcomes, results)
	})
}

func missing(c claim.Claim) error {
	for _, cell := range c.Cells() {
		if err := catalog.Missing(c.Study, study.Cell{Network: cell.Network, Probe: cell.Probe, Levels: cell.Levels}); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the missing trials of each study, and returns all trials and the outcomes of their
// claims.
func (r *reproduction) measure(ctx context.Context, studies []study.Study, claims []claim.Claim) (all []record.Result, outcomes []claim.Outcome, _ error) {
	if r.dir == "" {
		r.dir = filepath.Join("weir-results", "reproduce-"+time.Now().Format("20060102-150405"))
	}
	for i, s := range studies {
		fmt.Fprintf(os.Stderr, "study %d of %d: %s\n", i+1, len(studies), s.Name)
		one := runner{version: r.version, study: s, dir: filepath.Join(r.dir, s.Name), resumeCmd: r.again(claims)}
		if _, err := os.Stat(filepath.Join(one.dir, "results.jsonl")); err == nil {
			fmt.Fprintf(os.Stderr, "%s holds results; completing them with their own study\n", one.dir)
			one.resume = one.dir
			if one.study, err = storedStudy(one.dir); err != nil {
				return nil, nil, err
			}
		}
		d, err := one.measure(ctx)
		if err != nil {
			return nil, nil, err
		}
		rep, err := load(one.dir, r.keep)
		if err == nil {
			err = writeReports(d, report.New(rep))
		}
		if err := errors.Join(err, d.Close()); err != nil {
			return nil, nil, one.stopped(err)
		}
		remember(rep)
		all = append(all, rep.Results...)
		for _, o := range rep.Claims {
			// The run can also contain another claim's cells, but that claim's own study runs too.
			if i := index(claims, o.Claim.ID); i >= 0 && claims[i].Study.Name == s.Name {
				outcomes = append(outcomes, o)
			}
		}
	}
	return all, outcomes, nil
}

// again returns the command that continues after an interruption.
func (r *reproduction) again(claims []claim.Claim) string {
	argv := []string{"weir", "reproduce", "-o", r.dir}
	if r.fast {
		argv = append(argv, "--fast")
	}
	if r.keep {
		argv = append(argv, "--keep-disturbed")
	}
	if len(claims) == len(claimNames()) {
		return strings.Join(append(argv, "--all"), " ")
	}
	for _, c := range claims {
		argv = append(argv, c.ID)
	}
	return strings.Join(argv, " ")
}

// untested returns an outcome for each claim without one.
func untested(claims []claim.Claim, outcomes []claim.Outcome, why string) (more []claim.Outcome) {
	for _, c := range claims {
		if !slices.ContainsFunc(outcomes, func(o claim.Outcome) bool { return o.Claim.ID == c.ID }) {
			more = append(more, c.Cannot(why))
		}
	}
	return more
}

// print prints the outcomes in claim order and determines the exit status.
func (r *reproduction) print(claims []claim.Claim, outcomes []claim.Outcome, results []record.Result) error {
	if len(outcomes) == 0 {
		return exit(exitEnvironment, errors.New("these results test no claim; weir reproduce lists the claims and their studies"))
	}
	slices.SortStableFunc(outcomes, func(a, b claim.Outcome) int {
		return cmp.Compare(index(claims, a.Claim.ID), index(claims, b.Claim.ID))
	})
	var err error
	switch {
	case r.json:
		err = printJSON(os.Stdout, outcomes)
	case r.md:
		err = report.Markdown(os.Stdout, report.Claims(outcomes))
	default:
		err = report.Text(os.Stdout, report.Claims(outcomes), width())
	}
	if err != nil {
		return err
	}
	if !r.json && !r.md && len(results) > 0 {
		fmt.Printf("\nresults and reports: %s\n", r.dir)
	}
	// Skipped trials make claims untestable, which the table already shows.
	ran := slices.DeleteFunc(slices.Clone(results), func(x record.Result) bool { return x.Status == record.Skipped })
	if len(ran) > 0 {
		if err := verdict(ran); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(outcomes, func(o claim.Outcome) bool { return o.Verdict != claim.Untestable }) {
		return exit(exitEnvironment, errors.New("no claim could be tested; the table shows what is missing"))
	}
	return nil
}
