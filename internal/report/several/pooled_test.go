package several

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/record"
)

// repeated returns runs of the synthetic study ten minutes apart. Every run shifts the overlay by
// another factor; the fourth lacks the response times of the overlay and has another kernel.
func repeated(t testing.TB) (runs []*account.Account) {
	t.Helper()
	for i, shift := range []float64{0, 0.05, -0.06, 0.02, -0.03} {
		r := reporttest.Run(t)
		r.Problems, r.Claims = nil, nil
		r.Dir = "results/00" + string(rune('1'+i))
		var kept []record.Result
		for _, x := range r.Results {
			x.Start = x.Start.Add(time.Duration(10*i) * time.Minute)
			if x.Config["network"] == "vxlan-overlay" {
				if i == 3 && x.Config["probe"] == "udp-rr" {
					continue
				}
				for n := range x.Values {
					x.Values[n].Value *= math.Exp(shift)
				}
			}
			kept = append(kept, x)
		}
		r.Results = kept
		if i == 3 {
			r.Hosts = map[string][]byte{"bench-1": []byte(strings.Replace(string(r.Hosts["bench-1"]), "6.12.9", "6.12.10", 1))}
			r.Problems = []lang.Text{"results.jsonl: line 130 is cut off"}
		}
		r = reporttest.Again(r)
		runs = append(runs, r)
	}
	return runs
}

func pooledDocument(runs []*account.Account) *doc.Document {
	var as []*analysis.Run
	for _, r := range runs {
		as = append(as, r.Analysis)
	}
	return Pooled(runs, analysis.Pool(as, 0))
}

func TestPooled(t *testing.T) {
	d := pooledDocument(repeated(t))
	for name, write := range map[string]func(*bytes.Buffer) error{
		"pooled.html": func(b *bytes.Buffer) error { return render.HTML(b, d) },
		"pooled.md":   func(b *bytes.Buffer) error { return render.Markdown(b, d) },
		"pooled.txt":  func(b *bytes.Buffer) error { return render.Text(b, d, 100) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, name, b.Bytes())
		reporttest.Chinese(t, d)
		for _, want := range []string{"5 runs over 50 min", "Some ratios rest on only 4", "not measured", "6.12.10", "004: results.jsonl: line 130"} {
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if strings.Contains(b.String(), "not drawn") {
			t.Errorf("%s: a chart was not drawn", name)
		}
	}
	var b bytes.Buffer
	if err := render.JSON(&b, d); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Analysis struct {
			Runs  int
			Cells []struct {
				Ratio  struct{ Center, Tau float64 }
				Budget map[string]any
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Analysis.Runs != 5 || len(back.Analysis.Cells) != 12 || back.Analysis.Cells[2].Ratio.Tau == 0 || back.Analysis.Cells[2].Budget["source"] == "" {
		t.Errorf("%v: %+v", err, back)
	}
}

// Little to pool still gives a report that says so.
func TestPooledOfLittle(t *testing.T) {
	all := repeated(t)
	alone := reporttest.Run(t)
	alone.Baseline, alone.Hosts, alone.Dir = "", nil, ""
	alone = reporttest.Again(alone)
	for name, c := range map[string]struct {
		runs []*account.Account
		want string
	}{
		"none":        {nil, "Nothing was compared"},
		"one":         {all[:1], "One run cannot show how much runs differ"},
		"no baseline": {[]*account.Account{alone}, "Nothing was compared"},
		"two":         {all[:2], "How much runs differ is hardly known from 2 of them"},
	} {
		var text, page bytes.Buffer
		d := pooledDocument(c.runs)
		if err := render.Text(&text, d, 100); err != nil {
			t.Fatal(err)
		}
		if err := render.HTML(&page, d); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", name, c.want, text.String())
		}
	}
}

func TestRunNames(t *testing.T) {
	got := runNames([]*account.Account{{Contents: account.Contents{Dir: "a/001"}}, {Contents: account.Contents{Dir: "b/001"}}, {Contents: account.Contents{Dir: "b/002/"}}})
	if strings.Join(got, " ") != "a/001 b/001 002" {
		t.Errorf("%q", got)
	}
}

// What earlier runs have shown stands beside the interval of a single run, which stays.
func TestBeyondOneRun(t *testing.T) {
	r := reporttest.Run(t)
	r = reporttest.Again(r)
	plain := reporttest.Text(t, section.Report(r))
	r.Analysis.Learn(func(t *analysis.Table, row *analysis.Row) (analysis.Spread, bool) {
		if row.Network == "vxlan-overlay" {
			return analysis.Spread{Tau: 0.06, Runs: 8}, t.Probe == "tcp-stream"
		}
		return analysis.Spread{Tau: 0.02, Runs: 8}, t.Probe == "tcp-stream"
	}, nil)
	var b bytes.Buffer
	if err := render.Text(&b, section.Report(r), 300); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Over other runs on this machine, a VXLAN overlay keeps 65 % [56, 77] of TCP throughput.",
		"vxlan-overlay: 0.65 [0.62, 0.68] in this run; [0.56, 0.77] over other runs (8 on this machine differ by about 6.0 %)",
		"over other runs (8 on this machine differ by about 2.0 %)"} {
		if !strings.Contains(b.String(), want) || strings.Contains(plain, want) {
			t.Errorf("want %q only with a history:\n%s", want, b.String())
		}
	}
}

// A long series gives a report of readable length, which says what it leaves out.
func TestPooledOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	var runs []*account.Account
	for range 20 {
		runs = append(runs, repeated(t)[:2]...)
	}
	for i := range runs {
		runs[i].Dir = fmt.Sprintf("results/%03d", i+1)
	}
	d := pooledDocument(runs)
	var text, page bytes.Buffer
	if err := render.Text(&text, d, 100); err != nil {
		t.Fatal(err)
	}
	if err := render.HTML(&page, d); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n"); n > 150 {
		t.Errorf("%d lines on a terminal", n)
	}
	if !strings.Contains(page.String(), "the first 10 runs not drawn") || strings.Contains(page.String(), "not drawn: ") {
		t.Error("the page does not say which runs it does not draw")
	}
}
