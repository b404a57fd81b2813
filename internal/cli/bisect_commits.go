package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/job/bisection"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/unit"
)

// bisectFlags say how to search among commits.
type bisectFlags struct {
	study         studyFlags
	of, certainty string
	least         string
	o             bisection.Options
	json          bool
}

// bisectStudyFlags are the flags of weir run that a search takes.
var bisectStudyFlags = []string{"networks", "probes", "fast", "blocks", "duration", "warmup", "hosts", "pods", "mtu", "link", "delay", "nic", "keep-disturbed"}

func bisectCommits(version string) *cobra.Command {
	f := &bisectFlags{o: bisection.Options{Repo: "."}}
	c := &cobra.Command{
		Use:   "commits GOOD BAD [flags] -- BUILD COMMAND",
		Short: "Find the commit that changed what a program costs",
		Long: `Find the commit after GOOD, up to BAD, that changed what a program costs: a daemon of a
network, the client or server of a probe, or weir itself. The repository is --repo.

The build command runs in a worktree of each commit that weir needs, never in your
checkout, and leaves programs in {programs}, a directory that is also in
$WEIR_PROGRAMS. Network and probe start these instead of the installed ones of the
same name. A program called weir is the engine of the native probes.

Two candidates alternate in random order within each block of one run. weir chooses
the pair that tells the most, and stops when one commit, or "none of them", has the
probability --certainty. Before a commit is blamed, it is compared with the one
before it. Commits that do not build, or whose trials fail, are skipped: the answer
can then be a range. Every comparison is an ordinary results directory in -o, and
bisect.html is a page about all of them. After an interruption, --resume or the same
command with -o continues.`,
		Example: `  weir bisect commits v0.25.0 v0.28.4 -n flannel-udp -p tcp-stream -- go build -o {programs}/flanneld .
  weir bisect commits HEAD~60 HEAD -n host -p tcp-rr -- go build -o {programs}/weir ./cmd/weir
  weir bisect commits --resume weir-results/bisect-20261127-101500`,
		RunE: func(c *cobra.Command, as []string) error { return f.run(c, as, version) },
	}
	f.register(c)
	c.Flags().StringVar(&f.o.Repo, "repo", f.o.Repo, "a directory in the git repository")
	c.Flags().DurationVar(&f.o.BuildTimeout, "build-timeout", 20*time.Minute, "when a build is ended, and its commit skipped")
	_ = c.MarkFlagDirname("repo")
	return c
}

// register adds the flags that all searches have, and others of weir run.
func (f *bisectFlags) register(c *cobra.Command, also ...string) {
	all := &cobra.Command{}
	f.study.register(all)
	for _, name := range slices.Concat(bisectStudyFlags, also) {
		c.Flags().AddFlag(all.Flags().Lookup(name))
	}
	c.Flags().StringVar(&f.of, "study", "", "study of one network and one probe: a name or a file (default: -n and -p)")
	c.Flags().StringVar(&f.certainty, "certainty", "95%", "probability at which the search ends")
	c.Flags().StringVar(&f.least, "least", "2.5%", "smallest change to find; smaller ones count as none")
	c.Flags().StringVarP(&f.o.Dir, "output", "o", "", "directory for the state and all results (default weir-results/bisect-TIME)")
	c.Flags().StringVar(&f.o.Resume, "resume", "", "directory of a search to continue")
	c.Flags().BoolVar(&f.json, "json", false, "print the outcome as JSON")
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagDirname("resume")
}

func (f *bisectFlags) run(c *cobra.Command, as []string, version string) error {
	if err := f.options(c, as, version); err != nil {
		return err
	}
	return f.search(c)
}

// search searches for what the options say, and prints the outcome.
func (f *bisectFlags) search(c *cobra.Command) error {
	out, page, err := bisection.Run(c.Context(), f.o)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(os.Stdout, out)
	}
	if err := render.Text(os.Stdout, spoken(bisection.Page(filepath.Dir(page), &out)), width()); err != nil {
		return err
	}
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, page); err == nil && !strings.HasPrefix(rel, "..") {
			page = rel
		}
	}
	tell.Say(lang.T("page: %s", page))
	if out.Nodes != nil && out.Verdict == bisect.Found {
		tell.Say(lang.T("what limits a run: weir explain %s", plan.ShellWord(filepath.Join(filepath.Dir(page), out.Steps[0].Dir, out.RunDir(1, out.Bad)))))
	}
	return nil
}

// options reads what to search, unless a directory holds it.
func (f *bisectFlags) options(c *cobra.Command, as []string, version string) (err error) {
	f.o.Caller, f.o.Output = caller(version), os.Stderr
	cut := c.ArgsLenAtDash()
	if cut < 0 {
		cut = len(as)
	}
	if f.o.BuildTimeout <= 0 {
		return usage("invalid --build-timeout %v: want more than 0s", f.o.BuildTimeout)
	}
	if f.o.Resume != "" {
		return f.resumes(c, as)
	}
	if cut != 2 || len(as) == cut {
		return usage("%s before -- and %s after it: want GOOD BAD -- BUILD COMMAND, as in: weir bisect commits v1 v2 -n host -p tcp-rr -- go build -o {programs}/weir ./cmd/weir", counted(cut, "argument"), counted(len(as)-cut, "word"))
	}
	f.o.Good, f.o.Bad, f.o.Build = as[0], as[1], as[2:]
	return f.measured(c)
}

// resumes refuses the arguments and flags that a resumed search already has.
func (f *bisectFlags) resumes(c *cobra.Command, as []string) (err error) {
	if len(as) > 0 {
		return usage("--resume %s already says what to search; leave out %s", f.o.Resume, strings.Join(as, " "))
	}
	c.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains([]string{"resume", "build-timeout", "json", "lang"}, g.Name) {
			err = usage("--resume %s continues its search unchanged; leave out --%s", f.o.Resume, g.Name)
		}
	})
	return err
}

// measured reads what to measure, and how sure to be.
func (f *bisectFlags) measured(c *cobra.Command) (err error) {
	if f.o.Certainty, err = within("certainty", f.certainty, 0.5, 0.9999); err != nil {
		return err
	}
	if f.o.Least, err = within("least", f.least, 0.001, 0.5); err != nil {
		return err
	}
	var from []string
	if f.of != "" {
		from = []string{f.of}
	}
	if f.o.Study, err = f.study.study(c, from); err != nil {
		return err
	}
	one := f.o.Study
	if f.study.target.inKube {
		one.Target = study.Target{} // which is what differs
	}
	if err := bisection.OneCell(one); err != nil {
		return err
	}
	return place.Check(f.o.Study)
}

// within reads a share between two bounds.
func within(flag, text string, lo, hi float64) (float64, error) {
	v, err := unit.ParsePercent(text)
	if err != nil {
		return 0, usage("--%s: %w", flag, err)
	}
	if v < lo || v > hi {
		return 0, usage("invalid --%s %s: want %g%% to %g%%", flag, text, 100*lo, 100*hi)
	}
	return v, nil
}
