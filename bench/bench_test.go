package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// The studies can run with the probes of this program, and have all contenders.
func TestStudies(t *testing.T) {
	shipped := maps.Clone(catalog.Probes)
	t.Cleanup(func() { catalog.Probes = shipped })
	maps.Copy(catalog.Probes, probes)
	contested := map[string]bool{}
	for _, name := range []string{"engine.yaml", "minute.yaml", "coverage.yaml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := study.Load(b, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := catalog.Prepare(s, topo.Kernel{}); err != nil {
			t.Error(err)
		}
		for _, p := range s.Probes {
			contested[p.Name] = contested[p.Name] || name != "coverage.yaml"
		}
	}
	for _, c := range contests {
		for _, p := range c.contenders {
			if !contested[p.probe] {
				t.Errorf("%s: no study has the probe %s", c.name, p.probe)
			}
		}
	}
}

// seriesOf writes a run for each of values, which are the probes' throughput by network.
func seriesOf(t *testing.T, yaml string, values ...map[[2]string]float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	if err := store.CreateSeries(dir, store.Series{Runs: len(values)}); err != nil {
		t.Fatal(err)
	}
	for n, of := range values {
		d, err := store.Create(store.RunDir(dir, n+1))
		if err == nil {
			err = errors.Join(d.File("study.yaml", []byte(yaml)), d.File("hosts/local.json", fmt.Appendf(nil, `{"cpu": "Z80", "cpus": 2, "kernel": "6.%d"}`, n)))
		}
		var rs []*record.Result
		for b := range 12 {
			for at, v := range of {
				rs = append(rs, &record.Result{Format: record.Format, Trial: fmt.Sprintf("b%d-%s-%s", b, at[0], at[1]), Block: b + 1, Status: record.OK,
					Start: time.Unix(int64(100*n+b), 0), Elapsed: 1, Config: map[string]string{"network": at[0], "probe": at[1]},
					Observed: map[string]string{"tool": at[1] + " 1.0"},
					Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: v * (1 + 0.01*float64((5*b+len(at[0])+len(at[1]))%7))}}})
				if n == 1 { // the CPUs are at two distances
					latency := []float64{1e-7, 4e-7}[b%2]
					rs[len(rs)-1].Values = append(rs[len(rs)-1].Values, record.Value{Name: record.CoreToCore, Unit: "s", Value: latency},
						record.Value{Name: record.CoreToCoreAfter, Unit: "s", Value: latency})
				}
			}
		}
		if err == nil {
			err = d.Append(rs...)
		}
		if err == nil {
			err = d.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The page pools the recorded runs, says which goals they reach, and what differed where they disagree.
func TestEngine(t *testing.T) {
	of := func(tcp float64) map[[2]string]float64 {
		return map[[2]string]float64{{"host", "tcp-cold"}: tcp, {"host", "c-tcp-cold"}: 1e9, {"vxlan-overlay", "tcp-cold"}: 1e9, {"vxlan-overlay", "c-tcp-cold"}: 2e9}
	}
	with := of(4e9)
	with[[2]string{"host", "netperf-tcp"}] = 1e9 // a goal counts from the second run that has both tools
	dir, records := seriesOf(t, "networks: [host, vxlan-overlay]\nprobes: [tcp-cold, c-tcp-cold, netperf-tcp]\n", of(2e9), of(2e9), with), t.TempDir()
	page := func() string {
		var b strings.Builder
		if err := writeEngine(&b, records); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for n := range 3 {
		var b bytes.Buffer
		if err := writeRecord(&b, store.RunDir(dir, n+1)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(records, fmt.Sprintf("2031-01-0%d.json", n+1)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		p, judged := page(), 0
		for _, verdict := range []string{"| reached |", "| missed |"} {
			judged += strings.Count(p, verdict)
		}
		if want := []int{0, 2, 1}[n]; judged != want || strings.Contains(p, "disagree") != (n == 2) {
			t.Errorf("%d runs reach or miss %d goals, want %d:\n%s", n+1, judged, want, p)
		}
	}
	got := page()
	for _, want := range []string{"| 2031-01-02 | Z80, 2 CPUs | 6.1 | 0.0 % | 100 ns in 24 trials, 400 ns in 24, both in 0 |", "| 6.0 | 0.0 % | not measured |",
		"## How far apart the CPUs are", "| TCP one stream, from the first byte | C | 1.03 Gbit/s (6) | 1.04 Gbit/s (6) | 1.01 |",
		"| 48 of 48 |", "| 60 of 60 |", "| TCP one stream, from the first byte | C | ≥ 1 | ",
		"| TCP one stream, from the first byte | netperf | ≥ 1 | 4.02 [3.89, 4.16] | undecided |", "| TCP one stream, from the first byte | iperf | ≥ 1 | - | not measured |", "| engine | tcp-cold 1.0 | 2.", "| neper | not measured | - | - | - | - |",
		"## Where runs disagree", "| TCP one stream, from the first byte, host | C | 2.0", " in 2031-01-03 | kernel, steal 0.0 and 0.0 % |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestReached(t *testing.T) {
	between := func(lo, hi float64) stat.Interval {
		return stat.Interval{Center: (lo + hi) / 2, Lo: lo, Hi: hi, N: 8, SE: math.Log(hi/lo) / 4, Confidence: confidence}
	}
	for _, c := range []struct {
		runs  []stat.Interval
		goal  float64
		lower bool
		want  string
	}{
		{nil, 1, false, "not measured"},
		{[]stat.Interval{between(2, 3)}, 1, false, "undecided"},
		{[]stat.Interval{between(1.09, 1.11), between(1.09, 1.11), between(1.09, 1.11)}, 1, false, "reached"},
		{[]stat.Interval{between(1.09, 1.11), between(1.09, 1.11), between(1.09, 1.11)}, 1, true, "missed"},
		{[]stat.Interval{between(0.99, 1.01), between(0.99, 1.01), between(0.99, 1.01)}, 1, false, "level"},
		{[]stat.Interval{between(0.99, 1.01), between(0.99, 1.01), between(0.99, 1.01)}, 1, true, "level"},
		{[]stat.Interval{between(0.99, 1.01), between(0.99, 1.01), between(0.99, 1.01)}, 0.98, false, "reached"},
		{[]stat.Interval{between(1.2, 1.3), between(1.2, 1.3), between(1.2, 1.3)}, 1.25, false, "undecided"},
		{[]stat.Interval{between(0.96, 0.98), between(0.96, 0.98), between(0.96, 0.98)}, 1, false, "missed"},
	} {
		if got := reached(c.runs, c.goal, c.lower); got != c.want {
			t.Errorf("%v, goal %g, lower %v: %s, want %s", c.runs, c.goal, c.lower, got, c.want)
		}
	}
}

// The page in docs is about the runs in the tree.
func TestBenchmarksPage(t *testing.T) {
	var b strings.Builder
	if err := writeEngine(&b, "runs"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(page) {
		t.Error("docs/benchmarks.md differs: go run ./bench -engine bench/runs > docs/benchmarks.md")
	}
}

// Intervals that are too wide fail as those that are too narrow do, unless there are too few blocks for narrower ones.
func TestJudged(t *testing.T) {
	const runs, sd = 60, 0.03
	for wide, want := range map[float64]string{0.6: "too narrow", 1: "", 1.6: "too wide"} {
		r := rand.New(rand.NewPCG(3, 4))
		cs, truth := make([]cell, 6), map[string]float64{}
		for i := range cs {
			cs[i].Cell = analysis.Cell{Network: fmt.Sprint(i), Probe: "udp-rr"}
			truth[cs[i].String()] = 0.8
			for range runs {
				center, half := 0.8*math.Exp(sd*r.NormFloat64()), math.Exp(1.96*sd*wide)
				cs[i].runs = append(cs[i].runs, stat.Interval{Center: center, Lo: center / half, Hi: center * half, Confidence: 0.95})
			}
		}
		text, err := judged(cs, truth, tells)
		if want == "" && (err != nil || !strings.Contains(text, "neither")) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(text, want)) {
			t.Errorf("%v as wide as they should be: %q, %v", wide, text, err)
		}
		text, err = judged(cs, truth, tells-1)
		if failed := want == "too narrow"; failed != (err != nil) || (want == "too wide") != strings.Contains(text, "wider than these blocks need") {
			t.Errorf("%v as wide as they should be, few blocks: %q, %v", wide, text, err)
		}
	}
}

// The page counts the intervals that contain the truth, which other runs can know.
func TestCoverage(t *testing.T) {
	of := func(ratio float64) map[[2]string]float64 {
		return map[[2]string]float64{{"host", "tcp-stream"}: 1e9, {"again", "tcp-stream"}: 1e9, {"bridge", "tcp-stream"}: ratio * 1e9}
	}
	const yaml = "networks: [host, {use: host, name: again}, bridge]\nprobes: [tcp-stream]\n"
	quiet, busy := seriesOf(t, yaml, of(0.80), of(0.81), of(0.79)), seriesOf(t, yaml, of(0.80), of(0.5))
	var b strings.Builder
	if err := writeCoverage(&b, quiet, busy); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 runs of ", "| again, tcp-stream | 1.000 | 0.0 % | 100.0 % |", "| bridge, tcp-stream | 0.789 |", "% | 50.0 % |", "| all 2 together |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if err := writeCoverage(&b, seriesOf(t, "networks: [host]\nprobes: [ping]\n", nil), busy); err == nil || !strings.Contains(err.Error(), "no ratio whose truth") {
		t.Errorf("another study: error %v", err)
	}
}
