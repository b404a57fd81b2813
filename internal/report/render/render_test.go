package render

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/report/doc"
)

// The script goes with every page.
func TestScriptIsSmall(t *testing.T) {
	if n := len(pageScript); n > 15<<10 {
		t.Errorf("the script has %d bytes: want 15 KiB at most", n)
	}
}

type square struct{}

func (square) SVG() (string, error) { return "<svg>square</svg>", nil }

type broken struct{}

func (broken) SVG() (string, error) { return "", errors.New("no <place> on the axis") }

// A renderer shows any section without knowing it.
func TestRenderersShowAnySection(t *testing.T) {
	v := 1.5e9
	d := &doc.Document{Title: "title", Networks: []string{"host", "net"}, Baseline: "host", Sections: []doc.Section{{
		ID: "new", Title: "New section", About: "about it", Lines: []doc.Line{{Network: "net", Text: "a line", Evidence: []string{"evidence"}}},
		Tables: []doc.Table{{ID: "t", Title: "a table", Columns: []doc.Column{{Head: "name"}, {Head: "rate", Unit: "Gbit/s", Base: "bit/s"}}, Rows: []doc.Row{{Network: "net", Cells: []doc.Cell{{Text: "net"}, {Text: "1.50", Value: &v}}}}}},
		Notes:  []string{"a note"}, Facts: []doc.Fact{{Key: "key", Value: "value"}}, Code: "run this", Figures: []doc.Figure{{ID: "f", Caption: "a figure", Chart: square{}}, {ID: "g", Chart: broken{}}},
		Parts: []doc.Section{{ID: "part", Title: "A part", Notes: []string{"inside"}, Fold: true}, {ID: "page", Title: "Only a page", Notes: []string{"x"}, In: []doc.Medium{doc.Page}}, {ID: "empty", Title: "Nothing"}},
	}}}
	for name, f := range map[string]func(io.Writer, *doc.Document) error{"page": HTML, "markdown": Markdown, "summary": Summary, "json": JSON,
		"text": func(w io.Writer, d *doc.Document) error { return Text(w, d, 80) }} {
		var b strings.Builder
		if err := f(&b, d); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		for _, want := range []string{"New section", "about it", "net", "a line", "evidence", "a table", "Gbit/s", "1.50", "a note", "key", "value", "run this", "A part", "inside"} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: no %q in\n%s", name, want, s)
			}
		}
		if page := name == "page"; name != "json" && (strings.Contains(s, "<svg>square</svg>") != page || strings.Contains(s, "no &lt;place&gt; on") != page || strings.Contains(s, "Only a page") != page || strings.Contains(s, "Nothing")) {
			t.Errorf("%s shows what is not meant for it, or not what is:\n%s", name, s)
		}
		if name == "json" && !strings.Contains(s, `"value": 1500000000`) {
			t.Errorf("%s has no number in\n%s", name, s)
		}
	}
}

// A link of a table leads to a file next to the page, and nowhere else.
func TestLinks(t *testing.T) {
	for link, want := range map[string]bool{"quick/report.html": true, "javascript:alert(1)": false, "//example.org": false, "/etc": false} {
		if got := strings.Contains(cellHTML(doc.Cell{Text: "x", Link: link}), "<a "); got != want {
			t.Errorf("%s: a link is %v", link, got)
		}
	}
}

// Whatever names a run has, a page has the elements of its template and no others, and its data is JSON.
func FuzzNames(f *testing.F) {
	f.Add(`<script>alert(1)</script>|"'&{{.}}` + "\x1b[31m\n`rm`*_\u202e")
	f.Add("</script><!--")
	f.Add("\u2028\"|onload=x ")
	f.Fuzz(func(t *testing.T, name string) {
		d := &doc.Document{Title: name, Question: name, Networks: []string{name}, Head: []doc.Fact{{Key: name, Value: name}}, Sections: []doc.Section{{ID: "a", Title: name, Probe: name,
			Lines:  []doc.Line{{Network: name, Text: name, Evidence: []string{name}}},
			Tables: []doc.Table{{ID: "b", Columns: []doc.Column{{Head: name}, {Head: name, Unit: name, Network: name, Probe: name}}, Rows: []doc.Row{{Network: name, Cells: []doc.Cell{{Text: name, Link: name}, {Text: name, Small: name, More: []string{name}}}}}}},
			Code:   name, Facts: []doc.Fact{{Key: name, Value: name}}}}}
		d.Sections[0].Tables = append(d.Sections[0].Tables, d.Sections[0].Tables[0])
		d.Sections[0].Tables[1].Heat = true
		var b strings.Builder
		if err := HTML(&b, d); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		for tag, want := range map[string]int{"<script": 2, "<table": 2, "<section": 1, "<style": 2, "<h1": 1, "<body": 1, "<!--": 0} {
			if got := strings.Count(s, tag); got != want {
				t.Errorf("%d %s: want %d", got, tag, want)
			}
		}
		if strings.Contains(s, "javascript:") && strings.Contains(s, `href="javascript:`) {
			t.Error("a name became a link with a script")
		}
	})
}

