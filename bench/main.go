// Bench compares the native engine with other tools, and with the least that a C
// program can do, on the same paths in the same blocks. It prints a table in
// Markdown: what each measured, and the engine divided by it with an interval.
//
//	go run ./bench [-blocks 20] [-o DIR] > docs/benchmarks.md
//	go run ./bench -coverage 70 [-o DIR] > docs/coverage.md
//
// It is a study like any other, in which probes are compared and not networks.
// With -startup it measures instead how long the networks take to be ready:
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
	starts := flag.Bool("startup", false, "measure how long networks take to be ready, and print CSV")
	blocks := flag.Int("blocks", 20, "rounds")
	runs := flag.Int("coverage", 0, "instead, runs of the same network twice, to count how often the intervals hold the truth")
	var o others
	flag.StringVar(&o.newIperf3, "iperf3", "", "a newer iperf3 than the installed one, to compare with as well")
	flag.StringVar(&o.neper, "neper", "", "directory of neper's programs, to compare with as well")
	only := flag.String("only", "", "a regular expression: the contests to run, by name (default: all)")
	dir := flag.String("o", "", "new directory for the results (default: a temporary one)")
	flag.Parse()
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
	exit(bench(ctx, o, chosen, *blocks, *runs, *dir, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func bench(ctx context.Context, o others, only *regexp.Regexp, blocks, runs int, dir string, w io.Writer) (err error) {
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
	if runs > 0 {
		return coverage(ctx, runs, dir, w)
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
	results, err := run(ctx, contests, blocks, dir)
	if err != nil {
		return err
	}
	write(w, contests, results)
	return nil
}

// run measures all contenders on both networks.
func run(ctx context.Context, contests []contest, blocks int, dir string) ([]record.Result, error) {
	d, err := store.Create(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	probes := map[string]probe.Probe{}
	s := study.Default()
	s.Name, s.Blocks, s.Seed, s.Warmup, s.Duration = "bench", blocks, uint64(time.Now().Unix()), time.Second, time.Second
	s.Networks = []study.Use{{Kind: "host"}, {Kind: "vxlan-overlay"}}
	for _, c := range contests {
		for _, p := range c.contenders {
			s.Probes = append(s.Probes, study.Use{Name: c.label(p), Kind: "bench"})
			probes[c.label(p)] = p.probe
		}
	}
	s = s.Resolve()
	hosts, err := topo.New(topo.Spec{})
	if err != nil {
		return nil, err
	}
	return experiment.Run(ctx, experiment.Config{
		Study: s, Dir: d, Open: lab.Open,
		Networks: map[string]experiment.Network{
			"host":          {Driver: network.Host{}, Topology: hosts},
			"vxlan-overlay": {Driver: network.VXLANOverlay{VNI: network.DefaultVNI, Port: network.DefaultVXLANPort}, Topology: hosts},
		},
		Applies: func(string, string) bool { return false },
		Probe:   func(name string, _ map[string]string) (probe.Probe, error) { return probes[name], nil },
		Progress: func(e experiment.Event) {
			if e.Result != nil && e.Result.Status != record.OK && e.Result.Status != record.Skipped {
				fmt.Fprintf(os.Stderr, "%s: %s\n", e.Result.Trial, e.Result.Reason)
			}
			fmt.Fprintf(os.Stderr, "\r%d/%d, %v left   ", e.Done, e.Total, e.Left.Round(time.Second))
		},
	})
}

// write prints one table per contest. The first contender is ours.
func write(w io.Writer, contests []contest, rs []record.Result) {
	f := facts.Collect(os.DirFS("/"))
	fmt.Fprintf(w, "# Benchmarks\n\nMade by `make bench` on %s: %s, %d CPUs, Linux %s, %s. Trust the ratios, which are\n"+
		"paired within blocks, not the absolute figures. Intervals hold with 95 %% each.\n",
		time.Now().Format("2006-01-02"), f.CPU, f.CPUs, f.Kernel, f.Distribution)
	writeGoals(w, contests, rs)
	for _, c := range contests {
		fmt.Fprintf(w, "\n## %s\n\n| tool | version | host | engine ÷ tool | vxlan-overlay | engine ÷ tool |\n|---|---|---|---|---|---|\n", c.name)
		for _, p := range c.contenders {
			fmt.Fprintf(w, "| %s | %s |", p.name, version(rs, c.label(p)))
			for _, n := range []string{"host", "vxlan-overlay"} {
				ours, theirs := values(rs, n, c.label(c.contenders[0])), values(rs, n, c.label(p))
				ratio := ""
				if p.name != c.contenders[0].name {
					ratio = bracket(against(ours, theirs))
				}
				fmt.Fprintf(w, " %s | %s |", middle(theirs, c.unit), ratio)
			}
			fmt.Fprintln(w)
		}
	}
}

// values are those of the ok trials of a cell, by block.
func values(rs []record.Result, network, probe string) map[int]float64 {
	v := map[int]float64{}
	for _, r := range rs {
		if r.Status == record.OK && r.Config["network"] == network && r.Config["probe"] == probe {
			v[r.Block] = r.Values[0].Value
		}
	}
	return v
}

func middle(v map[int]float64, u string) string {
	var list []float64
	for _, x := range v {
		list = append(list, x)
	}
	if len(list) == 0 {
		return "-"
	}
	return unit.Format(stat.Median(list, 0.95).Center, u)
}

// against returns the first divided by the second, paired by block.
func against(ours, theirs map[int]float64) stat.Interval {
	var a, b []float64
	for block, x := range ours {
		if y, ok := theirs[block]; ok {
			a, b = append(a, y), append(b, x)
		}
	}
	return stat.Ratio(a, b, 0.95)
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

// writeGoals prints what was aimed at, and whether it was reached: with the whole
// interval, or with none of it.
func writeGoals(w io.Writer, contests []contest, rs []record.Result) {
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
				i := against(values(rs, n, c.label(c.contenders[0])), values(rs, n, c.label(p)))
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

func version(rs []record.Result, probe string) string {
	for _, r := range rs {
		switch {
		case r.Config["probe"] != probe:
		case r.Status == record.Skipped:
			return "not installed"
		case r.Status == record.OK:
			if strings.HasPrefix(r.Observed["tool"], "/") {
				return "" // a program that tells none
			}
			return strings.TrimPrefix(r.Observed["tool"], "weir ")
		}
	}
	return "failed"
}
