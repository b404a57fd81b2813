package export

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; look at it, then run the test with -update", file)
	}
}

// written returns what a format writes for runs.
func written(t *testing.T, format func(io.Writer, []*account.Account) error, runs ...*account.Account) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := format(&b, runs); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// consumer returns the path of a program that reads an export.
func consumer(t *testing.T, name, remedy string) string {
	t.Helper()
	path := facts.Find(name)
	if path == "" {
		t.Skipf("no %s: %s", name, remedy)
	}
	return path
}

// read runs a consumer over an input.
func read(t *testing.T, in []byte, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s\nof\n%s", argv, err, out.Bytes(), errs.Bytes(), in)
	}
	return out.String()
}

var hosts = map[string][]byte{"local": []byte(`{"weir":"v1.2.3","kernel":"6.12.9","distribution":"Debian GNU/Linux 13 (trixie)","machine":"x86_64","cpu":"Example 3 GHz","cpus":8,"settings":{}}`)}

// recorded is a run of three networks and four probes, with trials that do not count.
func recorded(t *testing.T) *account.Account {
	t.Helper()
	f, err := os.Open("../report/testdata/results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var results []record.Result
	for r, err := range record.All(f, "results.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, *r)
	}
	return of("udp-vs-tcp", hosts, results, analysis.Options{Baseline: "host", Networks: []string{"host", "bridge", "vxlan-overlay"},
		Probes: []string{"tcp-stream", "udp-stream", "udp-rate", "udp-rr"}})
}

// made returns a run of 8 blocks with the networks host, an overlay and a third, whose values are multiplied
// by factor(network, probe). Run n differs from others by a few percent.
func made(n int, third string, factor func(network, probe string) float64) *account.Account {
	var rs []record.Result
	for block := 1; block <= 8; block++ {
		for _, network := range []string{"host", "overlay", third} {
			for i, probe := range []string{"tcp-stream", "tcp-rr"} {
				v := record.Value{Name: "throughput", Unit: "bit/s", Value: 1e10}
				if i == 1 {
					v = record.Value{Name: "rtt", Unit: "s", Value: 2e-5}
				}
				v.Value *= factor(network, probe) * (1 + 0.01*float64((block*7+len(network)*3+n*5+i)%11)/11)
				if network != "host" {
					v.Value *= 0.8 * (1 + 0.004*float64(n%3))
				}
				rs = append(rs, record.Result{Format: record.Format, Trial: fmt.Sprintf("b%03d-%d-%d", block, i, len(rs)), Block: block, Status: record.OK,
					Start: time.Date(2026, 1, 2, 3, n, len(rs), 0, time.UTC), Elapsed: 1, Config: map[string]string{"network": network, "probe": probe},
					Values: []record.Value{v}})
			}
		}
	}
	return of("made", hosts, rs, analysis.Options{Baseline: "host", Networks: []string{"host", "overlay", third}, Probes: []string{"tcp-stream", "tcp-rr"}})
}

// of is the account of a run in memory.
func of(study string, hosts map[string][]byte, rs []record.Result, o analysis.Options) *account.Account {
	return account.Of(account.Contents{Name: study, Hosts: hosts, Results: rs, Options: o})
}

func unchanged(string, string) float64 { return 1 }

// comparison has one cell of every verdict.
func comparison() analysis.Comparison {
	var a, b []*analysis.Run
	for n := range 4 {
		a = append(a, made(n, "removed", unchanged).Analysis)
		b = append(b, made(n+4, "added", func(network, probe string) float64 {
			if network == "overlay" && probe == "tcp-stream" {
				return 0.6
			}
			return 1
		}).Analysis)
	}
	return analysis.Compare(a, b, 0.05)
}

// hostile is text that every format must escape: quotes, separators, commands, control bytes and bytes that
// are not UTF-8.
const hostile = "a\"b'c\\d<e>&]]>\x00\x01\x1b[31m\x7f\xff\xfe\r\n::error::x%0A,:\u2028\u0085\ufffe= {f}/g h-2"

// hostileRun has hostile names wherever a user, a file or a machine can choose them.
func hostileRun(t *testing.T) *account.Account {
	t.Helper()
	r := made(1, "third", unchanged)
	var rs []record.Result
	for x := range r.Analysis.Results() {
		c := *x
		c.Config = map[string]string{"network": x.Config["network"], "probe": hostile + x.Config["probe"], "mtu=" + hostile: hostile, "network ": "x", "9": "y"}
		if c.Config["network"] == "third" {
			c.Config["network"] = hostile
		}
		c.Values = slices.Clone(x.Values)
		c.Values[0].Name += " " + hostile
		c.Values[0].Unit += hostile
		rs = append(rs, c)
	}
	return of(hostile, map[string][]byte{"a": fmt.Appendf(nil, `{"cpu":%q,"kernel":"\u0000\n: x"}`, "x\n::error::y"), "b": []byte("{")}, rs,
		analysis.Options{Baseline: "host"})
}

// brokenOverlay is a run in which every trial of the overlay failed.
func brokenOverlay() *analysis.Run {
	r := made(1, "third", unchanged)
	var rs []record.Result
	for x := range r.Analysis.Results() {
		c := *x
		if c.Config["network"] == "overlay" {
			c.Status, c.Reason, c.Values = record.Failed, "no reply", nil
		}
		rs = append(rs, c)
	}
	return analysis.New(rs, analysis.Options{Baseline: "host"})
}
