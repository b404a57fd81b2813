package report

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
)

// part is a section in English.
func (d *Document) part(id string) *Section {
	d = d.in(nil)
	for i := range d.Sections {
		if d.Sections[i].ID == id {
			return &d.Sections[i]
		}
	}
	return nil
}

func (d *Document) only(id string) *Document {
	one := slices.DeleteFunc(slices.Clone(d.Sections), func(s Section) bool { return s.ID != id })
	return &Document{Sections: one, Networks: d.Networks, Baseline: d.Baseline}
}

// Every section, figure and table has a link target, and every link leads somewhere.
func TestIdentities(t *testing.T) {
	for name, r := range map[string]*account.Account{"run": run(t), "gap": gapRun(12), "line": chainRun(t), "tools": toolRun(12), "levels": loaded(t)} {
		s := write(t, writers["html"], r)
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(s, -1) {
			if seen[m[1]] || m[1] != slug(m[1]) || m[1] == "" {
				t.Errorf("%s: the identity %q is not unique or cannot be typed", name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(s, -1) {
			if !seen[m[1]] {
				t.Errorf("%s: a link to %q, which does not exist", name, m[1])
			}
		}
	}
}

// Two charts share a line only where neither shrinks. Dark colors are for screens only.
func TestStyle(t *testing.T) {
	column := regexp.MustCompile(`minmax\(min\((\d+)rem, 100%\)`).FindStringSubmatch(pageStyle)
	chart := regexp.MustCompile(`viewBox="0 0 (\d+) `).FindStringSubmatch(write(t, writers["html"], run(t)))
	if column == nil || chart == nil {
		t.Fatalf("a column is %v, a chart is %v", column, chart)
	}
	rem, _ := strconv.Atoi(column[1])
	if width, _ := strconv.Atoi(chart[1]); 16*rem < width {
		t.Errorf("charts of %d px stand in columns of %d px", width, 16*rem)
	}
	if strings.Contains(pageStyle, "@media (prefers-color-scheme") {
		t.Error("a page is printed in dark colors")
	}
}

// Names that differ only in characters that a slug drops still get different IDs.
func TestIdentitiesOfHostileNames(t *testing.T) {
	ss := []Section{{ID: "a b"}, {ID: "a/b", Tables: []Table{{ID: "A b"}}}, {ID: "日本"}, {ID: "本日"}}
	identify(ss, "section", map[string]bool{})
	got := []string{ss[0].ID, ss[1].ID, ss[1].Tables[0].ID, ss[2].ID, ss[3].ID}
	if want := "a-b a-b-2 a-b-3 section-part section-part-2"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Cells carry the numbers that they print, so other programs need not parse text.
func TestCellsHaveNumbers(t *testing.T) {
	var back Document
	if err := json.Unmarshal([]byte(write(t, writers["json"], run(t))), &back); err != nil {
		t.Fatal(err)
	}
	table := back.part("probe-tcp-stream").Parts[0].Tables[0]
	for i, c := range table.Columns {
		for _, r := range table.Rows {
			cell := r.Cells[i]
			switch {
			case c.Kind == "interval" && cell.Text != "" && (cell.Low == nil || cell.High == nil || *cell.Low > *cell.High):
				t.Errorf("%s of %s: %+v", c.Head, r.Network, cell)
			case c.Base != "" && c.Kind != "interval" && cell.Text != "" && cell.Value == nil:
				t.Errorf("%s of %s: %+v", c.Head, r.Network, cell)
			}
		}
	}
}

type square struct{}

func (square) SVG() (string, error) { return "<svg>square</svg>", nil }

type broken struct{}

func (broken) SVG() (string, error) { return "", errors.New("no <place> on the axis") }

// A renderer shows any section without knowing it.
func TestRenderersShowAnySection(t *testing.T) {
	v := 1.5e9
	d := &Document{Title: "title", Networks: []string{"host", "net"}, Baseline: "host", Sections: []Section{{
		ID: "new", Title: "New section", About: "about it", Lines: []Line{{Network: "net", Text: "a line", Evidence: []string{"evidence"}}},
		Tables: []Table{{ID: "t", Title: "a table", Columns: []Column{{Head: "name"}, {Head: "rate", Unit: "Gbit/s", Base: "bit/s"}}, Rows: []Row{{Network: "net", Cells: []Cell{{Text: "net"}, {Text: "1.50", Value: &v}}}}}},
		Notes:  []string{"a note"}, Facts: []Fact{{"key", "value"}}, Code: "run this", Figures: []Figure{{ID: "f", Caption: "a figure", Chart: square{}}, {ID: "g", Chart: broken{}}},
		Parts: []Section{{ID: "part", Title: "A part", Notes: []string{"inside"}, Fold: true}, {ID: "page", Title: "Only a page", Notes: []string{"x"}, In: []Medium{forPage}}, {ID: "empty", Title: "Nothing"}},
	}}}
	for name, f := range map[string]func(io.Writer, *Document) error{"page": HTML, "markdown": Markdown, "summary": Summary, "json": JSON,
		"text": func(w io.Writer, d *Document) error { return Text(w, d, 80) }} {
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
