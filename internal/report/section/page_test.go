package section

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// large is a run of 12 networks and 8 probes, with names as long as those of the catalog.
func large(t testing.TB) *account.Account {
	r := reporttest.Run(t)
	of := map[string]string{"tcp-stream": "tcp-stream-many", "udp-stream": "udp-stream-large", "udp-rate": "udp-pps", "udp-rr": "tcp-rr"}
	r.Words = maps.Clone(r.Words)
	for from, to := range of {
		x := r.Words[from]
		r.Words[to] = probe.Info{Title: x.Title + " again", Short: x.Short + " again", Method: x.Method}
		r.Probes = append(r.Probes, to)
	}
	var out []record.Result
	r.Networks = []string{"host"}
	for i := range 11 {
		r.Networks = append(r.Networks, fmt.Sprintf("flannel-vxlan-%02d", i))
	}
	for _, x := range r.Results {
		names := []string{x.Config["network"]}
		switch {
		case names[0] == "bridge":
			names = r.Networks[1:6]
		case names[0] != "host":
			names = r.Networks[6:]
		}
		for n, name := range names {
			for i, p := range []string{x.Config["probe"], of[x.Config["probe"]]} {
				y := x
				y.Trial, y.Config = fmt.Sprintf("%s-%d-%d", x.Trial, n, i), map[string]string{"network": name, "probe": p}
				out = append(out, y)
			}
		}
	}
	r.Results = out
	return r
}

// A page goes by mail, and opens at once.
func TestPageIsSmall(t *testing.T) {
	r := large(t)
	s := write(t, writers["html"], r)
	for i := range r.Results {
		if r.Results[i].Status == record.OK {
			r.Results[i].Status = record.Disturbed
		}
	}
	busy := write(t, writers["html"], r)
	if len(s) > 250e3 || len(busy) > 250e3 {
		t.Errorf("a page of 12 networks and 8 probes has %d bytes, %d on a busy machine: want 250 kB at most", len(s), len(busy))
	}
	for _, what := range []string{"table", "svg", "style"} {
		n := 0
		for _, m := range regexp.MustCompile(`(?s)<`+what+`\b.*?</`+what+`>`).FindAllString(s, -1) {
			n += len(m)
		}
		t.Logf("%s: %d bytes of %d", what, n, len(s))
	}
}

// The first screen has the question, the machine, the versions, the time and what the intervals promise.
func TestFirstScreen(t *testing.T) {
	s := write(t, writers["html"], reporttest.Run(t))
	first, _, _ := strings.Cut(regexp.MustCompile(`</?abbr[^>]*>`).ReplaceAllString(s, ""), "<nav")
	for _, want := range []string{"<h1>Why is UDP so much slower", "Example 3 GHz, 8 CPUs", "6.12.9", "2024-06-07 09:00 UTC", "9 min 35 s", "1 run: 12 blocks, 144 trials", "hold together with 95 % confidence", "another run can differ"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first screen does not say %q:\n%s", want, first[strings.Index(first, "<body>"):])
		}
	}
}

// Whoever reads the page can run its study: the commands need no file of its author.
func TestAgainNeedsNoFile(t *testing.T) {
	r := reporttest.Run(t)
	r.Study = []byte("name: x\nEND\nEND.\n")
	code := reporttest.Part(Report(reporttest.Analyzed(r)), "again").Code
	if want := "cat > study.yaml <<'END..'\nname: x\nEND\nEND.\nEND..\nweir run study.yaml"; code != want {
		t.Errorf("%s\nwant\n%s", code, want)
	}
	if s := write(t, writers["html"], r); strings.Contains(s, r.Dir) {
		t.Errorf("the page names %s, which only its author has", r.Dir)
	}
}

// A table and the charts next to it have one number for one thing.
func TestLadderHasTheTablesNumbers(t *testing.T) {
	s := reporttest.Part(Report(reporttest.Analyzed(reporttest.Run(t))), "probe-udp-rate").Parts[0]
	table := s.Tables[0]
	for _, f := range s.Figures {
		if !strings.HasSuffix(f.ID, "-loss") {
			continue
		}
		svg, err := f.Chart.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Rows[1:] { // a stall of the baseline is in only one of its values
			if want := "delivered " + r.Cells[1].Text; !strings.Contains(svg, want) {
				t.Errorf("the ladder does not say %q, as the table does:\n%s", want, svg)
			}
		}
		return
	}
	t.Error("no ladder")
}

// Every mark has a text, and every trial is in the chart of its table.
func TestMarks(t *testing.T) {
	s := write(t, writers["html"], reporttest.Run(t))
	if n := strings.Count(s, "<title>") - 1; n < 50 || strings.Contains(s, "<title></title>") {
		t.Errorf("%d marks have titles, or one has none", n)
	}
	_, trials, _ := strings.Cut(s, `<figure id="probe-udp-stream-each"`)
	trials, _, _ = strings.Cut(trials, "</svg>")
	n := 0
	for _, m := range regexp.MustCompile(`data-l="?([^">]*)"?`).FindAllStringSubmatch(trials, -1) {
		n += strings.Count(m[1], "|") + 1
	}
	if n != 36 || strings.Count(trials, "invalid") != 1 {
		t.Errorf("%d trials, %d invalid: want 36 and 1\n%s", n, strings.Count(trials, "invalid"), trials)
	}
}

// A trial that was disturbed sorts among the others, whose texts have no unit.
func TestSortableTrials(t *testing.T) {
	var ok, disturbed doc.Cell
	addTrial(&ok, analysis.Point{Value: 12.5e9, Has: true, Status: record.OK}, 1e-9, 2)
	addTrial(&disturbed, analysis.Point{Value: 12.4e9, Has: true, Status: record.Disturbed}, 1e-9, 2)
	of := doc.Table{Columns: []doc.Column{{}, {Base: "bit/s"}}, Rows: []doc.Row{{Cells: []doc.Cell{{}, ok}}, {Cells: []doc.Cell{{}, disturbed}}}}
	var page strings.Builder
	if err := render.HTML(&page, &doc.Document{Sections: []doc.Section{{ID: "x", Tables: []doc.Table{of}}}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), ok.Text) || strings.Contains(page.String(), " data-v=") {
		t.Errorf("%q and %q are sorted by a number, and not by their texts as the others of their column", ok.Text, disturbed.Text)
	}
}

// A large page says why a table has fewer charts than others.
func TestLargePageSaysWhatItLeavesOut(t *testing.T) {
	const note = "omit charts of ratios, medians and CPU time"
	if s := write(t, writers["html"], reporttest.Run(t)); strings.Contains(s, note) {
		t.Error("a small page says that it leaves out charts")
	}
	if s := write(t, writers["html"], large(t)); !strings.Contains(s, note) {
		t.Error("a large page does not say that it leaves out charts")
	}
}
