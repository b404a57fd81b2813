package section

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sampledRun is a recorded run of host and vxlan-overlay under tcp-stream, with windows of 2 s, on a busy
// machine with 2 CPUs.
func sampledRun(t *testing.T) *account.Account {
	t.Helper()
	r := &account.Account{Contents: account.Contents{Name: "overtime", Options: analysis.Options{Baseline: "host", Probes: []string{"tcp-stream"}}}}
	if err := json.Unmarshal(unzipped(t, "overtime.inside.json.gz"), &r.Inside); err != nil {
		t.Fatal(err)
	}
	for x, err := range record.All(bytes.NewReader(unzipped(t, "overtime.jsonl.gz")), "overtime.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		r.Results = append(r.Results, *x)
	}
	return r
}

func sectionsOf(t *testing.T, r *account.Account, ids ...string) *doc.Document {
	t.Helper()
	r = reporttest.Again(r)
	d := Report(r)
	var kept []doc.Section
	for _, s := range d.Sections {
		for _, id := range ids {
			if s.ID == id {
				kept = append(kept, s)
			}
		}
	}
	d.Sections, d.Warnings = kept, nil
	return d
}

func TestOverTime(t *testing.T) {
	d := sectionsOf(t, sampledRun(t), "threads", "over-time")
	if len(d.Sections) != 2 {
		t.Fatalf("%d sections, want busiest threads and the course of time", len(d.Sections))
	}
	for name, render := range map[string]func(io.Writer, *doc.Document) error{"overtime.html": render.HTML, "overtime.md": render.Markdown} {
		var b bytes.Buffer
		if err := render(&b, d); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name, b.Bytes())
		reporttest.Chinese(t, d)
	}
	var b bytes.Buffer
	if err := render.Text(&b, d, 100); err != nil || strings.Contains(b.String(), "thread") {
		t.Errorf("a terminal has no room for this: %v\n%s", err, b.String())
	}
}

// A thread at 100 % is named where its numbers are. Its name is foreign text.
func TestFullThread(t *testing.T) {
	r := sampledRun(t)
	for i := range r.Results {
		x := &r.Results[i]
		if x.Config["network"] == "vxlan-overlay" {
			x.Values = append(x.Values, record.CPUThread.Thread("h2", "qemu-system-x86_64", "CPU_0/KVM").Value("core", 0.995),
				record.CPUThread.Thread("h1", "<b>evil", "").Value("core", 1.5))
		}
	}
	r = reporttest.Again(r)
	var b bytes.Buffer
	if err := render.Text(&b, Report(r), 120); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ") // lines are wrapped
	if !strings.Contains(text, "vxlan-overlay: vCPU 0 in h2 at 100 % of a CPU [100, 100]: that thread is the limit") {
		t.Error(text)
	}
	b.Reset()
	if err := render.HTML(&b, sectionsOf(t, r, "threads")); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "<b>evil") || !strings.Contains(s, "&lt;b&gt;evil") || !strings.Contains(s, analysis.BelowSteps) || strings.Contains(s, "150 %") {
		t.Error("a name became markup, or more than a CPU was printed")
	}
}

// Runs without samples and threads, as of older versions, have no such sections.
func TestNoOverTime(t *testing.T) {
	r := sampledRun(t)
	r.Inside = nil
	for i := range r.Results {
		var old []record.Value
		for _, v := range r.Results[i].Values {
			if !v.Name.In(record.CPUThread, record.CPUOwn, record.CPUOwnPerBit, record.CPUOwnPerPacket, record.CPUOwnPerTransaction) {
				old = append(old, v)
			}
		}
		r.Results[i].Values = old
	}
	if d := sectionsOf(t, r, "threads", "over-time"); len(d.Sections) != 0 {
		t.Errorf("%+v", d.Sections)
	}
}
