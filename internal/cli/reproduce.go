package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/export"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/published"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/store"
)

// reproduceFlags say which claims to test, and how.
type reproduceFlags struct {
	all, fast, keep, json, md bool
	dir, junit, sum           string // junit: file, "" for none; sum: SHA-256 of a package
	from                      []string
	many                      seriesFlags
	ssh                       string // of users who expect them here
	kube                      bool
}

func reproduceCommand(version string) *cobra.Command {
	var f reproduceFlags
	c := &cobra.Command{
		Use:   "reproduce [CLAIM… | PACKAGE]",
		Short: "Test published figures, or the results of a package, on this machine",
		Long: `Test claims: published figures, each with a study that tests it and the bounds
within which a measurement agrees. Without arguments, list the claims.

A claim that does not hold is a finding, and the exit status is 0. It is 1 if
trials failed, and 3 if no claim could be tested. Each study stores its results in
a subdirectory of -o; to continue an interrupted reproduction, give the same -o
again.

--runs 5 --every 1h runs all studies five times, one hour from start to start, and
judges the ratios pooled over the runs. Their intervals also cover differences
between runs, which no single run can show.

PACKAGE is an archive of weir package, or the directory of an unpacked one. weir
checks every byte of it, measures its studies here, and says claim by claim what
still holds and how the machines differ. Its results are below -o, in package, and
the verdicts of both machines in verdicts.html.`,
		Example: `  weir reproduce
  weir reproduce tso-doubles-tcp udp-loses-more-than-tcp --fast
  weir reproduce --all -o reproduced
  weir reproduce vxlan-86 --runs 5 --every 10m
  weir reproduce --from results      # without measuring
  weir reproduce results.tar.gz -o again`,
		ValidArgsFunction: func(c *cobra.Command, as []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			return complete(claimNames())(c, as, toComplete) // lazily, not whenever weir starts
		},
		RunE: func(c *cobra.Command, as []string) error { return f.reproduce(c, as, version) },
	}
	c.Flags().BoolVar(&f.all, "all", false, "test every claim; of a package, its own and all others that weir knows")
	c.Flags().BoolVar(&f.fast, "fast", false, "use the fast form of each study: few blocks, short windows, wide intervals")
	c.Flags().StringArrayVar(&f.from, "from", nil, "results directory, or directory of several runs, to test claims on instead of measuring; repeatable")
	c.Flags().StringVarP(&f.dir, "output", "o", "", "directory for the results of each study (default weir-results/reproduce-TIME)")
	c.Flags().BoolVar(&f.keep, "keep-disturbed", false, "count trials that programs outside the run disturbed like all others")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&f.md, "md", false, "print the verdicts as Markdown")
	c.Flags().StringVar(&f.sum, "sum", "", "SHA-256 that the authors of the package published; refuse any other")
	c.Flags().StringVar(&f.junit, "junit", "", "also write a test case per claim to this file, as JUnit XML")
	c.Flags().StringVar(&f.ssh, "ssh", "", "")
	c.Flags().BoolVar(&f.kube, "kube", false, "")
	_ = c.Flags().MarkHidden("ssh")
	_ = c.Flags().MarkHidden("kube")
	f.many.register(c)
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagDirname("from")
	return c
}

func (f *reproduceFlags) check(c *cobra.Command, as []string, packed bool) error {
	switch {
	case f.ssh != "" || f.kube || asPlugin() && (f.all || len(as) > 0):
		return usage("claims are about networks that weir builds, on this machine: run weir itself, without --ssh and --kube; weir run measures machines that exist")
	case f.sum != "" && !packed:
		return usage("--sum names a package by its SHA-256, and needs its file")
	case f.json && f.md:
		return usage("--json and --md cannot be combined")
	case f.all && len(as) > 0 && !packed:
		return usage("--all tests every claim; it cannot be combined with names of claims")
	case f.from != nil && (f.dir != "" || f.fast || c.Flags().Changed("runs") || c.Flags().Changed("every")):
		return usage("--from tests existing results; it cannot be combined with -o, --fast, --runs or --every")
	}
	return nil
}

// reproduce tests claims, or lists them.
func (f *reproduceFlags) reproduce(c *cobra.Command, as []string, version string) error {
	shipped, err := claim.Shipped()
	if err != nil {
		return err
	}
	packed := len(as) == 1 && claim.Index(shipped, as[0]) < 0 && job.NamesPackage(as[0])
	if err := f.check(c, as, packed); err != nil {
		return err
	}
	if len(as) == 0 && !f.all && f.from == nil {
		return listClaims(shipped, f.json)
	}
	if packed {
		return f.measurePackage(c, as[0], version, shipped)
	}
	if len(as) > 0 {
		if shipped, err = choose(shipped, as); err != nil {
			return err
		}
	}
	o := job.ReproduceOptions{Caller: caller(version), Claims: shipped, Dir: f.dir, Fast: f.fast, Keep: f.keep, Series: store.Series{Runs: f.many.runs, Every: f.many.every}}
	if f.from != nil {
		return f.print(job.Judge(o, f.from, len(as) > 0))
	}
	if err := f.many.check(c); err != nil {
		return err
	}
	r, err := job.PlanReproduction(o)
	if err != nil {
		return err
	}
	run := func() error { return f.print(r.Run(c.Context())) }
	if len(r.Studies) == 0 {
		return run()
	}
	return place.Lab.Enter(c.Context(), run)
}

