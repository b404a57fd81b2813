package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
)

// A refutation runs what can refute the statements about a run.
type refutation struct {
	version    string
	dir        string // of the run
	rep        *account.Account
	network    string // "" means all
	hypotheses string // file
	fast, keep bool
	blocks     int
	maxTime    time.Duration // of each run, whose blocks are as many as its test needs; 0: blocks is all
}

// A refuting is one run of a refutation.
type refuting struct {
	explain.Statement
	study study.Study
	dir   string
}

func (r *refutation) run(ctx context.Context, asJSON, md bool) error {
	statements, err := r.statements()
	if err != nil {
		return err
	}
	if len(statements) == 0 {
		warn(lang.T("nothing to test: no run could refute what weir explain %s says", r.dir))
		return nil
	}
	if r.rep.Target.Exists() {
		return r.commands(statements)
	}
	if ranInVM(r.dir) {
		return usage("%s was measured in a virtual machine, and --test builds networks on this machine only: run the study here, and test that run", r.dir)
	}
	runs, err := r.plan(statements)
	if err != nil {
		return err
	}
	return inLab(ctx, func() error {
		verdicts, err := r.test(ctx, runs)
		if err != nil {
			return err
		}
		page := section.Verdicts(verdicts)
		switch {
		case asJSON:
			err = printJSON(os.Stdout, verdicts)
		case md:
			err = render.Markdown(os.Stdout, spoken(page))
		default:
			err = render.Text(os.Stdout, spoken(page), width())
		}
		refuted := 0
		for _, v := range verdicts {
			if v.Outcome == explain.Refuted {
				refuted++
			}
		}
		if err == nil && refuted > 0 {
			err = fmt.Errorf("%d of %d statements are refuted", refuted, len(verdicts))
		}
		return err
	})
}

// statements returns what to test: the user's own findings, or the statements about the run that a run can
// refute.
func (r *refutation) statements() (out []explain.Statement, _ error) {
	if r.hypotheses == "" {
		return r.rep.Why().Of(r.network).Tests(), nil
	}
	b, err := foreign.ReadFile(r.hypotheses, maxFacts)
	var own []finding.Finding
	if err == nil {
		err = json.Unmarshal(b, &own)
	}
	if err != nil {
		return nil, usage("--hypothesis %s: %w", r.hypotheses, err)
	}
	for i, f := range own {
		if len(f.Cells) == 0 || f.Test == nil || f.Test.Metric == "" || !(f.Test.Factor > 0) || f.Test.Factor == 1 {
			return nil, usage("--hypothesis %s: finding %d needs cells, and a test with a metric and a factor above 0 and not 1", r.hypotheses, i+1)
		}
		if !foreign.Printable(string(f.Text), string(f.Test.Text), string(f.Test.Metric)) {
			return nil, usage("--hypothesis %s: finding %d has characters that do not print, such as a line break, in a text", r.hypotheses, i+1)
		}
		if r.network == "" || f.Cells[0].Network == r.network {
			out = append(out, explain.Statement{Subject: explain.Hypothesis, Cells: f.Cells, Place: f.Place, Text: f.Text, Test: f.Test})
		}
	}
	return out, nil
}

