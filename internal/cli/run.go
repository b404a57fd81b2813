package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

func runCommand(version string) *cobra.Command {
	var f studyFlags
	var vm vmFlags
	var many seriesFlags
	var dir, resume string
	var asJSON, trace bool
	c := &cobra.Command{
		Use:   "run [STUDY]",
		Short: "Build the networks or find them, measure them, and report",
		Long: `Run a study: a YAML file, or the name of a shipped one (weir list studies).
Without a study and without -n it runs the default one: plain hosts, a bridge and
a VXLAN overlay on this machine, in about a minute. Flags change the study.

With --ssh or --kube, weir builds nothing and measures networks that exist: between
machines, or between the nodes and pods of a cluster. It uses your own ssh or
kubectl with their configuration, and changes nothing there. kubectl weir run, the
plugin, implies --kube. -n names networks, as always; the namespace is -N. With
--in-cluster, a coordinator in the cluster carries out the run, for hundreds of
nodes, and --attach brings the results home later.

The interval of one run covers only that run. --runs 5 --every 10m runs the study
five times, ten minutes from start to start, and pools the runs: the pooled
intervals also cover differences between runs. Each run is an ordinary results
directory below -o: 001, 002 and so on.`,
		Example: `  weir run
  weir run -n host,vxlan-overlay -p tcp-stream,udp-stream --blocks 10 --duration 1s -o results
  weir run -n host,routed,vxlan-overlay -p tcp-stream -f mtu=1500,9000
  weir run --in-vm -n host,ipvlan,geneve-overlay
  weir run --ssh a,b,c --pairs all
  weir run --kube --context staging -n host,pod,service
  weir run --kube --in-cluster --image registry.example/weir:1 --nodes all --pairs all --rounds 12
  weir run --runs 5 --every 10m
  weir run --resume results`,
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: complete(studyNames()),
		RunE: func(c *cobra.Command, as []string) error {
			if f.target.attach != "" {
				return attach(c, as, &f.target, &runner{version: version, dir: dir, json: asJSON})
			}
			if resume != "" && (len(as) > 0 || dir != "" || f.changed(c) || c.Flags().Changed("runs") || c.Flags().Changed("every")) {
				return usage("--resume continues the study in %s unchanged; it cannot be combined with a study, -o, --runs, --every or study flags", resume)
			}
			if err := many.check(c); err != nil {
				return err
			}
			plan, first := store.Series{Runs: many.runs, Every: many.every}, "" // the first run to resume
			if resume != "" {
				var err error
				if plan, first, err = job.Resumable(resume); err != nil {
					return err
				}
			}
			if vm.in && resume != "" && !ranInVM(first) {
				return usage("--in-vm: the run in %s was started on this machine itself; resume it without --in-vm", resume)
			}
			quietPipes()
			var s study.Study
			if err := job.Patiently(c.Context(), tell, lang.T("reading the study"), func() (err error) {
				if s, err = f.study(c, as); resume != "" {
					s, err = storedStudy(first)
				}
				return err
			}); err != nil {
				return err
			}
			if vm.in && s.Target.Exists() {
				return usage("--in-vm builds networks in a virtual machine of this machine; leave it out to measure %s", place.About(s.Target))
			}
			if s.Target.InCluster() && (resume != "" || plan.Runs > 1 || trace) {
				return usage("--in-cluster begins one run in the cluster; leave it out with --resume, --runs and --trace, which work from this machine")
			}
			if trace && (vm.in || ranInVM(first)) {
				return usage("--trace records packets on this machine, and this run builds networks in a virtual machine (--in-vm); leave --trace out")
			}
			if err := job.Patiently(c.Context(), tell, lang.T("planning the study"), func() error { return place.Check(s) }); err != nil {
				return err
			}
			programs, err := f.target.program()
			if err != nil {
				return err
			}
			r := runner{version: version, study: s, dir: dir, resume: resume, json: asJSON, trace: trace, byDefault: len(as) == 0 && len(f.networks) == 0}
			if r.at, err = place.Of(s, programs, tell); err != nil {
				return err
			}
			if r.at.Machines == nil {
				r.guest = job.GuestKind()
			}
			if r.guest == "" && (vm.in || ranInVM(first)) {
				r.vm = &job.VM{Machine: vm.machine, Stdout: os.Stdout, Stderr: os.Stderr}
			}
			run := func() error {
				if err := r.settle(); err != nil {
					return err
				}
				if s.Target.InCluster() {
					return r.inCluster(c.Context())
				}
				if err := r.as(func(o *job.RunOptions) error { return o.Begin(c.Context(), first) }); err != nil {
					return err
				}
				if plan.Runs > 1 || resume != first {
					many := series{r, newSchedule(plan, say)}
					return many.run(c.Context())
				}
				return r.run(c.Context())
			}
			if r.vm != nil {
				return run()
			}
			return r.at.Enter(c.Context(), run)
		},
	}
	f.register(c)
	vm.register(c)
	many.register(c)
	c.Flags().StringVarP(&dir, "output", "o", "", "new directory for the results (default weir-results/STUDY-TIME)")
	c.Flags().StringVar(&f.target.attach, "attach", "", "with --kube: Job of a run that --in-cluster has started, to see its progress and bring its results home")
	c.Flags().StringVar(&resume, "resume", "", "results directory of a run, or of several, to finish")
	c.Flags().BoolVar(&asJSON, "json", false, "print the tables as JSON")
	c.Flags().BoolVar(&trace, "trace", false, "after the trials, trace 100 requests through each network (weir trace)")
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagDirname("resume")
	return headings(c, studyHeadings)
}

