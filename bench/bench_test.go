package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
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
	for _, name := range []string{"engine.yaml", "coverage.yaml"} {
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
		for _, c := range contests {
			for _, p := range c.contenders {
				if _, ok := s.Probe(p.probe); !ok && name == "engine.yaml" {
					t.Errorf("%s: the study has no probe %s", c.name, p.probe)
				}
			}
		}
	}
}

// runs writes a run for each of values, which are the probes' throughput by network.
func runs(t *testing.T, yaml string, values ...map[[2]string]float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	if err := store.CreateSeries(dir, store.Series{Runs: len(values)}); err != nil {
		t.Fatal(err)
	}
	for n, of := range values {
		d, err := store.Create(store.RunDir(dir, n+1))
		if err == nil {
			err = d.File("study.yaml", []byte(yaml))
		}
		var rs []*record.Result
		for b := range 12 {
			for at, v := range of {
				rs = append(rs, &record.Result{Format: record.Format, Trial: fmt.Sprintf("b%d-%s-%s", b, at[0], at[1]), Block: b + 1, Status: record.OK,
					Start: time.Unix(int64(100*n+b), 0), Elapsed: 1, Config: map[string]string{"network": at[0], "probe": at[1]},
					Observed: map[string]string{"tool": at[1] + " 1.0"},
					Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: v * (1 + 0.01*float64((5*b+len(at[0])+len(at[1]))%7))}}})
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

// The page pools the runs and says which goals they reach.
func TestEngine(t *testing.T) {
	one := map[[2]string]float64{{"host", "tcp-stream"}: 2e9, {"host", "c-tcp"}: 1e9, {"vxlan-overlay", "tcp-stream"}: 1e9, {"vxlan-overlay", "c-tcp"}: 2e9}
	dir := runs(t, "networks: [host, vxlan-overlay]\nprobes: [tcp-stream, c-tcp]\n", one, one, one)
	var b strings.Builder
	if err := writeEngine(&b, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Separate runs: 3", "| TCP one stream | C | ≥ 0.98 | ", "| reached | ", "| missed |", "| TCP one stream | netperf | ≥ 1 | - | not measured |",
		"| engine | tcp-stream 1.0 | 2.0", "| netperf | failed | - | - | - | - |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// The page counts the intervals that contain the truth, which other runs can know.
func TestCoverage(t *testing.T) {
	of := func(ratio float64) map[[2]string]float64 {
		return map[[2]string]float64{{"host", "tcp-stream"}: 1e9, {"again", "tcp-stream"}: 1e9, {"bridge", "tcp-stream"}: ratio * 1e9}
	}
	const yaml = "networks: [host, {use: host, name: again}, bridge]\nprobes: [tcp-stream]\n"
	quiet, busy := runs(t, yaml, of(0.80), of(0.81), of(0.79)), runs(t, yaml, of(0.80), of(0.5))
	var b strings.Builder
	if err := writeCoverage(&b, busy, quiet); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 separate runs", "pooled over 3 runs", "| again, tcp-stream | 1.000 | 0.0 % | 100.0 % |", "| bridge, tcp-stream | 0.789 |", "% | 50.0 % |", "| all 2 together |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if err := writeCoverage(&b, busy, runs(t, "networks: [host]\nprobes: [ping]\n", nil)); err == nil || !strings.Contains(err.Error(), "no ratio whose truth") {
		t.Errorf("another study: error %v", err)
	}
}
