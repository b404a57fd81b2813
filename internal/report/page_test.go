package report

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// large is a run of 12 networks and 8 probes, with names as long as those of the catalog.
func large(t testing.TB) *account.Account {
	r := run(t)
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
	if n := len(pageScript); n > 15<<10 {
		t.Errorf("the script has %d bytes: want 15 KiB at most", n)
	}
	s := write(t, writers["html"], large(t))
	if len(s) > 250e3 {
		t.Errorf("a page of 12 networks and 8 probes has %d bytes: want 250 kB at most", len(s))
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
	s := write(t, writers["html"], run(t))
	first, _, _ := strings.Cut(s, "<nav")
	for _, want := range []string{"<h1>Why is UDP so much slower", "Example 3 GHz, 8 CPUs", "6.12.9", "2024-06-07 09:00 UTC", "9 min 35 s", "1 run: 12 blocks, 144 trials", "hold together with 95 % confidence", "another run can differ"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first screen does not say %q:\n%s", want, first[strings.Index(first, "<body>"):])
		}
	}
}

// Whoever reads the page can run its study: the commands need no file of its author.
func TestAgainNeedsNoFile(t *testing.T) {
	r := run(t)
	r.Study = []byte("name: x\nEND\nEND.\n")
	code := New(analyzed(r)).part("again").Code
	if want := "cat > study.yaml <<'END..'\nname: x\nEND\nEND.\nEND..\nweir run study.yaml"; code != want {
		t.Errorf("%s\nwant\n%s", code, want)
	}
	if s := write(t, writers["html"], r); strings.Contains(s, r.Dir) {
		t.Errorf("the page names %s, which only its author has", r.Dir)
	}
}

// A table and the charts next to it have one number for one thing.
func TestLadderHasTheTablesNumbers(t *testing.T) {
	s := New(analyzed(run(t))).part("probe-udp-rate").Parts[0]
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
	s := write(t, writers["html"], run(t))
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

// A claim of several parts says which part each row is about.
func TestPartsOfClaims(t *testing.T) {
	for _, r := range claims(outcomes()).Tables[0].Rows {
		if r.Cells[0].Text == "" || r.Cells[0].Text == "overlay-order" && r.Cells[1].Text == "" {
			t.Errorf("%+v", r.Cells[:2])
		}
	}
}

// A link of a table leads to a file next to the page, and nowhere else.
func TestLinks(t *testing.T) {
	for link, want := range map[string]bool{"quick/report.html": true, "javascript:alert(1)": false, "//example.org": false, "/etc": false} {
		if got := strings.Contains(Cell{Text: "x", Link: link}.html(), "<a "); got != want {
			t.Errorf("%s: a link is %v", link, got)
		}
	}
}

// A trial that was disturbed sorts among the others, whose texts have no unit.
func TestSortableTrials(t *testing.T) {
	var ok, disturbed Cell
	ok.trial(analysis.Point{Value: 12.5e9, Has: true, Status: record.OK}, 1e-9, 2)
	disturbed.trial(analysis.Point{Value: 12.4e9, Has: true, Status: record.Disturbed}, 1e-9, 2)
	for _, c := range []Cell{ok, disturbed} {
		if s := c.sortable(Column{Base: "bit/s"}); s != "" {
			t.Errorf("%q is sorted by%s, and not by its text as the others of its column", c.Text, s)
		}
	}
}

// A large page says why a table has fewer charts than others.
func TestLargePageSaysWhatItLeavesOut(t *testing.T) {
	const note = "omit the chart of medians"
	if s := write(t, writers["html"], run(t)); strings.Contains(s, note) {
		t.Error("a small page says that it leaves out charts")
	}
	if s := write(t, writers["html"], large(t)); !strings.Contains(s, note) {
		t.Error("a large page does not say that it leaves out charts")
	}
}

// Whatever names a run has, a page has the elements of its template and no others, and its data is JSON.
func FuzzNames(f *testing.F) {
	f.Add(hostile)
	f.Add("</script><!--")
	f.Add("\u2028\"|onload=x ")
	f.Fuzz(func(t *testing.T, name string) {
		d := &Document{Title: name, Question: name, Networks: []string{name}, Head: []Fact{{name, name}}, Sections: []Section{{ID: "a", Title: name, Probe: name,
			Lines:  []Line{{Network: name, Text: name, Evidence: []string{name}}},
			Tables: []Table{{ID: "b", Columns: []Column{{Head: name}, {Head: name, Unit: name, Network: name, Probe: name}}, Rows: []Row{{Network: name, Cells: []Cell{{Text: name, Link: name}, {Text: name, Small: name, More: []string{name}}}}}}},
			Code:   name, Facts: []Fact{{name, name}}}}}
		d.Sections[0].Tables = append(d.Sections[0].Tables, d.Sections[0].Tables[0])
		d.Sections[0].Tables[1].Heat = true
		var b strings.Builder
		if err := HTML(&b, d); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		for tag, want := range map[string]int{"<script": 2, "<table": 2, "<section": 1, "<style": 3, "<h1": 1, "<body": 1, "<!--": 0} {
			if got := strings.Count(s, tag); got != want {
				t.Errorf("%d %s: want %d", got, tag, want)
			}
		}
		if strings.Contains(s, "javascript:") && strings.Contains(s, `href="javascript:`) {
			t.Error("a name became a link with a script")
		}
	})
}