// A runner runs a study where it has been entered.
type runner struct {
	version     string
	at          place.Place
	byDefault   bool // the user named neither a study nor networks
	study       study.Study
	dir, resume string
	json        bool
	trace       bool                                                  // record the packets' paths after the trials
	ratios      func(*analysis.Run) iter.Seq2[stat.Interval, float64] // see experiment.Config
	resumeCmd   string                                                // the command that resumes; empty: weir run --resume DIR
	guest       string                                                // facts.Facts.Guest: set in a guest of weir's own, whose host reports
	vm          *job.VM                                               // for the trials; nil to run them here
	name        lang.Text                                             // of a run in a series
	ofSeries    func(time.Duration) time.Duration                     // from the time left for this run to that for the series
}

// as calls f with the options of the run, which it can complete.
func (r *runner) as(f func(o *job.RunOptions) error) error {
	o := job.RunOptions{Version: r.version, Tell: tell, Lang: language, Show: onStderr, At: r.at, Study: r.study, ByDefault: r.byDefault, Dir: r.dir, Resume: r.resume,
		ResumeCmd: r.resumeCmd, Guest: r.guest, VM: r.vm, Ratios: r.ratios, Name: r.name, Left: r.ofSeries}
	err := f(&o)
	r.study, r.dir = o.Study, o.Dir
	return err
}

func (r *runner) run(ctx context.Context) error {
	d, err := r.measure(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	if r.trace {
		if err := r.as(func(o *job.RunOptions) error { return o.TraceAll(ctx, d) }); err != nil {
			return err
		}
	}
	if r.guest != "" {
		return nil
	}
	return r.report(d)
}

// measure runs the trials that lack a result. The caller closes the directory.
func (r *runner) measure(ctx context.Context) (d *store.Dir, _ error) {
	return d, r.as(func(o *job.RunOptions) (err error) { d, err = o.Measure(ctx); return err })
}

func (r *runner) inCluster(ctx context.Context) error {
	return r.home((*job.RunOptions).InCluster, ctx)
}

// home reports a run in a cluster whose results f brings home.
func (r *runner) home(f func(*job.RunOptions, context.Context) (*store.Dir, error), ctx context.Context) error {
	var d *store.Dir
	if err := r.as(func(o *job.RunOptions) (err error) { d, err = f(o, ctx); return err }); err != nil || d == nil {
		return err
	}
	defer d.Close()
	return r.report(d)
}

func (r *runner) settle() error { return r.as((*job.RunOptions).Settle) }

func (r *runner) stopped(err error) error {
	return r.as(func(o *job.RunOptions) error { return o.Stopped(err) })
}

func (r *runner) resumeHint() (hint lang.Text) {
	_ = r.as(func(o *job.RunOptions) error { hint = o.ResumeHint(); return nil })
	return hint
}

func (r *runner) newDir() (dir string) {
	_ = r.as(func(o *job.RunOptions) error { dir = o.NewDir(); return nil })
	return dir
}

func (r *runner) finished() (bool, error) { return job.Finished(r.dir) }

func started(dir string) bool                     { return job.Started(dir) }
func storedStudy(dir string) (study.Study, error) { return job.StoredStudy(dir) }
func ranInVM(dir string) bool                     { return job.RanInVM(dir) }

// complete runs the trials that lack a result, and stores the report.
func (r *runner) complete(ctx context.Context, keep bool) (rep *account.Account, err error) {
	d, err := r.measure(ctx)
	if err != nil {
		return rep, err
	}
	if rep, err = loadInside(r.dir, keep); err != nil {
		err = d.OrGone(err)
	} else {
		err = writeReports(d, section.Report(rep))
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return rep, r.stopped(err)
	}
	return rep, nil
}

// report stores and prints the report, and fails if trials are not ok.
func (r *runner) report(d *store.Dir) error {
	rep, err := loadInside(r.dir, false)
	if err != nil {
		return r.stopped(d.OrGone(err))
	}
	page := section.Report(rep)
	if err := writeReports(d, page); err != nil {
		return r.stopped(err)
	}
	remember(rep)
	if err := printReport(page, r.json, r.dir); err != nil {
		return err
	}
	return verdict(rep.Results)
}

// printReport prints a report whose files are in dir.
func printReport(page *doc.Document, asJSON bool, dir string) error {
	file, format := filepath.Join(dir, "report.html"), "text"
	if asJSON {
		format = "json"
	}
	err := formats[format](os.Stdout, spoken(page))
	if err == nil && !asJSON {
		_, err = fmt.Println("\n" + said(lang.T("report: %s", file)))
	}
	if err != nil {
		return exit(exitCheck, fmt.Errorf("cannot print the report: %w; it is in %s", err, file))
	}
	return nil
}

// width returns the terminal width of stdout in columns; 100 without a terminal.
func width() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 100
}

// verdict turns trials that are not ok into an exit status.
func verdict(results []record.Result) error {
	n := map[record.Status]int{}
	for _, r := range results {
		n[r.Status]++
	}
	if bad := n[record.Invalid] + n[record.Failed]; bad > 0 {
		return fmt.Errorf("%d of %d trials failed or are invalid; the report gives the reasons", bad, len(results))
	}
	if n[record.Skipped] > 0 {
		return exit(exitEnvironment, fmt.Errorf("%d of %d trials were skipped; the report lists what is missing", n[record.Skipped], len(results)))
	}
	if len(results) == 0 {
		return errors.New("no trial was run")
	}
	return nil
}
