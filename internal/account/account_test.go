package account

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/packettrace"
	"github.com/weir-bench/weir/record"
)

// results are of two networks, the second half as fast.
func results(blocks int) (rs []record.Result) {
	for block := 1; block <= blocks; block++ {
		for i, network := range []string{"host", "bridge"} {
			rs = append(rs, record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%s", block, network), Block: block, Status: record.OK, Elapsed: 1,
				Config: map[string]string{"network": network, "probe": "tcp-stream"},
				Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1e10/float64(i+1) + 1e7*float64(block%3)}}})
		}
	}
	return rs
}

// stored writes a results directory.
func stored(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	for _, r := range results(3) {
		if err := record.Write(&b, &r); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]string{"results.jsonl": b.String(), "study.yaml": "name: small\nblocks: 4\nnetworks: [host, bridge]\nprobes: [tcp-stream]\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What is stored next to the results is part of the account, and what cannot be read is one of its problems.
func TestRead(t *testing.T) {
	dir := stored(t, map[string]string{
		"hosts/local.json": `{"weir":"1"}`, "hosts/" + HostOfVM + ".json": `{"weir":"2"}`,
		"others.json": "{", "tests/verdicts.json": `{"format":99}`,
	})
	a, err := Read(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "small" || a.Planned != 8 || len(a.Results) != 6 || a.Baseline != "host" || a.Short("tcp-stream") == "tcp-stream" {
		t.Errorf("study %q, %d of %d trials, baseline %q, %q", a.Name, len(a.Results), a.Planned, a.Baseline, a.Short("tcp-stream"))
	}
	if got := strings.Join(a.Command, " "); got != "weir run study.yaml --in-vm" {
		t.Errorf("the command is %s", got)
	}
	problems := lang.Join(a.Problems, "\n").String()
	for _, want := range []string{"only 6 of 8 trials", "by weir 1, 2", "others.json", "verdicts have format 99"} {
		if !strings.Contains(problems, want) {
			t.Errorf("no problem %q:\n%s", want, problems)
		}
	}
	if a, err = Read(dir, Options{Depth: Numbers}); err != nil || strings.Contains(lang.Join(a.Problems, "\n").String(), "verdicts") {
		t.Errorf("an index reads the verdicts: %v, %v", a, err)
	}
	if _, err := Read(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "cannot read results from ") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := Read(stored(t, map[string]string{"study.yaml": "networks: 1"}), Options{}); err == nil {
		t.Error("read a broken study")
	}
}

// Trials are read one at a time, without those that another line replaces, and have their values.
func TestTrials(t *testing.T) {
	rs := results(2)
	rs[0].Status, rs[0].Reason, rs[0].Values = record.Failed, "no reply", nil
	again := results(1)[0]
	again.Start = again.Start.Add(time.Hour)
	var b bytes.Buffer
	for _, r := range append(rs, again, rs[1]) {
		if err := record.Write(&b, &r); err != nil {
			t.Fatal(err)
		}
	}
	c, trials, err := Trials(stored(t, map[string]string{"results.jsonl": b.String()}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range trials {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(r.Trial, " ", r.Status, " ", len(r.Values)))
	}
	if want := "b001-bridge ok 1, b002-host ok 1, b002-bridge ok 1, b001-host ok 1"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if problems := lang.Join(c.Problems, "\n").String(); !strings.Contains(problems, "occurs twice") || c.Results[0].Values != nil {
		t.Errorf("problems %s; the contents hold values: %v", problems, c.Results[0].Values)
	}
}

// Results that do not fit into memory are refused with both sizes and a way that works; others are read.
func TestFits(t *testing.T) {
	if err := fits("many", 1<<50); err == nil || !strings.HasPrefix(err.Error(), "many: its 1048576.0 GiB of results need about 3145728.0 GiB of memory, and ") ||
		!strings.Contains(err.Error(), " has ") || !strings.HasSuffix(err.Error(), "weir report many --format csv") {
		t.Error(err)
	}
	if err := fits("few", LargeSize-1); err != nil {
		t.Error(err)
	}
}

// An import has the command of the last one, and no trials are missing.
func TestReadImported(t *testing.T) {
	a, err := Read(stored(t, map[string]string{"imported.json": `{"commands":[["weir","import","a"],["weir","import","b"]]}`}), Options{})
	if err != nil || !a.Unpaired || a.Planned != 0 || strings.Join(a.Command, " ") != "weir import b" || a.Claims != nil {
		t.Errorf("%v: %+v", err, a)
	}
	if _, err := Read(stored(t, map[string]string{"imported.json": "["}), Options{}); err == nil || !strings.Contains(err.Error(), "imported.json") {
		t.Errorf("a broken manifest: %v", err)
	}
}

// Everyone who asks gets the same findings, and the explanation is made of them.
func TestOneJudgement(t *testing.T) {
	rs := results(12)
	rs[3].Status, rs[3].Reason, rs[3].Values = record.Failed, "no reply", nil
	a := Of(Contents{Results: rs, Options: analysis.Options{Baseline: "host"}, Traces: []packettrace.Trace{{Network: "bridge"}}})
	one, two := a.Findings(), a.Findings()
	if len(one) == 0 || &one[0] != &two[0] {
		t.Errorf("%d and %d findings, computed twice", len(one), len(two))
	}
	if why := a.Why(); why.Baseline != "host" || len(why.Of("bridge").Networks) > 1 {
		t.Errorf("%+v", why)
	}
	if got := a.Why().Of("none").Networks; len(got) != 0 {
		t.Errorf("statements about no network: %+v", got)
	}
}
