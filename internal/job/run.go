package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
)

// RunOptions say what to measure, and where.
type RunOptions struct {
	Caller
	At        place.Place // entered
	Study     study.Study
	ByDefault bool         // the user named neither a study nor networks
	Trace     bool         // record the packets' paths after the trials
	Series    store.Series // of one run, or of several
	Dir       string       // for the results; "": a name from the study and the time
	Resume    string       // directory of the run or the series to continue; "" begins one
	First     string       // first run to resume; see Resumable
	ResumeCmd string       // the command that continues; "": weir run --resume DIR
	Guest     string       // facts.Facts.Guest: set in a guest of weir's own, whose host reports
	VM        *VM          // for the trials; nil runs them here
	// Ratios are the ratios that a precision is for; nil: all of the report. See experiment.Config.
	Ratios func(*analysis.Run) iter.Seq2[stat.Interval, float64]
	// Of a run in a series, see Shown.
	Name lang.Text
	Left func(time.Duration) time.Duration
}

// Run measures a study, or what is left of a run or a series, and stores the report.
func Run(ctx context.Context, o RunOptions) (*Outcome, error) {
	r := runner{o}
	if err := r.settle(); err != nil {
		return nil, err
	}
	if r.Study.Target.InCluster() {
		return r.home(r.inCluster(ctx))
	}
	if err := r.begin(ctx, o.First); err != nil {
		return nil, err
	}
	if o.Series.Runs > 1 || o.Resume != o.First {
		s := series{r, newSchedule(o.Series, o.Tell.Say)}
		return s.run(ctx)
	}
	d, err := r.measure(ctx)
	if err != nil {
		return nil, err
	}
	if o.Trace {
		if err := r.traceAll(ctx, d); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	if o.Guest != "" {
		return &Outcome{Dir: r.Dir}, d.Close()
	}
	var out *Outcome
	err = untilDone(ctx, nil, nil, func() (err error) {
		out, err = r.report(d)
		return err
	})
	if err != nil { // even if report is still running: it ends with this process
		return nil, err
	}
	return out, nil
}

// CheckHere returns an error for a study that this machine cannot run with any kernel. The machine is the one on which
// the study builds its networks.
func CheckHere(s study.Study) error {
	here := local.Host().FS
	names, err := fs.ReadFile(here, "proc/sys/net/ipv4/tcp_available_congestion_control")
	_, fixed := fs.Stat(here, "proc/modules")
	if err == nil && (fixed != nil || os.Geteuid() != 0) { // else a socket can make the kernel load a module (tcp_cong.c)
		if err := unknownCC(s.Factors["cc"], strings.Fields(string(names))); err != nil {
			return failure.Usage.Of(err)
		}
	}
	// A list such as "0-7" or "0,2-7". The kernel refuses a mask with CPUs beyond these (lib/bitmap.c, EOVERFLOW).
	b, err := fs.ReadFile(here, "sys/devices/system/cpu/possible")
	all := strings.TrimSpace(string(b))
	last, unknown := strconv.Atoi(all[strings.LastIndexAny(all, ",-")+1:])
	if err != nil || unknown != nil {
		return nil // the kernel decides
	}
	for _, level := range s.Factors["rps"] {
		if cpu := condition.LastCPU(level); cpu > last {
			return failure.Usage.Errorf("rps: mask %q names CPU %d: the last one of this machine is %d", level, cpu, last)
		}
	}
	return nil
}

// unknownCC returns an error for the first level that names no congestion control of the kernel.
func unknownCC(levels, has []string) error {
	for _, level := range levels {
		if !slices.Contains(has, level) {
			return fmt.Errorf("cc: this kernel has no congestion control %q: it has %s (net.ipv4.tcp_available_congestion_control)", level, strings.Join(has, ", "))
		}
	}
	return nil
}

// A runner runs a study in a place that has been entered.
type runner struct{ RunOptions }

// settle completes the study with the machines that were found while connecting.
func (r *runner) settle() (err error) {
	if err := r.At.Allows(r.Study); err != nil {
		return err
	}
	r.Study, err = r.At.Settle(r.Study, r.ByDefault)
	return err
}

// The most threads and processes that a run in the lab adds: those of weir itself, of the engines of a network, and of
// a daemon. Runs of one to six networks, with Flannel and Open vSwitch on up to four hosts, added 59 to 92 % of their
// sum.
const (
	ofRun     = 6
	ofNetwork = 26
	ofDaemon  = 16
)

// processes returns how many threads and processes networks can add in the lab: all of them stand at once.
func processes(networks map[string]experiment.Network) int {
	n := ofRun
	for _, one := range networks {
		n += ofNetwork
		p, _ := one.Driver.Plan(one.Topology) // a network that cannot be planned has no steps, and is skipped
		for _, s := range p.Steps {
			if s.Service != nil {
				n += ofDaemon
			}
		}
	}
	return n
}

// measure runs the trials that lack a result. The caller closes the directory.
func (r *runner) measure(ctx context.Context) (*store.Dir, error) {
	if r.VM != nil {
		return r.measureInVM(ctx)
	}
	return r.measureHere(ctx)
}

func (r *runner) measureHere(ctx context.Context) (_ *store.Dir, err error) {
	if r.Study.Target.Exists() && r.At.Machines == nil {
		return nil, failure.Usage.Errorf("%s holds a run on %s, and this command measures in the lab only; finish it with weir run --resume", cmp.Or(r.Resume, r.Dir), place.About(r.Study.Target))
	}
	if r.At.Machines == nil { // begin has asked the machines
		if err := canProfile(r.Study); err != nil {
			return nil, err
		}
	}
	d, err := r.open()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	var prepared *catalog.Prepared
	if err := Patiently(ctx, r.Tell, lang.T("planning the study"), func() (err error) {
		prepared, err = r.At.Prepare(r.Study)
		return err
	}); err != nil {
		return nil, err
	}
	if r.At.Machines == nil { // facts of other machines come from their agents
		err := rootless.Room(processes(prepared.Networks))
		if err := cmp.Or(err, r.describe(d, "local")); err != nil {
			return nil, r.stopped(err)
		}
	}
	if err := r.trials(ctx, d, prepared); err != nil {
		return nil, err
	}
	return d, nil
}

// trials runs and shows what the directory lacks.
func (r *runner) trials(ctx context.Context, d *store.Dir, prepared *catalog.Prepared) error {
	p := r.Show(Shown{r.Study, d.Results, r.Name, r.Left})
	kept := sync.OnceFunc(func() { r.Tell.Warn(r.kept(len(d.Done()))) })
	ended := make(chan struct{})
	defer context.AfterFunc(ctx, func() { // if something does not end in time, this process ends it without a message
		select {
		case <-ended:
		case <-time.After(lastMoment):
			kept()
		}
	})()
	err := experiment.Run(ctx, experiment.Config{
		Study: r.Study, Networks: prepared.Networks, Probe: prepared.Probe, Load: prepared.Load, Applies: catalog.Applies,
		Target: r.At, Version: r.Version, Dir: d, Progress: logged(d.Log, p.Event), Guest: r.Guest, Others: r.At.Others,
		Profile: profiler(r.At), Ratios: r.Ratios,
	})
	close(ended)
	p.End()
	if ctx.Err() != nil {
		kept()
		return context.Cause(ctx)
	}
	if err != nil {
		return r.stopped(err)
	}
	return nil
}

// lastMoment is the latest time after an interruption at which a run says what it keeps. A command ends within 2 s.
const lastMoment = 900 * time.Millisecond

func (r *runner) kept(trials int) lang.Text {
	if trials == 1 {
		return lang.T("1 trial kept in %s; %s", r.Dir, r.resumeHint())
	}
	return lang.T("%d trials kept in %s; %s", trials, r.Dir, r.resumeHint())
}

func (r *runner) resumeHint() lang.Text {
	return lang.T("continue with: %s", cmp.Or(r.ResumeCmd, "weir run --resume "+plan.ShellWord(r.Dir)))
}

// stopped adds the resume hint to the error that ended a run.
func (r *runner) stopped(err error) error {
	switch {
	case errors.Is(err, store.ErrGone):
		return failure.Check.Of(err)
	case errors.As(err, new(store.Resume)): // it already says how
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO):
		err = fmt.Errorf("%w: %s, then %s", err, store.Remedy(err), r.resumeHint())
	default:
		err = fmt.Errorf("%w; finished trials are kept in %s; %s", err, r.Dir, r.resumeHint())
	}
	return failure.Environment.Of(err)
}
