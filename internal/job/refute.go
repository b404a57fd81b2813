package job

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// RefuteOptions say what to test of a run, and how.
type RefuteOptions struct {
	Caller
	Account    *account.Account // of the run
	Network    string           // "": all
	Hypotheses string           // file of findings to test instead; "": none
	Fast, Keep bool             // short windows; count disturbed trials
	Blocks     int
	MaxTime    time.Duration // of each run, whose blocks are as many as its test needs; 0: Blocks is all
}

// A Refutation runs what can refute the statements about a run.
type Refutation struct {
	RefuteOptions
	Statements []explain.Statement // none: no run could refute what is said
	runs       []refuting
}

// A refuting is one run of a refutation.
type refuting struct {
	explain.Statement
	study study.Study
	dir   string
}

// PlanRefutation returns the runs that can refute what is said about a run. For machines that exist there are none: see
// ByHand.
func PlanRefutation(o RefuteOptions) (*Refutation, error) {
	r := &Refutation{RefuteOptions: o}
	var err error
	if r.Statements, err = r.statements(); err != nil || len(r.Statements) == 0 || o.Account.Target.Exists() {
		return r, err
	}
	if dir := o.Account.Dir; RanInVM(dir) {
		return nil, failure.Usage.Errorf("%s was measured in a virtual machine, and --test builds networks on this machine only: run the study here, and test that run", dir)
	}
	r.runs, err = r.plan(r.Statements)
	return r, err
}

// statements returns what to test: the user's own findings, or the statements about the run that a run can
// refute.
func (r *Refutation) statements() (out []explain.Statement, _ error) {
	if r.Hypotheses == "" {
		return r.Account.Why().Of(r.Network).Tests(), nil
	}
	b, err := foreign.ReadFile(r.Hypotheses, bounds.MaxFile)
	var own []finding.Finding
	if err == nil {
		err = bounds.JSON(b, &own)
	}
	if err != nil {
		return nil, failure.Usage.Errorf("--hypothesis %s: %w", r.Hypotheses, err)
	}
	for i, f := range own {
		if len(f.Cells) == 0 || f.Test == nil || f.Test.Metric == "" || !(f.Test.Factor > 0) || f.Test.Factor == 1 {
			return nil, failure.Usage.Errorf("--hypothesis %s: finding %d needs cells, and a test with a metric and a factor above 0 and not 1", r.Hypotheses, i+1)
		}
		if !foreign.Printable(string(f.Text), string(f.Test.Text), string(f.Test.Metric)) {
			return nil, failure.Usage.Errorf("--hypothesis %s: finding %d has characters that do not print, such as a line break, in a text", r.Hypotheses, i+1)
		}
		if r.Network == "" || f.Cells[0].Network == r.Network {
			out = append(out, explain.Statement{Subject: explain.Hypothesis, Cells: f.Cells, Place: f.Place, Text: f.Text, Test: f.Test})
		}
	}
	return out, nil
}

// plan returns the runs. It skips weir's own statements that it cannot test, and says why.
func (r *Refutation) plan(statements []explain.Statement) (runs []refuting, _ error) {
	found, err := StoredStudy(r.Account.Dir)
	if err != nil {
		return nil, err
	}
	if r.Fast {
		found = found.Faster()
	}
	found.Blocks, found.KeepDisturbed = r.Blocks, found.KeepDisturbed || r.Keep
	var dirs []string
	var cannot error
	for _, s := range statements {
		x := refuting{Statement: s}
		if x.study, err = explain.Refuting(found, s, catalog.Applies); err == nil {
			if r.MaxTime > 0 {
				x.study.Precision, x.study.MaxTime = explain.Precision(*s.Test), r.MaxTime
			}
			err = place.Check(x.study)
		}
		if err != nil {
			cannot = failure.Usage.Errorf("cannot test %q: %w", s.Text, err)
			if r.Hypotheses != "" {
				return nil, cannot
			}
			r.Tell.Say(lang.T("cannot test \"%s\": %v", s.Text, err))
			continue
		}
		x.dir = filepath.Join(account.TestsDir, s.ID())
		for n := 2; ; n++ {
			other, err := Another(filepath.Join(r.Account.Dir, x.dir), x.study)
			if err != nil {
				return nil, err
			}
			if !other && !slices.Contains(dirs, x.dir) {
				break
			}
			x.dir = filepath.Join(account.TestsDir, fmt.Sprintf("%s-%d", s.ID(), n))
		}
		dirs, runs = append(dirs, x.dir), append(runs, x)
	}
	if runs == nil {
		return nil, cannot
	}
	return runs, nil
}

