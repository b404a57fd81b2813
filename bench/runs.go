package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// A recorded run of bench/engine.yaml is a file of bench/runs: all that docs/benchmarks.md says rests on these files.
// Runs hours apart and on several machines cannot be one results directory, and the raw bytes of one have 20 MB.
type recorded struct {
	Host    facts.Facts     `json:"host"`
	Results []record.Result `json:"results"` // without warnings, histograms and values that the page does not use
}

// writeRecord prints the record of the run in dir.
func writeRecord(w io.Writer, dir string) error {
	c, err := store.Read(dir)
	if err != nil {
		return err
	}
	var host facts.Facts
	if err := json.Unmarshal(c.Hosts["local"], &host); err != nil {
		return fmt.Errorf("%s: the machine's facts: %w", dir, err)
	}
	used := map[record.Quantity]bool{record.CPUSteal: true, record.CoreToCore: true, record.CoreToCoreAfter: true}
	for _, c := range contests {
		used[c.value] = true
	}
	head, err := json.Marshal(host)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "{\"host\":%s,\n\"results\":[", head)
	for i, t := range c.Results {
		short := record.Result{Format: t.Format, Trial: t.Trial, Block: t.Block, Status: t.Status, Reason: t.Reason, Start: t.Start, Elapsed: t.Elapsed,
			Config: t.Config, Observed: record.Observed{record.Tool.Key(): record.Tool.Of(t.Observed)}}
		for n, v := range t.Values {
			if v.Hist = ""; n == 0 || used[v.Name] {
				short.Values = append(short.Values, v)
			}
		}
		line, err := json.Marshal(short)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n%s", strings.Repeat(",", min(i, 1)), line)
	}
	_, err = fmt.Fprintln(w, "\n]}")
	return err
}

// A run is a recorded run, analyzed.
type run struct {
	*analysis.Run
	host  facts.Facts
	name  string // when it began
	trial struct{ ok, all int }
	steal float64 // mean share of the CPUs
}

// readRecords reads the runs in dir, the oldest first. All trials count, because the benchmark runs on an idle machine.
func readRecords(dir string, s study.Study) (runs []run, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no recorded run", dir)
	}
	for _, file := range files { // in the order of their names, which are dates
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r recorded
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		one := run{host: r.Host, name: strings.TrimSuffix(filepath.Base(file), ".json"), Run: analysis.New(r.Results, analysis.Options{
			Baseline: s.Baseline, KeepDisturbed: true, Networks: study.Names(s.Networks), Probes: study.Names(s.Probes)})}
		for _, t := range r.Results {
			one.trial.all++
			if t.Status == record.OK {
				one.trial.ok++
				stolen, _ := t.Get(record.CPUSteal)
				one.steal += stolen.Value
			}
		}
		one.steal /= float64(max(one.trial.ok*r.Host.CPUs, 1))
		runs = append(runs, one)
	}
	return runs, nil
}

// writeRuns lists the runs with what is known to move their ratios.
func writeRuns(w io.Writer, runs []run) {
	fmt.Fprintln(w, "\n## Runs\n\n| run (UTC) | machine | kernel | stolen by the hypervisor | a cache line takes to the other CPU and back | vm.percpu_pagelist_high_fraction | default congestion control | trials |\n|---|---|---|---|---|---|---|---|")
	for _, r := range runs {
		fmt.Fprintf(w, "| %s | %s | %s | %.1f %% | %s | %s | %s | %d of %d |\n", r.name, machine(r.host), r.host.Kernel, 100*r.steal, r.cores(),
			r.host.Sysctls["vm.percpu_pagelist_high_fraction"], r.host.Sysctls["net.ipv4.tcp_congestion_control"], r.trial.ok, r.trial.all)
	}
}

// cores says how far apart the CPUs were, and in how many trials.
func (r run) cores() string {
	if c := r.Cores; c != nil {
		return fmt.Sprintf("%.0f ns in %d trials, %.0f ns in %d, both in %d", 1e9*c.Near, c.NearTrials, 1e9*c.Far, c.FarTrials, c.MovedTrials)
	}
	if latency, ok := r.CoreToCore(); ok {
		return fmt.Sprintf("%.0f ns", 1e9*latency)
	}
	return "not measured"
}

func machine(f facts.Facts) string { return fmt.Sprintf("%s, %d CPUs", f.CPU, f.CPUs) }

// differences lists the facts that differ between two machines, or one machine at two times.
func differences(a, b facts.Facts) (names []string) {
	differ := func(name string, different bool) {
		if different {
			names = append(names, name)
		}
	}
	differ("CPU", machine(a) != machine(b))
	differ("kernel", a.Kernel != b.Kernel || a.KernelVersion != b.KernelVersion)
	differ("clock source", a.Clocksource != b.Clocksource)
	differ("mitigations", !maps.Equal(a.Mitigations, b.Mitigations))
	differ("SMT", a.SMT != b.SMT)
	for _, key := range slices.Sorted(maps.Keys(a.Sysctls)) {
		differ(key, a.Sysctls[key] != b.Sysctls[key])
	}
	return names
}
