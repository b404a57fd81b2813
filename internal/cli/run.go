package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// runFlags say what to run, and where the results go.
type runFlags struct {
	study       studyFlags
	vm          vmFlags
	many        seriesFlags
	dir, resume string
	json, trace bool
	commands    bool
	allow       []string
	verbose     bool
}

func runCommand(version string) *cobra.Command {
	c, _ := newRun(version)
	return c
}

// newRun returns the command, and the struct that its flags fill in.
func newRun(version string) (*cobra.Command, *runFlags) {
	f := new(runFlags)
	c := &cobra.Command{
		Use:   "run [STUDY]",
		Short: "Build the networks or find them, measure them, and report",
		Long: `Run a study: a YAML file, or the name of a shipped one (weir list studies).
Without a study and without -n it runs the default one: plain hosts, a bridge and
a VXLAN overlay on this machine, in about a minute. Flags change the study.` + "\n\n" + aboutMachines + " " + aboutKube + "\n\n" + aboutSeries,
		Example: `  weir run
  weir run -n host,vxlan-overlay -p tcp-stream,udp-stream --blocks 10 --duration 1s -o results
  weir run -n host,routed,vxlan-overlay -p tcp-stream -f mtu=1500,9000
  weir run --in-vm -n host,ipvlan,geneve-overlay
  weir run --ssh a,b,c --pairs all
  weir run --kube --context staging -n host,pod,service
  weir run --kube --in-cluster --image registry.example/weir:1 --nodes all --pairs all --rounds 12
  weir run --runs 5 --every 10m
  weir run --resume results`,
		Args:              oneStudy,
		ValidArgsFunction: complete(job.StudyNames()),
		RunE: func(c *cobra.Command, as []string) error {
			if f.study.target.attach != "" {
				return f.attach(c, as, version)
			}
			return f.run(c, as, version)
		},
	}
	f.study.register(c)
	f.vm.register(c)
	f.many.register(c)
	c.Flags().StringVarP(&f.dir, "output", "o", "", "new directory for the results (default weir-results/STUDY-TIME)")
	c.Flags().StringVar(&f.study.target.attach, "attach", "", "with --kube: Job of a run that --in-cluster has started, to see its progress and bring its results home")
	c.Flags().StringVar(&f.resume, "resume", "", "results directory of a run, or of several, to finish")
	c.Flags().BoolVar(&f.json, "json", false, "print the tables as JSON")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print the whole report, not the answer alone")
	c.Flags().BoolVar(&f.trace, "trace", false, "after the trials, trace 100 requests through each network (weir trace)")
	c.Flags().BoolVar(&f.commands, "allow-commands", false, "let events run the commands that the study brings, and networks the programs of a directory that it names, with weir's privileges")
	c.Flags().StringArrayVar(&f.allow, "allow", nil, "let events change this: with --ssh a device, DEVICE@MACHINE, such as eth1@b, which the machine makes what it was; with --kube a DaemonSet, NAMESPACE/NAME, whose pod they restart (docs/downtime.md)")
	_ = c.MarkFlagDirname("output")
	_ = c.MarkFlagDirname("resume")
	return headings(c, studyHeadings, firstFlags), f
}

// run runs what the flags say, where the study says.
func (f *runFlags) run(c *cobra.Command, as []string, version string) error {
	o, err := f.options(c, as, version)
	if err != nil {
		return err
	}
	run := func() error {
		if one := o.Study.Networks[0]; o.Resume == "" && comparesNothing(o.Study) {
			tell.Note(lang.T("nothing is compared: %s is the only network; add another to see what it costs, such as -n %s", one.Name, "host,"+beside(one.Kind)))
		}
		return f.print(job.Run(c.Context(), o))
	}
	if o.VM != nil { // it has a lab of its own
		return run()
	}
	return o.At.Enter(c.Context(), run)
}

// options returns the job that the flags and the arguments stand for.
func (f *runFlags) options(c *cobra.Command, as []string, version string) (o job.RunOptions, err error) {
	o = job.RunOptions{Caller: caller(version), Dir: f.dir, Resume: f.resume, Trace: f.trace, ByDefault: len(as) == 0 && len(f.study.networks) == 0}
	if err := f.check(c, as); err != nil {
		return o, err
	}
	o.Series = store.Series{Runs: f.many.runs, Every: f.many.every}
	if f.resume != "" {
		if o.Series, o.First, err = job.Resumable(f.resume); err != nil {
			return o, err
		}
	}
	inVM := job.RanInVM(o.First)
	if f.vm.in && f.resume != "" && !inVM {
		return o, usage("--in-vm: the run in %s was started on this machine itself; resume it without --in-vm", f.resume)
	}
	if !f.vm.in && !inVM {
		if err := f.vm.refuse(c); err != nil {
			return o, err
		}
	}
	quietPipes()
	if err := job.Patiently(c.Context(), tell, lang.T("reading the study"), func() (err error) {
		if o.Study, err = f.study.study(c, as); f.resume != "" {
			o.Study, err = job.StoredStudy(o.First)
		}
		return err
	}); err != nil {
		return o, err
	}
	if err := f.checkStudy(o, f.vm.in || inVM); err != nil {
		return o, err
	}
	if err := job.Patiently(c.Context(), tell, lang.T("planning the study"), func() error { return place.Check(o.Study) }); err != nil {
		return o, err
	}
	if !f.vm.in && !inVM && !o.Study.Target.Exists() {
		if err := job.CheckHere(o.Study); err != nil {
			return o, err
		}
	}
	programs, err := f.study.target.program()
	if err != nil {
		return o, err
	}
	if o.At, err = place.Of(o.Study, programs, tell); err != nil {
		return o, err
	}
	if f.commands {
		o.At = o.At.AllowCommands()
	}
	if err := o.At.Allow(f.allow); err != nil {
		return o, err
	}
	if o.At.Machines == nil {
		o.Guest = job.GuestKind()
	}
	if o.Guest == "" && (f.vm.in || inVM) {
		o.VM = &job.VM{Machine: f.vm.machine, Stdout: os.Stdout, Stderr: os.Stderr}
	}
	return o, nil
}