// A table wider than a screen becomes several with the same rows; an interval stays with its ratio.
func TestStack(t *testing.T) {
	wide := doc.Table{ID: "t", Columns: []doc.Column{{Head: "network"}}, Rows: []doc.Row{{Network: "net", Cells: []doc.Cell{{Text: "net"}}}}}
	for range 12 {
		for _, kind := range []string{"ratio", "interval", "same"} {
			wide.Columns = append(wide.Columns, doc.Column{Head: "head of it", Kind: kind})
			wide.Rows[0].Cells = append(wide.Rows[0].Cells, doc.Cell{Text: "[0.10, 0.20]"})
		}
	}
	parts, columns := stack([]doc.Table{wide}), 0
	for i, p := range parts {
		columns += len(p.Columns) - 1
		if p.Columns[0].Head != "network" || p.Columns[1].Kind != "ratio" || len(p.Rows[0].Cells) != len(p.Columns) || p.Rows[0].Network != "net" || i > 0 && p.ID == "t" {
			t.Errorf("part %d: %+v", i, p)
		}
	}
	if len(parts) < 3 || columns != len(wide.Columns)-1 {
		t.Errorf("%d tables with %d columns", len(parts), columns)
	}
	if narrow := stack([]doc.Table{{ID: "n", Columns: wide.Columns[:4], Rows: []doc.Row{{Cells: wide.Rows[0].Cells[:4]}}}}); len(narrow) != 1 || narrow[0].ID != "n" {
		t.Errorf("%+v", narrow)
	}
}

// A table that is too wide for a terminal says which probes it leaves out; one that fits says nothing.
func TestLeftOut(t *testing.T) {
	d := &doc.Document{Sections: []doc.Section{{ID: "answer", Title: "Answer", Box: true, Tables: []doc.Table{{ID: "t",
		Columns: []doc.Column{{Head: "network", Kind: "name", Keep: 9, Left: true}}, Rows: []doc.Row{{Cells: []doc.Cell{{Text: "bridged"}}}}}}}}}
	x := &d.Sections[0].Tables[0]
	for _, probe := range []string{"first", "second", "third", "fourth"} {
		x.Columns = append(x.Columns, doc.Column{Head: probe + " response", Probe: probe, Kind: "ratio", Keep: 8})
		x.Rows[0].Cells = append(x.Rows[0].Cells, doc.Cell{Text: "0.5×"})
	}
	for width, want := range map[int]string{60: "Too wide for 60 columns: fourth response. The page has them.", 100: ""} {
		var b strings.Builder
		if err := Brief(&b, d, width, false); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(b.String(), "0.5×\n"); strings.Join(strings.Fields(got), " ") != want {
			t.Errorf("%d columns: %q, want %q in\n%s", width, got, want, b.String())
		}
	}
}

// Where a table must lose columns, an interval and its ratio go together.
func TestNoRatioWithoutItsInterval(t *testing.T) {
	x := doc.Table{ID: "t", Columns: []doc.Column{{Head: "network", Kind: "name", Keep: 9, Left: true}, {Head: "times", Keep: 8},
		{Head: "÷ host", Kind: "ratio", Keep: 6}, {Head: "interval", Kind: "interval", Keep: 6}, {Kind: "same", Keep: 6}},
		Rows: []doc.Row{{Cells: []doc.Cell{{Text: "bridge"}, {Text: strings.Repeat("12.3 ", 8)}, {Text: "0.50×"}, {Text: "[0.41, 1.02]"}, {Text: "~"}}}}}
	d := &doc.Document{Sections: []doc.Section{{ID: "answer", Title: "Answer", Box: true, Tables: []doc.Table{x}}}}
	shown := map[bool]bool{}
	for width := 40; width < 100; width++ {
		var b strings.Builder
		if err := Brief(&b, d, width, false); err != nil {
			t.Fatal(err)
		}
		ratio := strings.Contains(b.String(), "0.50×")
		if shown[ratio] = true; ratio != strings.Contains(b.String(), "[0.41, 1.02]") {
			t.Errorf("%d columns:\n%s", width, b.String())
		}
	}
	if len(shown) != 2 {
		t.Error("no width drops the ratio, or all do")
	}
}

// A page without a census names its subject alone.
func TestTitleAlone(t *testing.T) {
	for census, want := range map[string]string{"": "\nout\n", "3 trials": "\nout: 3 trials\n"} {
		var b strings.Builder
		if err := Markdown(&b, &doc.Document{Title: "out", Question: "Does it hold?", Census: census}); err != nil || !strings.Contains(b.String()+"\n", want) {
			t.Errorf("%q, %v: want %q", b.String(), err, want)
		}
	}
}

// A note that does not fit loses whole sentences or clauses, and what remains ends as a sentence does.
func TestClausesEndASentence(t *testing.T) {
	for _, c := range []struct {
		text, want string
		columns    int
	}{
		{"It differs over others. Another run can differ.", "It differs over others.", 30},
		{"The first holds; the second does not; nor the third.", "The first holds; the second does not.", 40},
		{"它在其他运行中不同。再次运行可能不同。", "它在其他运行中不同。", 24},
		{"第一个成立；第二个不成立。", "第一个成立。", 20},
		{"A sentence without an end that fits stays whole.", "A sentence without an end that fits stays whole.", 10},
	} {
		if got := clauses(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