// measurePackage measures the studies of a package again. What is unpacked belongs to the results, so both are made inside the
// lab.
func (f *reproduceFlags) measurePackage(c *cobra.Command, name, version string, shipped []claim.Claim) error {
	if f.from != nil {
		return usage("--from tests existing results, and %s is measured again; give one of them", name)
	}
	if err := f.many.check(c); err != nil {
		return err
	}
	return place.Lab.Enter(c.Context(), func() error {
		o := job.ReproduceOptions{Caller: caller(version), Dir: job.NewDir(f.dir, "reproduce"), Fast: f.fast, Keep: f.keep, Series: store.Series{Runs: f.many.runs, Every: f.many.every}}
		var err error
		if o.Package, err = o.Unpack(name, f.sum, o.Dir); err != nil {
			return err
		}
		if o.Claims = o.Package.Claims; f.all { // and what the package does not have
			for _, c := range shipped {
				if claim.Index(o.Package.All(), c.ID) < 0 {
					o.Claims = append(o.Claims, c)
				}
			}
		}
		r, err := job.PlanReproduction(o)
		if err != nil {
			return err
		}
		done, err := r.Run(c.Context())
		if err != nil {
			return err
		}
		verdicts, pages, err := r.Again(done.Outcomes)
		if err != nil {
			return err
		}
		return f.printPackage(done, verdicts, pages)
	})
}

// printPackage prints which claims of a package hold here or, for a package without claims, how its numbers differ.
func (f *reproduceFlags) printPackage(done job.Reproduced, verdicts job.Both, pages []job.Both) error {
	if len(done.Outcomes) > 0 || f.json {
		if err := f.show(verdicts.Page, done.Outcomes); err != nil {
			return err
		}
	} else {
		tell.Note(lang.T("the package makes no claim about a direction; the page compares its numbers with those of this machine"))
		for _, p := range pages {
			if err := f.show(p.Page, nil); err != nil {
				return err
			}
		}
	}
	if !f.json && !f.md {
		fmt.Println()
		for _, p := range pages {
			fmt.Println(said(lang.T("both on one page: %s", p.File)))
		}
		fmt.Println(said(lang.T("what holds, as a page: %s", verdicts.File)))
	}
	if len(done.Outcomes) == 0 {
		return done.Failed
	}
	return f.status(done)
}

func claimNames() []string {
	shipped, _ := claim.Shipped() // a mistake in the files is reported when they are used
	var names []string
	for _, c := range shipped {
		names = append(names, c.ID)
	}
	return names
}

func choose(shipped []claim.Claim, names []string) (chosen []claim.Claim, _ error) {
	for _, name := range names {
		i := claim.Index(shipped, name)
		if i < 0 {
			return nil, usage("unknown claim %q%s weir reproduce lists all %d", name, cmp.Or(meant(name, claimNames()), ";"), len(shipped))
		}
		if claim.Index(chosen, name) < 0 {
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

// print prints the outcomes and determines the exit status.
func (f *reproduceFlags) print(r job.Reproduced, err error) error {
	if err != nil {
		return err
	}
	if len(r.Outcomes) == 0 {
		return failure.Environment.Errorf("these results test no claim; weir reproduce lists the claims and their studies")
	}
	if err := f.show(published.Claims(r.Outcomes), r.Outcomes); err != nil {
		return err
	}
	if !f.json && !f.md && len(r.Results) > 0 {
		fmt.Printf("\n%s\n", said(lang.T("results and reports: %s", r.Dir)))
	}
	return f.status(r)
}

// show prints a page, or the outcomes that it is about.
func (f *reproduceFlags) show(page *doc.Document, outcomes []claim.Outcome) error {
	switch {
	case f.json:
		return printJSON(os.Stdout, append([]claim.Outcome{}, outcomes...))
	case f.md:
		return render.Markdown(os.Stdout, spoken(page))
	}
	return render.Text(os.Stdout, spoken(page), width())
}

// status writes the outcomes for CI, and determines the exit status.
func (f *reproduceFlags) status(r job.Reproduced) error {
	if err := writeJUnit(f.junit, "weir reproduce", claimCases(r.Outcomes, r.Failed)); err != nil {
		return failure.Environment.Of(err)
	}
	if r.Failed != nil {
		return r.Failed
	}
	if !slices.ContainsFunc(r.Outcomes, func(o claim.Outcome) bool { return o.Verdict != claim.Untestable }) {
		return failure.Environment.Errorf("no claim could be tested; the table shows what is missing")
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