// plan returns the runs. It skips statements of weir's own that it cannot test, with the reason.
func (r *refutation) plan(statements []explain.Statement) (runs []refuting, _ error) {
	found, err := storedStudy(r.dir)
	if err != nil {
		return nil, err
	}
	if r.fast {
		found = found.Faster()
	}
	found.Blocks, found.KeepDisturbed = r.blocks, found.KeepDisturbed || r.keep
	var dirs []string
	var cannot error
	for _, s := range statements {
		x := refuting{Statement: s}
		if x.study, err = explain.Refuting(found, s, catalog.Applies); err == nil {
			if r.maxTime > 0 {
				x.study.Precision, x.study.MaxTime = explain.Precision(*s.Test), r.maxTime
			}
			err = check(x.study)
		}
		if err != nil {
			cannot = exit(exitUsage, fmt.Errorf("cannot test %q: %w", s.Text, err))
			if r.hypotheses != "" {
				return nil, cannot
			}
			say(lang.T("cannot test \"%s\": %v", s.Text, err))
			continue
		}
		x.dir = filepath.Join(account.TestsDir, s.ID())
		for n := 2; ; n++ {
			other, err := another(filepath.Join(r.dir, x.dir), x.study)
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

// another reports whether a directory holds a run of another test, such as that of an earlier hypothesis about
// the same cell. Blocks and windows can differ: an interrupted run continues with its own.
func another(dir string, s study.Study) (bool, error) {
	if !started(dir) {
		return false, nil
	}
	stored, err := storedStudy(dir)
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
	return what(stored) != what(s), exit(exitEnvironment, err)
}

// test measures what the runs lack, and judges each as soon as it has ended. The stored verdicts on
// other statements stay.
func (r *refutation) test(ctx context.Context, runs []refuting) (verdicts []explain.Verdict, _ error) {
	if err := os.MkdirAll(filepath.Join(r.dir, account.TestsDir), 0o777); err != nil {
		return nil, exit(exitEnvironment, fmt.Errorf("%w: the results of --test are kept there; copy %s to where you can write, and test the copy", err, r.dir))
	}
	all, err := account.ReadVerdicts(r.dir)
	if err != nil {
		return nil, exit(exitEnvironment, err)
	}
	for i, x := range runs {
		say(lang.T("test %d of %d: %s", i+1, len(runs), x.Text))
		rep, err := r.measure(ctx, x)
		if err != nil {
			return nil, err
		}
		v := explain.Read(x.Statement, rep.Analysis, rep.Findings())
		v.Dir, v.Weir = x.dir, r.version
		verdicts = append(verdicts, v)
		all = append(slices.DeleteFunc(all, func(old explain.Verdict) bool { return old.Dir == v.Dir }), v)
		b, err := explain.EncodeVerdicts(all)
		if err == nil {
			err = store.WriteFile(filepath.Join(r.dir, account.TestsDir, account.VerdictsFile), b)
		}
		if err != nil {
			return nil, exit(exitEnvironment, fmt.Errorf("%w: make room, then %s", err, r.again()))
		}
	}
	return verdicts, nil
}

// measure completes one run and stores its report. It keeps the run out of the history of this machine: a
// network with a fault says nothing about how much runs of healthy ones differ.
func (r *refutation) measure(ctx context.Context, x refuting) (rep *account.Account, err error) {
	one := &runner{version: r.version, at: thisMachine, study: x.study, dir: filepath.Join(r.dir, x.dir), resumeCmd: r.again(), ratios: explain.Deciding}
	if started(one.dir) {
		one.resume = one.dir
		if one.study, err = storedStudy(one.dir); err != nil {
			return rep, err
		}
		done, err := one.finished()
		if err != nil {
			return rep, exit(exitEnvironment, err)
		}
		if done {
			say(lang.T("%s holds this run already; remove it to measure again", one.dir))
			return load(one.dir, r.keep)
		}
	}
	return one.complete(ctx, r.keep)
}

func (r *refutation) again() string { return "weir explain --test " + plan.ShellWord(r.dir) }

// commands prints what the user would run on machines that weir does not change.
func (r *refutation) commands(statements []explain.Statement) error {
	fmt.Println(said(lang.T("weir changes nothing on %s. To test a statement, remove the supposed cause yourself:", aboutTarget(r.rep.Target))))
	file := plan.ShellWord(filepath.Join(r.dir, "study.yaml"))
	for _, s := range statements {
		fmt.Printf("\n%s: %s\n", s.Cells[0].Network, s)
		nodes, lines, err := explain.Commands(*s.Test)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			fmt.Printf("  %s\n    %s\n", said(lang.T("on %s:", r.where(node))), strings.Join(lines[node], "\n    "))
		}
		for _, with := range explain.Flags(*s.Test) {
			fmt.Println("  " + said(lang.T("measure with %s", with)))
		}
	}
	fmt.Printf("\n%s\n    weir run %s -o after\n    weir compare %s after\n", said(lang.T("Then measure again and compare:")), file, plan.ShellWord(r.dir))
	return nil
}

// where names a node of the plan for the user: a machine by its name, a pod with its machine.
func (r *refutation) where(node string) lang.Text {
	host, pod, isPod := strings.Cut(node, "p")
	m := r.rep.Analysis.MachineOf(host)
	if isPod {
		return lang.T("pod %s of %s", pod, m.Name)
	}
	return lang.Text(m.Name)
}
