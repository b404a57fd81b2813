package section

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// gapRun is a synthetic run with a fixed cost per pass and a receiver cost per datagram.
func gapRun(blocks int) *account.Account {
	rnd := rand.New(rand.NewPCG(20240608, 1))
	var rs []record.Result
	for block := 1; block <= blocks; block++ {
		for _, network := range []string{"host", "vxlan-overlay"} {
			pass, mss, header := 1.2e-6, 1448.0, 42.0
			if network == "vxlan-overlay" {
				pass, mss, header = 2.9e-6, 1398, 92
			}
			for _, offload := range []string{"on", "off"} {
				for _, c := range []struct {
					probe, send, recv string
					together          float64 // with offload
					more              float64 // s per packet
				}{
					{"tcp", "copy", "copy", 28, 60e-9},
					{"single", "single", "mmsg", 1, 500e-9}, {"mmsg", "mmsg", "mmsg", 1, 470e-9},
					{"gso", "gso", "mmsg", 46, 350e-9}, {"gso-gro", "gso", "gro", 46, 80e-9},
					{"one-read", "single", "single", 1, 620e-9}, {"gro", "single", "gro", 1, 510e-9},
				} {
					n := c.together
					if offload == "off" {
						n = 1
					}
					rate := 8 * 1398 / (c.more + pass/n) * math.Exp(0.02*rnd.NormFloat64())
					r := record.Result{
						Format: record.Format, Trial: fmt.Sprintf("%d-%s-%s-%s", block, network, c.probe, offload), Block: block, Status: record.OK,
						Config:   map[string]string{"network": network, "probe": c.probe, "offload": offload},
						Observed: map[string]string{"tool": "weir engine", "send": c.send, "recv": c.recv},
						Values:   []record.Value{{Name: "throughput", Unit: "bit/s", Value: reporttest.Round(rate)}, {Name: "cpu.busy", Unit: "core", Value: 1.8}},
					}
					size := n*1398 + header
					if c.probe == "tcp" {
						r.Observed["mss"], r.Observed["streams"] = fmt.Sprint(mss), "1"
						size = n*mss + header + 24
					} else {
						r.Observed["datagram"] = "1398"
					}
					r.Values = append(r.Values, record.Value{Name: "packet.size.path", Unit: "byte", Value: size},
						record.Value{Name: "cpu.per.bit", Unit: "s/bit", Value: reporttest.Round(1.8 / rate)})
					rs = append(rs, r)
				}
			}
		}
	}
	return &account.Account{Contents: account.Contents{Name: "gap (synthetic)", Results: rs, Options: analysis.Options{Baseline: "host", Networks: []string{"host", "vxlan-overlay"}}}}
}

