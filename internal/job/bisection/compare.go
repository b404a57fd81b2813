package bisection

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/record"
)

// compare measures two candidates side by side, and learns from it. A candidate whose trials fail is skipped.
func (b *bisection) compare(ctx context.Context, base, other int) error {
	names := b.names(base, other)
	dir := filepath.Join(comparisonsDir, fmt.Sprintf("%03d-%s-%s", len(b.out.Steps)+1, b.out.File(b.out.Hash(base)), b.out.File(b.out.Hash(other))))
	b.Tell.Say(lang.T("comparison %d: %s with %s", len(b.out.Steps)+1, names[0], names[1]))
	pair, more := b.builds, "--blocks"
	if b.out.Pairs() > 0 {
		pair, more = b.pairs, "--pairs"
	}
	x, err := pair(ctx, dir, base, other)
	if err != nil || x.N == 0 {
		return err
	}
	c, ok := bisect.Of(base, other, x.Interval)
	if !ok {
		return b.skip(other, "its ratio has no interval, because of too few trials: measure more "+more)
	}
	b.search.Add(c)
	b.out.Metric, b.out.Unit = x.metric, x.unit
	b.out.Steps = append(b.out.Steps, bisect.Step{Base: b.out.Hash(base), Other: b.out.Hash(other), Ratio: x.Interval, Ways: x.ways, Dir: dir, Posterior: b.search.Posterior()})
	v := b.search.Verdict()
	b.Tell.Say(lang.T("ratio %.3f [%.3f, %.3f]; most probable now: %s (%.1f %%)", x.Center, x.Lo, x.Hi, b.called(v), 100*min(v.P, 0.999)))
	return nil
}

// A ratio divides the values of two candidates; N is 0 if one was skipped.
type ratio struct {
	stat.Interval
	ways   []stat.Interval // of a Step
	metric record.Quantity
	unit   string
}

// builds compares two builds in one run, which dir names below the directory of the search.
func (b *bisection) builds(ctx context.Context, dir string, base, other int) (ratio, error) {
	names := b.names(base, other)
	if err := b.measure(ctx, filepath.Join(b.Dir, dir), b.pair(names, base, other)); err != nil {
		return ratio{}, err
	}
	a, err := job.Load(filepath.Join(b.Dir, dir), false)
	if err != nil {
		return ratio{}, err
	}
	t, row := rowOf(a.Analysis, names[1])
	if row == nil || row.Ratio.N == 0 {
		return ratio{}, b.broken(a, names, base, other)
	}
	return ratio{Interval: row.Ratio, metric: t.Metric, unit: t.Unit}, nil
}

// called names a verdict.
func (b *bisection) called(v bisect.Verdict) lang.Text {
	switch {
	case v.Last == 0:
		return lang.T("no change")
	case v.First == v.Last:
		return lang.Text(b.out.Name(b.out.Hash(v.Last)))
	case b.Guests != nil:
		return lang.T("one of %d kernels up to %s", v.Last-v.First+1, b.out.Name(b.out.Hash(v.Last)))
	}
	return lang.T("one of %d commits up to %s", v.Last-v.First+1, b.out.Name(b.out.Hash(v.Last)))
}

// pair returns the study with a network for each candidate, each of which prefers the candidate's programs.
func (b *bisection) pair(names []string, candidates ...int) study.Study {
	s := b.Study
	s.Networks, s.Baseline, s.Compare = nil, names[0], nil
	for i, name := range names {
		u := b.Study.Networks[0]
		u.Name, u.Options = name, maps.Clone(u.Options)
		if u.Options == nil {
			u.Options = map[string]string{}
		}
		u.Options[study.ProgramsKey] = b.programs(candidates[i])
		s.Networks = append(s.Networks, u)
	}
	return s
}