// Another reports whether a directory holds a run of another test, such as that of an earlier hypothesis about
// the same cell. Blocks and windows can differ: an interrupted run continues with its own.
func Another(dir string, s study.Study) (bool, error) {
	if !Started(dir) {
		return false, nil
	}
	stored, err := StoredStudy(dir)
	if err != nil {
		return false, err
	}
	b, err := s.Encode()
	if err == nil {
		s, err = study.Load(b, "study.yaml")
	}
	what := func(s study.Study) string {
		return fmt.Sprint(s.Networks, s.Probes, s.Factors, s.Compare, s.Topology)
	}
	return what(stored) != what(s), failure.Environment.Of(err)
}

// Run measures, in the lab, which has been entered, the trials that the runs lack, and judges each run as soon as it
// has ended. The stored verdicts on other statements stay.
func (r *Refutation) Run(ctx context.Context) (verdicts []explain.Verdict, _ error) {
	if err := os.MkdirAll(filepath.Join(r.Account.Dir, account.TestsDir), 0o777); err != nil {
		return nil, failure.Environment.Errorf("%w: the results of --test are kept there; copy %s to where you can write, and test the copy", err, r.Account.Dir)
	}
	all, err := account.ReadVerdicts(r.Account.Dir)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	for i, x := range r.runs {
		r.Tell.Say(lang.T("test %d of %d: %s", i+1, len(r.runs), x.Text))
		rep, err := r.measure(ctx, x)
		if err != nil {
			return nil, err
		}
		v := explain.Read(x.Statement, rep.Analysis, rep.Findings())
		v.Dir, v.Weir = x.dir, r.Version
		verdicts = append(verdicts, v)
		all = append(slices.DeleteFunc(all, func(old explain.Verdict) bool { return old.Dir == v.Dir }), v)
		b, err := explain.EncodeVerdicts(all)
		if err == nil {
			err = store.WriteFile(filepath.Join(r.Account.Dir, account.TestsDir, account.VerdictsFile), b)
		}
		if err != nil {
			return nil, failure.Environment.Errorf("%w: %s, then %s", err, store.Remedy(err), r.again())
		}
	}
	return verdicts, nil
}

// measure completes one run and stores its report. It keeps the run out of the history of this machine: a
// network with a fault says nothing about how much runs of healthy ones differ.
func (r *Refutation) measure(ctx context.Context, x refuting) (*account.Account, error) {
	o := RunOptions{Caller: r.Caller, At: place.Lab, Study: x.study, Dir: filepath.Join(r.Account.Dir, x.dir), ResumeCmd: r.again(), Ratios: explain.Deciding}
	if done, err := Finished(o.Dir); err == nil && done {
		r.Tell.Say(lang.T("%s holds this run already; remove it to measure again", o.Dir))
	}
	return Complete(ctx, o, r.Keep)
}

func (r *Refutation) again() string { return "weir explain --test " + plan.ShellWord(r.Account.Dir) }

// A HandTest is how the user tests a statement about machines that weir does not change.
type HandTest struct {
	explain.Statement
	Steps   []HandStep // that remove the supposed cause
	Measure []string   // flags to measure with
}

// A HandStep is commands on one machine, or in one pod.
type HandStep struct {
	Where    lang.Text
	Commands []string
}

// ByHand returns what the user would run.
func (r *Refutation) ByHand() (all []HandTest, _ error) {
	for _, s := range r.Statements {
		nodes, lines, err := explain.Commands(*s.Test)
		if err != nil {
			return nil, err
		}
		t := HandTest{Statement: s, Measure: explain.Flags(*s.Test)}
		for _, node := range nodes {
			t.Steps = append(t.Steps, HandStep{r.where(node), lines[node]})
		}
		all = append(all, t)
	}
	return all, nil
}

// where names a node of the plan for the user: a machine by its name, a pod with its machine.
func (r *Refutation) where(node string) lang.Text {
	host, pod, isPod := strings.Cut(node, "p")
	m := r.Account.Analysis.MachineOf(host)
	if isPod {
		return lang.T("pod %s of %s", pod, m.Name)
	}
	return lang.Text(m.Name)
}