// comparesNothing reports whether a study in the lab has only one network and one level of everything.
func comparesNothing(s study.Study) bool {
	return len(s.Networks) == 1 && len(s.Compare) == 0 && len(s.Factors) == 0 && !s.AllPairs && !s.Target.Exists()
}

// beside names a network to compare with host: kind itself, unless that is host.
func beside(kind string) string {
	if kind == "host" {
		return "vxlan-overlay"
	}
	return kind
}

// check refuses flags that contradict each other.
func (f *runFlags) check(c *cobra.Command, as []string) error {
	if f.resume != "" && (len(as) > 0 || f.dir != "" || f.study.changed(c) || c.Flags().Changed("runs") || c.Flags().Changed("every")) {
		return usage("--resume continues the study in %s unchanged; it cannot be combined with a study, -o, --runs, --every or study flags", f.resume)
	}
	return f.many.check(c)
}

// checkStudy refuses flags that contradict the study.
func (f *runFlags) checkStudy(o job.RunOptions, inVM bool) error {
	switch t := o.Study.Target; {
	case f.vm.in && t.Exists():
		return usage("--in-vm builds networks in a virtual machine of this machine; leave it out to measure %s", place.About(t))
	case t.InCluster() && (f.resume != "" || o.Series.Runs > 1 || f.trace):
		return usage("--in-cluster begins one run in the cluster; leave it out with --resume, --runs and --trace, which work from this machine")
	case f.trace && inVM:
		return usage("--trace records packets on this machine, and this run builds networks in a virtual machine (--in-vm); leave --trace out")
	}
	return nil
}

// attach shows a run that an earlier command has started in a cluster, until it ends.
func (f *runFlags) attach(c *cobra.Command, as []string, version string) error {
	var other []string
	c.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains([]string{"kube", "in-cluster", "attach", "context", "namespace", "keep", "json", "output"}, g.Name) {
			other = append(other, "--"+g.Name)
		}
	})
	if other = append(other, as...); len(other) > 0 {
		return usage("--attach looks at a run that has its study and its nodes: leave out %s", strings.Join(other, ", "))
	}
	t := f.study.target
	dir := job.NewDir(f.dir, strings.TrimPrefix(t.attach, "weir-"))
	if err := store.Free(dir); err != nil {
		return failure.Environment.Of(err)
	}
	o := job.AttachOptions{Caller: caller(version), At: place.Attached(t.kube, t.attach, tell), Job: t.attach, Dir: dir}
	return o.At.Enter(c.Context(), func() error { return f.print(job.Attach(c.Context(), o)) })
}

// print prints the outcome of a run or a series. The verdict decides the exit status.
func (f *runFlags) print(out *job.Outcome, err error) error {
	if err != nil || out.Report == nil {
		return err
	}
	err = f.printReport(out.Report, out.Dir)
	if err == nil {
		err = out.Verdict
	}
	if out.Ended != nil {
		if err != nil {
			tell.Warn(job.FinishedRuns(err))
		}
		return out.Ended
	}
	return err
}

// printReport prints what a report whose files are in dir answers, or all of it, and what to do next.
func (f *runFlags) printReport(page *doc.Document, dir string) (err error) {
	file := filepath.Join(dir, "report.html")
	switch {
	case f.json:
		err = formats["json"](os.Stdout, spoken(page))
	case f.verbose:
		err = formats["text"](os.Stdout, spoken(page))
	default:
		err = render.Brief(os.Stdout, spoken(page), width(), colors())
	}
	if err == nil && !f.json {
		_, err = fmt.Println("\n" + said(lang.T("report: %s", file)))
	}
	if err == nil && !f.json && !f.verbose {
		_, err = fmt.Println(said(lang.T("next: %s", strings.Join(next(page, dir), ", "))))
	}
	if err != nil {
		return failure.Check.Errorf("cannot print the report: %w; it is in %s", err, file)
	}
	return nil
}

// next are the commands that say more about results.
func next(page *doc.Document, dir string) (out []string) {
	word := plan.ShellWord(dir)
	if slices.Contains(page.IDs(), "why") {
		out = append(out, "weir explain "+word)
	}
	return append(out, "weir report "+word)
}

// colors reports whether stdout is a terminal that shows colors, and its user wants them (https://no-color.org).
func colors() bool {
	t := os.Getenv("TERM")
	return os.Getenv("NO_COLOR") == "" && t != "" && t != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
}

// width returns the terminal width of stdout in columns; 100 without a terminal.
func width() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 100
}
