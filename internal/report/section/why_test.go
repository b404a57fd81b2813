package section

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// withEvidence is the synthetic run as if its trials had observed what the first device carried.
func withEvidence(t *testing.T) *account.Account {
	r := reporttest.Run(t)
	r.Evidence = map[string]*evidence.Trial{}
	for i, x := range r.Results {
		if x.Observed != nil { // of a sender that is full and loses nothing, and no other rate
			r.Results[i].Observed["tool"] = "weir engine"
		}
		for j, v := range x.Values {
			switch v.Name {
			case record.Loss, record.LossSocket:
				x.Values[j].Value = 0
			case record.Delivered, record.Received:
				if sent, ok := x.Get(record.Sent); ok {
					x.Values[j].Value = sent.Value
				}
			}
		}
		if x.Status == record.OK {
			r.Results[i].Values = append(x.Values, record.CPUThread.Thread("h1", sample.EngineClient, "").Value("core", 0.99))
		}
		e := &evidence.Trial{Format: evidence.Format, Protocol: "udp", Path: []evidence.Hop{{In: "h1", Dev: "eth0", Out: true, Data: evidence.Flow{Packets: 10, Bytes: 14_420}}}}
		if x.Config["probe"] == "tcp-stream" {
			e.Protocol, e.Path[0].Data.Bytes = "tcp", 438_000
		}
		r.Evidence[x.Trial] = e
	}
	return r
}

func section(d *doc.Document, id string) (doc.Section, bool) {
	d = d.In(nil)
	i := slices.IndexFunc(d.Sections, func(s doc.Section) bool { return s.ID == id })
	if i < 0 {
		return doc.Section{}, false
	}
	return d.Sections[i], true
}

// A run with evidence has a section that explains each network; its evidence is behind a click on a page, and
// nowhere else. A run without evidence has none.
func TestWhy(t *testing.T) {
	if _, ok := section(Report(reporttest.Analyzed(reporttest.Run(t))), "why"); ok {
		t.Error("a run without evidence is explained")
	}
	d := Report(reporttest.Analyzed(withEvidence(t)))
	s, ok := section(d, "why")
	if !ok || len(s.Parts) != 3 || !strings.HasPrefix(lang.Text(s.Parts[1].Lines[0].Text).String(), "2 of 48 trials have no value: 1 of 12 of TCP failed: ") ||
		!slices.ContainsFunc(s.Parts[1].Lines, func(l doc.Line) bool {
			return strings.HasPrefix(lang.Text(l.Text).String(), "The run does not show why it differs from host: ")
		}) {
		t.Fatalf("%+v", s)
	}
	const line, behind = "43.8 kB share a pass", "first device, median of"
	for name, out := range map[string]string{"page": rendered(t, d, "page"), "text": rendered(t, d, "text"), "markdown": rendered(t, d, "markdown")} {
		if n := strings.Count(strings.Join(strings.Fields(out), " "), line); n != 2 {
			t.Errorf("%s: %d times %q, want it for two networks", name, n, line)
		}
		if page := name == "page"; strings.Contains(out, behind) != page || strings.Contains(out, "<summary>evidence</summary>") != page {
			t.Errorf("%s: the evidence is not where it belongs", name)
		}
	}
}

func rendered(t *testing.T, d *doc.Document, medium string) string {
	t.Helper()
	var b strings.Builder
	var err error
	switch medium {
	case "page":
		err = render.HTML(&b, d)
	case "text":
		err = render.Text(&b, d, 200)
	default:
		err = render.Markdown(&b, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What the section says is no note of a table any more.
func TestSaidOnce(t *testing.T) {
	r := withEvidence(t)
	for i, x := range r.Results {
		if x.Config["network"] == "bridge" && x.Status == record.OK {
			r.Results[i].Values = append(x.Values, record.Value{Name: "cpu.softirq.busiest", Unit: "core", Value: 0.97})
		}
	}
	s := newSource(reporttest.Analyzed(r))
	said := 0
	for _, f := range s.Findings() {
		for _, c := range f.Cells {
			if !s.Why().Says(f, c) {
				continue
			}
			said++
			if slices.ContainsFunc(s.byCell[c.String()], func(x finding.Finding) bool { return x.Rule == f.Rule && x.Place == f.Place }) {
				t.Errorf("%s is also a note of %v", f.Rule, c)
			}
		}
	}
	if said == 0 {
		t.Error("the full CPU is not stated")
	}
}

func TestVerdictsTable(t *testing.T) {
	v := explain.Verdict{Subject: explain.Cause, Rule: "segmentation-lost", Place: "h1 eth0", Cell: analysis.Cell{Probe: "tcp-stream", Network: "vx"}, Text: "lost",
		Test:  finding.Test{Text: "Refuted if nothing changes", Metric: "throughput", Factor: 1.5},
		Ratio: stat.Interval{Center: 1.01, Lo: 0.99, Hi: 1.03, Confidence: 0.95, N: 8}, Outcome: explain.Refuted, Dir: "tests/x"}
	out := rendered(t, Verdicts([]explain.Verdict{v}), "text")
	for _, want := range []string{"segmentation-lost", "≥ 1.50×", "1.01×", "[0.99, 1.03]", "refuted", "vx: Lost. Refuted if nothing changes. Tested: throughput 1.01× [0.99, 1.03] of what was found: refuted. Results: tests/x"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
