package job

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/history"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/vm"
)

// A Diagnosis is one line of `weir doctor`.
type Diagnosis struct {
	facts.Check
	Needed bool `json:"needed"` // the default study cannot run without it
}

// Doctor looks for what this machine lacks, by trying it where possible. forbidden says why the lab cannot be entered;
// nil: this process is in it.
func Doctor(ctx context.Context, forbidden error) (ds []Diagnosis, err error) {
	here := local.Host()
	f, err := here.Facts(ctx)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	add := func(checks ...facts.Check) {
		for _, c := range checks {
			ds = append(ds, Diagnosis{Check: c})
		}
	}
	add(facts.Checks(here.FS, f)...)
	kernel, can, err := tryKernel(ctx, forbidden)
	if err != nil {
		return nil, failure.Environment.Of(err)
	}
	ds = append(can.diagnoses(), ds...)
	ds = append(ds, kernel...)
	add(checkTrace())
	for _, tool := range catalog.Tools() {
		path, version, err := here.Tool(ctx, tool)
		c := facts.Check{Name: tool.Program, OK: err == nil, Detail: strings.TrimPrefix(version+", "+path, ", ")}
		if err != nil {
			c.Detail = err.Error()
		}
		add(c)
	}
	add(vm.Checks()...)
	add(checkProfile(), checkHistory())
	return ds, context.Cause(ctx) // a check that a signal ended says nothing about what is missing
}

// tryKernel creates one of each kernel object that networks use.
func tryKernel(ctx context.Context, forbidden error) (ds []Diagnosis, can Able, _ error) {
	if forbidden != nil {
		return []Diagnosis{{facts.Check{Name: "lab", Detail: forbidden.Error()}, true}}, unableAll(forbidden), nil
	}
	fs, err := lab.Supports(ctx)
	if err != nil {
		return nil, can, err
	}
	if can, err = able(fs); err != nil {
		return nil, can, err
	}
	for _, f := range fs {
		c := facts.Check{Name: "kernel: " + f.Name, OK: f.Err == nil, Detail: "created one"}
		if f.Err != nil {
			c.Detail = lab.Briefly(f.Err)
		}
		ds = append(ds, Diagnosis{c, f.Needed})
	}
	return ds, can, nil
}

func checkTrace() facts.Check {
	mode, why := packettrace.Available()
	c := facts.Check{Name: "packet trace", OK: mode == packettrace.ByBPF, Detail: "tracepoints by BPF: every hop, and the reasons of drops"}
	if !c.OK {
		c.Detail = fmt.Sprintf("by %s only: %v", mode, cmp.Or(why, packettrace.ErrRefused))
		c.Fix = "sudo weir trace, on a kernel with BTF (CONFIG_DEBUG_INFO_BTF)"
	}
	return c
}

func checkProfile() facts.Check {
	c := facts.Check{Name: "profile", OK: true, Detail: "weir run --profile samples the kernel's functions (perf_event_open)"}
	if err := profile.Check(local.CPUs()); err != nil {
		c.OK, c.Detail = false, err.Error()
	}
	return c
}

// checkHistory describes the history of runs on this machine.
func checkHistory() facts.Check {
	c := facts.Check{Name: "history of runs"}
	file, err := history.File()
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	entries, bad, err := history.Read(file)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "make it readable, or set XDG_STATE_HOME to another directory"
		return c
	}
	here := account.Machine(facts.Collect(local.Host().FS)).ID()
	runs, cells := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if e.ID == here {
			runs[e.Run], cells[e.Key()] = true, true
		}
	}
	known := len(history.Spreads(entries, here, ""))
	c.OK = true
	c.Detail = fmt.Sprintf("%s: runs on this machine: %d, cells: %d, in at least %d runs: %d; to forget them, delete the file",
		file, len(runs), len(cells), analysis.MinSpread, known)
	if bad > 0 {
		c.Detail = fmt.Sprintf("%s: runs on this machine: %d, cells: %d, in at least %d runs: %d; to forget them, delete the file; unreadable lines skipped: %d",
			file, len(runs), len(cells), analysis.MinSpread, known, bad)
	}
	return c
}