func gapText(t *testing.T, r *account.Account, width int) string {
	t.Helper()
	var b bytes.Buffer
	reporttest.Chinese(t, Report(reporttest.Analyzed(r)))
	if err := render.Text(&b, reporttest.JustPart(Report(reporttest.Analyzed(r)), "gap"), width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGapGolden(t *testing.T) {
	r := gapRun(12)
	reporttest.Golden(t, "gap.txt", []byte(gapText(t, r, 100)))
	var md, html bytes.Buffer
	if err := render.Markdown(&md, reporttest.JustPart(Report(reporttest.Analyzed(r)), "gap")); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "gap.md", md.Bytes())
	if err := render.HTML(&html, Report(reporttest.Analyzed(r))); err != nil {
		t.Fatal(err)
	}
	s := html.String()
	s = s[strings.Index(s, `<section id="gap">`):]
	reporttest.Golden(t, "gap.html", []byte(s[:strings.Index(s, "</section>")]))
}

// Every report has the section if its cells were measured, otherwise not.
func TestGapIsInReports(t *testing.T) {
	for name, want := range map[string]string{"html": `<section id="gap">`, "text": "The gap between", "markdown": "## The gap between", "json": `"id": "gap"`} {
		if s := write(t, writers[name], gapRun(12)); strings.Count(s, want) != 1 {
			t.Errorf("%s has %d of %s", name, strings.Count(s, want), want)
		}
		if s := write(t, writers[name], reporttest.Run(t)); strings.Contains(s, want) {
			t.Errorf("%s of another run has %s", name, want)
		}
	}
	if s := write(t, writers["html"], gapRun(12)); strings.Index(s, `<section id="gap">`) > strings.Index(s, `id="probe-tcp"`) || !strings.Contains(s, `href="#gap"`) {
		t.Error("the answer does not come first")
	}
	if gaps, _ := reporttest.Part(Report(reporttest.Analyzed(gapRun(12))), "gap").Data.([]analysis.Gap); len(gaps) != 2 || len(gaps[1].Extra) != 3 {
		t.Errorf("the numbers of the section: %+v", gaps)
	}
}

// The answer's table has the steps that its sentences tell, by name, and the chart has them too; and nothing else divides
// in that table.
func TestStepsAreInTheTable(t *testing.T) {
	r := gapRun(12)
	r.Question = "Why is UDP slower than TCP?"
	d := Report(reporttest.Analyzed(r))
	text := brief(t, d, screenColumns)
	for _, want := range []string{`UDP to TCP, host +sendmmsg `, `\n +GSO `, `\n +GRO `, `\n +TCP `, `UDP to TCP, vxlan-overlay +sendmmsg `, `from → to`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "÷ host") || strings.Contains(text, "largest of") {
		t.Errorf("the table has other comparisons:\n%s", text)
	}
	figures := reporttest.Part(d, "answer").Figures
	svg, err := figures[slices.IndexFunc(figures, func(f doc.Figure) bool { return f.ID == "overview" })].Chart.SVG()
	if err != nil || !strings.Contains(svg, ">no difference = 1<") || !strings.Contains(svg, ">GSO<") {
		t.Errorf("%v: the chart has no steps:\n%.3000s", err, svg)
	}
}

// What differs, and what was not shown to, are said in other words.
func TestStepsWithoutDifference(t *testing.T) {
	for without, want := range map[float64]string{1: "passes alone, TCP has ", 0.73: "Without segmentation offload, no difference between TCP and UDP is shown: "} {
		run := gapRun(12)
		for i, r := range run.Results {
			if r.Config["probe"] == "tcp" && r.Config["offload"] == "off" {
				run.Results[i].Values[0].Value *= without
			}
		}
		if text := strings.Join(strings.Fields(write(t, writers["text"], run)), " "); !strings.Contains(text, want) {
			t.Errorf("%g: no %q in %s", without, want, text[:min(len(text), 2000)])
		}
	}
}

// The section reports every result, including one that refutes the explanation or is unknown.
func TestGapSays(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	scale := func(probe, offload string, by float64) func(*record.Result) {
		return func(x *record.Result) {
			if x.Config["probe"] == probe && (offload == "" || x.Config["offload"] == offload) {
				x.Values = slices.Clone(x.Values)
				x.Values[0].Value *= by
			}
		}
	}
	for _, tc := range []struct {
		name   string
		blocks int
		edit   func(*record.Result)
		says   []string
	}{
		{"as modeled", 12, func(*record.Result) {}, []string{
			"hold together with 95 % confidence", "share passes. It carries", ": it is slower", "A pass costs about the same, within a factor of"}},
		{"too few blocks", 4, func(*record.Result) {}, []string{
			"4 blocks with every send mode are too few for intervals: 9 simultaneous intervals need at least 9", "too few blocks for a verdict"}},
		{"TCP does not need offload", 12, scale("tcp", "off", 30), []string{"the explanation is refuted here"}},
		{"TCP does as well without", 12, scale("tcp", "off", 11.9), []string{"no difference shown, which leaves it open"}},
		{"TCP is slower", 12, scale("tcp", "on", 0.05), []string{"carries 0.83× ["}},
		{"large passes cost more", 12, func(x *record.Result) {
			if x.Config["network"] == "vxlan-overlay" {
				scale("gso-gro", "on", 0.1)(x)
			}
		}, []string{"times as much as the cheapest: sharing passes does not explain everything"}},
		{"nothing is added", 12, func(x *record.Result) {
			if x.Config["network"] == "vxlan-overlay" {
				scale("tcp", "on", 1.59)(x)
			}
		}, []string{"The run does not show how much time vxlan-overlay adds to a packet on host for TCP with offload."}},
		{"disturbed", 12, func(x *record.Result) {
			if x.Config["probe"] == "mmsg" && x.Block < 6 {
				x.Values = append(slices.Clip(x.Values), record.Value{Name: "others.user", Unit: "core", Value: 1})
				x.Start, x.Elapsed = x.Start.AddDate(len(x.Trial), x.Block, 0), 1
			}
		}, []string{"TCP with segmentation offload carries", "Disturbed: others used 0.1 core, and all trials count; for narrower intervals"}},
		{"stalled", 12, scale("gso", "on", 0), []string{"no block has data for every send mode"}},
		{"noise", 12, func(x *record.Result) {
			switch x.Block % 3 { // shifts some blocks of each kind
			case 0:
				scale("mmsg", "on", 8)(x)
			case 1:
				scale("mmsg", "on", 3)(x)
				scale("gso", "on", 20)(x)
			}
		}, []string{"in every block they multiply to the total"}},
		{"drift", 48, func(x *record.Result) {
			scale("tcp", "on", 1+0.3*math.Sin(float64(x.Block)/6))(x)
		}, []string{"the total, the step to TCP with offload, the check of offload: neighboring blocks remain correlated: 48 count as 5 independent ones"}},
		{"unknown sizes", 12, func(x *record.Result) {
			x.Values = slices.DeleteFunc(slices.Clone(x.Values), func(v record.Value) bool { return v.Name == "packet.size.path" })
		}, []string{"TCP with segmentation offload carries"}},
	} {
		r := gapRun(tc.blocks)
		for i := range r.Results {
			tc.edit(&r.Results[i])
		}
		for _, width := range []int{60, 100} {
			s := gapText(t, r, width)
			for _, want := range tc.says {
				if !strings.Contains(strings.Join(strings.Fields(s), " "), want) {
					t.Errorf("%s: does not say %q:\n%s", tc.name, want, s)
				}
			}
		}
		for name, f := range writers {
			if s := write(t, f, r); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
				t.Errorf("%s: %s has a number that is none", tc.name, name)
			}
		}
	}
}