// measure completes a run in a process of its own: this process builds outside of the lab, since the lab has no way to
// the Internet.
func (b *bisection) measure(ctx context.Context, dir string, s study.Study) error {
	if done, err := job.Finished(dir); err != nil || done {
		return failure.Environment.Of(err)
	}
	run := []string{"weir", "run"}
	if b.out.Nodes == nil {
		run = append(run, "--allow-commands") // its networks name programs
	}
	argv := append(slices.Clone(run), "--resume", dir)
	if !job.Started(dir) {
		src, err := s.Encode()
		if err != nil {
			return failure.Usage.Of(err)
		}
		file := dir + ".yaml"
		if err := store.WriteFile(file, src); err != nil {
			return failure.Environment.Of(err)
		}
		argv = append(run, file, "-o", dir)
	}
	var said bytes.Buffer
	status, err := b.weir(ctx, argv, &said)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status == 0 || status == int(failure.Check): // 1: not all trials are ok
		return nil
	}
	return failure.Environment.Errorf("%s: %w: %s; continue with: %s", strings.Join(argv, " "), err, lastLine(said.Bytes()), b.again())
}

// weir runs this program, as a child that ends with this process, even if this process is killed.
func (b *bisection) weir(ctx context.Context, argv []string, said *bytes.Buffer) (status int, err error) {
	done := make(chan error)
	go func() {
		done <- caught.Error(func() error {
			runtime.LockOSThread() // never unlocked: the signal comes when the thread that starts the program ends
			cmd, tag := local.Command(ctx, argv, []string{b.tag()})
			cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
			cmd.Stdout, cmd.Stderr = io.Discard, io.MultiWriter(b.Output, said)
			if err := cmd.Start(); err != nil {
				return err
			}
			err := cmd.Wait()
			tag.End(cmd.Process.Pid)
			status = cmd.ProcessState.ExitCode()
			return err
		})
	}()
	err = <-done
	return status, err
}

// rowOf returns the comparison with the baseline of a network.
func rowOf(a *analysis.Run, network string) (*analysis.Table, *analysis.Row) {
	for i := range a.Tables {
		for k := range a.Tables[i].Rows {
			if r := &a.Tables[i].Rows[k]; r.Network == network {
				return &a.Tables[i], r
			}
		}
	}
	return nil, nil
}

// broken skips the candidate without an ok trial, and gives the last reason of its trials.
func (b *bisection) broken(a *account.Account, names []string, candidates ...int) error {
	for _, i := range []int{1, 0} { // the other first: the base is often GOOD
		var why string
		ok := false
		for _, r := range a.Results {
			if r.Config["network"] != names[i] {
				continue
			}
			if ok = ok || r.Status == record.OK; r.Reason != "" {
				why = r.Reason
			}
		}
		if !ok {
			return b.skip(candidates[i], why)
		}
	}
	return b.skip(candidates[1], "its trials and those of the other share no block: measure more --blocks")
}

// writePage stores the page of what is known.
func (b *bisection) writePage() error {
	page := Page(b.Dir, &b.out)
	page.Lang = b.Lang
	var html bytes.Buffer
	if err := render.HTML(&html, page); err != nil {
		return err
	}
	return store.WriteFile(filepath.Join(b.Dir, pageFile), html.Bytes())
}

// OneCell returns an error for a study that a search cannot measure: it compares candidates by one value.
func OneCell(s study.Study) error {
	var have []string
	for _, u := range s.Networks {
		have = append(have, u.Name)
	}
	switch {
	case len(s.Networks) != 1:
		return failure.Usage.Errorf("the study has %d networks (%s), and a search measures one: choose it with -n", len(have), strings.Join(have, ", "))
	case len(s.Probes) != 1:
		return failure.Usage.Errorf("the study has %d probes, and a search measures by one: choose it with -p", len(s.Probes))
	case len(s.Factors) > 0:
		return failure.Usage.Errorf("the study varies %s, and a search measures under one condition: set it as an option of the network or the probe", strings.Join(slices.Sorted(maps.Keys(s.Factors)), ", "))
	case s.Target.Exists():
		return failure.Usage.Errorf("a search measures in the lab only: leave out --ssh and --kube")
	}
	return nil
}
