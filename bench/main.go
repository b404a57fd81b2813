// Bench compares the native engine with other tools, and with a minimal C program, on the same
// paths in the same blocks. It prints a table in Markdown: the figure of each, and the engine
// divided by it with an interval.
//
//	go run ./bench [-blocks 20] [-o DIR] > docs/benchmarks.md
//	go run ./bench -coverage 60 [-o DIR] > docs/coverage.md
//	go run ./bench -changes 10 [-o DIR]
//	go run ./bench -busy 0.5 [-busy-runs 3] [-o DIR] [FLAGS OF WEIR RUN]
//	go run ./bench -states 5m [-o DIR]
//
// It is an ordinary study that compares probes instead of networks. With -startup it measures the
// time until each network is ready:
//
//	go run ./bench -startup [-blocks 20] > docs/startup.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/cli"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
	"github.com/weir-bench/weir/record"
)

func init() { runtime.LockOSThread() } // see package netns

func main() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // in the lab this program stands for weir
		os.Exit(cli.Main("bench", os.Args[1:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stateTime := flag.Duration("states", 0, "instead, look for `time` for what makes the states of throughput")
	starts := flag.Bool("startup", false, "measure the time until each network is ready, and print CSV")
	blocks := flag.Int("blocks", 20, "rounds")
	runs := flag.Int("coverage", 0, "instead, `runs` of two equal networks, to count how often the intervals cover the truth")
	changed := flag.Int("changes", 0, "instead, `runs` of each of several networks before and after a change, to count how often a comparison shows it")
	var o others
	flag.StringVar(&o.newIperf3, "iperf3", "", "`path` of a newer iperf3, to add to the comparison")
	flag.StringVar(&o.neper, "neper", "", "`directory` of neper's programs, to add to the comparison")
	only := flag.String("only", "", "run only the contests whose name matches this regular expression")
	cores := flag.Float64("busy", 0, "instead, run the default study alongside a program that uses so many `CPUs`, and compare with quiet runs")
	each := flag.Int("busy-runs", 3, "with -busy: quiet runs, and as many busy ones; arguments after the flags are added to weir run")
	hog := flag.Float64("compute", 0, "internal: use so many `CPUs` until the end of standard input")
	dir := flag.String("o", "", "new directory for the results (default: a temporary one)")
	flag.Parse()
	switch {
	case *hog > 0:
		compute(*hog, os.Stdin)
		return
	case *cores > 0:
		exit(busy(ctx, *cores, *each, flag.Args(), *dir, os.Stdout))
	}
	if !rootless.Inside() {
		code, err := rootless.Reexec(ctx)
		if err != nil {
			exit(err)
		}
		os.Exit(code)
	}
	if *starts {
		exit(startup(ctx, *blocks, os.Stdout))
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		exit(fmt.Errorf("-only: %w", err))
	}
	exit(bench(ctx, o, chosen, *blocks, *runs, *changed, *stateTime, *dir, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func bench(ctx context.Context, o others, only *regexp.Regexp, blocks, runs, changed int, stateTime time.Duration, dir string, w io.Writer) (err error) {
	if err := rootless.Setup(); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "weir-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if dir == "" {
		dir = filepath.Join(tmp, "results")
	}
	if stateTime > 0 {
		return states(ctx, stateTime, dir, w)
	}
	if runs > 0 {
		return coverage(ctx, runs, dir, w)
	}
	if changed > 0 {
		return changes(ctx, changed, dir, w)
	}
	limit := filepath.Join(tmp, "limit")
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-o", limit, "bench/c/limit.c").CombinedOutput(); err != nil {
		return fmt.Errorf("cc bench/c/limit.c: %w: %s; run it in the root of the repository, with a C compiler (package gcc)", err, out)
	}
	cc, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return err
	}
	o.cc = strings.TrimSpace(string(cc))
	contests := slices.DeleteFunc(contests(limit, o), func(c contest) bool { return !only.MatchString(c.name) })
	s, probes := benchStudy(contests, blocks)
	results, err := run(ctx, s, probes, dir)
	if err != nil {
		return err
	}
	write(w, contests, results)
	return nil
}

// benchStudy compares the contenders of all contests on both networks. It returns their probes by
// label.
func benchStudy(contests []contest, blocks int) (study.Study, map[string]probe.Probe) {
	s, probes := study.Default(), map[string]probe.Probe{}
	s.Name, s.Blocks, s.Warmup, s.Duration = "bench", blocks, time.Second, time.Second
	s.Networks = []study.Use{{Kind: "host"}, {Kind: "vxlan-overlay"}}
	for _, c := range contests {
		for _, p := range c.contenders {
			s.Probes = append(s.Probes, study.Use{Name: c.label(p), Kind: "bench"})
			probes[c.label(p)] = p.probe
		}
	}
	return s, probes
}

// run measures s with probes by name, on the two kinds of networks that this program compares.
func run(ctx context.Context, s study.Study, probes map[string]probe.Probe, dir string) ([]record.Result, error) {
	return runThen(ctx, s, probes, dir, func(record.Result) {})
}

// runThen is run, and calls then after every trial.
func runThen(ctx context.Context, s study.Study, probes map[string]probe.Probe, dir string, then func(record.Result)) ([]record.Result, error) {
	hosts, err := topo.New(topo.Spec{})
	if err != nil {
		return nil, err
	}
	s.Seed = uint64(time.Now().Unix())
	s = s.Resolve()
	drivers := map[string]network.Driver{
		"host":          network.Host{},
		"vxlan-overlay": network.VXLANOverlay{VNI: network.DefaultVNI, Port: network.DefaultVXLANPort},
	}
	networks := map[string]experiment.Network{}
	for _, n := range s.Networks {
		networks[n.Name] = experiment.Network{Driver: drivers[n.Kind], Topology: hosts}
	}
	return measure(ctx, s, networks, probes, dir, then)
}

// measure runs s on networks and with probes by name.
func measure(ctx context.Context, s study.Study, networks map[string]experiment.Network, probes map[string]probe.Probe, dir string, then func(record.Result)) ([]record.Result, error) {
	d, err := store.Create(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return experiment.Run(ctx, experiment.Config{
		Study: s.Resolve(), Dir: d, Target: lab.Target{}, Networks: networks,
		Applies: func(string, string) bool { return false },
		Probe:   func(name string, _ map[string]string) (probe.Probe, error) { return probes[name], nil },
		Progress: func(e experiment.Event) {
			if e.Result != nil {
				then(*e.Result)
			}
			if e.Result != nil && e.Result.Status != record.OK && e.Result.Status != record.Skipped {
				fmt.Fprintf(os.Stderr, "%s: %s\n", e.Result.Trial, e.Result.Reason)
			}
			fmt.Fprintf(os.Stderr, "\r%d/%d, %v left   ", e.Done, e.Total, e.Left.Round(time.Second))
		},
	})
}

// rows holds each contender's row per network, divided by the first contender of its contest.
type rows map[[2]string]analysis.Row // by network and label

// compare divides every contender by the first one of its contest. All trials count, because the
// benchmark runs on an idle machine.
func compare(contests []contest, rs []record.Result) rows {
	run, out := analysis.New(rs, analysis.Options{KeepDisturbed: true}), rows{}
	for _, c := range contests {
		p := analysis.Projection{Row: analysis.Probe, Baseline: c.label(c.contenders[0]), Each: 0.95}
		for _, t := range run.Project(p) {
			for _, r := range t.Rows {
				if slices.ContainsFunc(c.contenders, func(x contender) bool { return c.label(x) == r.Level }) {
					out[[2]string{r.Network, r.Level}] = r
				}
			}
		}
	}
	return out
}

func write(w io.Writer, contests []contest, rs []record.Result) {
	f := facts.Collect(os.DirFS("/"))
	fmt.Fprintf(w, "# Benchmarks\n\nMade by `make bench` on %s: %s, %d CPUs, Linux %s, %s. Trust the ratios, which are\n"+
		"paired within blocks, not the absolute figures. Each interval holds at 95 %% confidence.\n",
		time.Now().Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel, f.Distribution)
	all := compare(contests, rs)
	writeGoals(w, contests, all)
	for _, c := range contests {
		fmt.Fprintf(w, "\n## %s\n\n| tool | version | host | engine ÷ tool | vxlan-overlay | engine ÷ tool |\n|---|---|---|---|---|---|\n", c.name)
		for _, p := range c.contenders {
			fmt.Fprintf(w, "| %s | %s |", p.name, all.version(c.label(p)))
			for _, n := range []string{"host", "vxlan-overlay"} {
				r := all[[2]string{n, c.label(p)}]
				value, ratio := "-", ""
				if r.Value.N > 0 {
					value = unit.Format(r.Value.Center, c.unit)
				}
				if !r.Baseline {
					ratio = bracket(r.Ratio.Inverse())
				}
				fmt.Fprintf(w, " %s | %s |", value, ratio)
			}
			fmt.Fprintln(w)
		}
	}
}

func bracket(i stat.Interval) string {
	switch {
	case i.N == 0:
		return "-"
	case !i.Bounded():
		return fmt.Sprintf("%.2f", i.Center)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Center, i.Lo, i.Hi)
}

// writeGoals prints the goals, and whether all or none of the interval reaches them.
func writeGoals(w io.Writer, contests []contest, all rows) {
	fmt.Fprint(w, "\n## Goals\n\n| | against | goal | host | | vxlan-overlay | |\n|---|---|---|---|---|---|---|\n")
	for _, c := range contests {
		lower := record.LowerIsBetter(c.unit)
		for _, p := range c.contenders {
			if p.goal == 0 {
				continue
			}
			sign := "≥"
			if lower {
				sign = "≤"
			}
			fmt.Fprintf(w, "| %s | %s | %s %.4g |", c.name, p.name, sign, p.goal)
			for _, n := range []string{"host", "vxlan-overlay"} {
				i := all[[2]string{n, c.label(p)}].Ratio.Inverse()
				fmt.Fprintf(w, " %s | %s |", bracket(i), reached(i, p.goal, lower))
			}
			fmt.Fprintln(w)
		}
	}
}

func reached(i stat.Interval, goal float64, lower bool) string {
	switch {
	case !i.Bounded():
		return "not measured"
	case lower && i.Hi <= goal, !lower && i.Lo >= goal:
		return "reached"
	case lower && i.Lo > goal, !lower && i.Hi < goal:
		return "missed"
	}
	return "undecided"
}

func (all rows) version(label string) string {
	for _, n := range []string{"host", "vxlan-overlay"} {
		r := all[[2]string{n, label}]
		switch tool := r.Observed["tool"]; {
		case r.Skipped > 0:
			return "not installed"
		case r.OK > 0 && strings.HasPrefix(tool, "/"):
			return "" // a program that does not report one
		case r.OK > 0:
			return strings.TrimPrefix(tool, "weir ")
		}
	}
	return "failed"
}
