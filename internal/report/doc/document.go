// Package doc is a report as data: a Document has sections with figures, tables and notes, in English and in
// Chinese at once. Rooms that make documents lay tables out with it; those that render know nothing else of a report.
//
// It must not know what a section is about, or write anything.
package doc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
)

// A Medium is where a document is read. A renderer shows only content for its medium.
type Medium string

const (
	Page     Medium = "page"     // HTML
	Terminal Medium = "terminal" // text of a limited width
	Markdown Medium = "markdown"
	Summary  Medium = "summary" // Markdown of one run on a page about several
	Alone    Medium = "alone"   // a section without the others (Only), which say the same
)

// full is every medium that reports a whole run.
var Full = []Medium{Page, Terminal, Markdown}

// in reports whether content for these media is for m; an empty list means all.
func in(media []Medium, m Medium) bool { return len(media) == 0 || slices.Contains(media, m) }

// A Document is a report as data.
type Document struct {
	Format   int       `json:"format"` // Format, which JSON sets
	Title    string    `json:"title,omitempty"`
	Question string    `json:"question,omitempty"`
	Census   string    `json:"census,omitempty"` // number of trials by status
	Span     string    `json:"span,omitempty"`   // when they ran
	Where    string    `json:"where,omitempty"`  // between which machines that exist
	Head     []Fact    `json:"head,omitempty"`   // what a reader must know first: machines, versions, when, how sure
	Lead     string    `json:"lead,omitempty"`   // the one warning that could change the answer, with its remedy
	Answer   []string  `json:"answer,omitempty"` // to the question, in sentences; the first section has its numbers
	Warnings []string  `json:"warnings,omitempty"`
	Networks []string  `json:"networks,omitempty"` // in order of their colors
	Baseline string    `json:"baseline,omitempty"` // the network without a color
	Sections []Section `json:"sections"`
	Analysis any       `json:"analysis,omitempty"` // all numbers, in base units
	Findings any       `json:"findings,omitempty"` // conclusions with evidence
	// Lang is the language in which people read the document; nil is English, and so is JSON.
	Lang *lang.Language `json:"-"`
}

// Heading is the question that the document answers, or its title.
func (d *Document) Heading() string { return cmp.Or(d.Question, d.Title) }

// IDs returns the names of all sections.
func (d *Document) IDs() (ids []string) {
	for _, s := range d.Sections {
		ids = append(ids, s.ID)
	}
	return ids
}

// Only leaves the section called id, without the head of the document; false if there is none.
func (d *Document) Only(id string) bool {
	i := slices.IndexFunc(d.Sections, func(s Section) bool { return s.ID == id })
	if i >= 0 {
		*d = Document{Networks: d.Networks, Baseline: d.Baseline, Sections: d.Sections[i : i+1]}
		if slices.Contains(d.Sections[0].In, Alone) {
			d.Sections[0].In = nil
		}
		alone(d.Sections)
	}
	return i >= 0
}

// alone shows the lines that other sections would repeat.
func alone(ss []Section) {
	for _, s := range ss {
		for i, l := range s.Lines {
			if slices.Contains(l.In, Alone) {
				s.Lines[i].In = nil
			}
		}
		alone(s.Parts)
	}
}

// A Section is one subject. Its parts are sections too. Renderers show the fields in this order.
type Section struct {
	ID    string `json:"id"`    // unique in the document and stable between runs of a study
	Title string `json:"title"` // understandable without context
	// Label is the short title in a table of contents, and a part's title in a flat section.
	Label   string    `json:"label,omitempty"`
	About   string    `json:"about,omitempty"`
	Lines   []Line    `json:"lines,omitempty"`
	Figures []Figure  `json:"figures,omitempty"`
	Tables  []Table   `json:"tables,omitempty"`
	Notes   []string  `json:"notes,omitempty"`
	Facts   []Fact    `json:"facts,omitempty"`
	Code    string    `json:"code,omitempty"` // verbatim
	Parts   []Section `json:"parts,omitempty"`
	Data    any       `json:"data,omitempty"` // numbers that are in no table, in base units

	Probe string   `json:"probe,omitempty"` // subject of the section; readers of a page can hide it
	In    []Medium `json:"in,omitempty"`    // empty means all
	Box   bool     `json:"box,omitempty"`   // stands out, before the table of contents
	Fold  bool     `json:"fold,omitempty"`  // closed until the reader opens it
	Flat  bool     `json:"flat,omitempty"`  // parts need no title where space is short
}

// A Line is a sentence about one network or all.
type Line struct {
	Network  string   `json:"network,omitempty"`
	Title    string   `json:"title,omitempty"` // "" means the network's name
	Text     string   `json:"text"`
	Evidence []string `json:"evidence,omitempty"`
	In       []Medium `json:"in,omitempty"`
}

func (l Line) String() string {
	if subject := cmp.Or(l.Title, l.Network); subject != "" {
		return say("%s: %s", subject, l.Text)
	}
	return l.Text
}

// A Fact is a name with a value.
type Fact struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (f Fact) String() string { return say("%s: %s", f.Key, f.Value) }

// A Figure is a chart with its caption.
type Figure struct {
	ID      string `json:"id"`
	Caption string `json:"caption"`
	Note    string `json:"note,omitempty"`  // what the chart leaves out
	Probe   string `json:"probe,omitempty"` // as a section's
	Chart   Chart  `json:"-"`
}

// A Chart draws itself. Its error names what cannot be drawn.
type Chart interface {
	SVG() (string, error)
}

// A Table has one cell per row and column. The first column names the rows.
type Table struct {
	ID      string   `json:"id"`
	Title   string   `json:"title,omitempty"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	In      []Medium `json:"in,omitempty"`
	Heat    bool     `json:"heat,omitempty"`  // large cells, shaded
	Prose   bool     `json:"prose,omitempty"` // cells are words, which wrap
}

// A Column is the head of one column.
type Column struct {
	Head    string `json:"head"`
	Unit    string `json:"unit,omitempty"`    // of the cells' text
	Base    string `json:"base,omitempty"`    // of the cells' numbers, such as "bit/s"
	Network string `json:"network,omitempty"` // subject of the column
	Probe   string `json:"probe,omitempty"`   // the same
	Kind    string `json:"kind,omitempty"`    // name, value, ratio, interval, same or blocks: how to set the cells
	Left    bool   `json:"left,omitempty"`    // aligned
	Whole   bool   `json:"whole,omitempty"`   // names are shortened last
	Keep    int    `json:"keep,omitempty"`    // where space is short, columns with small numbers go first; 9 stays
}

// A Row has a cell for each column.
type Row struct {
	Network  string `json:"network,omitempty"`  // subject of the row
	Baseline bool   `json:"baseline,omitempty"` // the others are compared with it
	Cells    []Cell `json:"cells"`
}

// A Cell is a text and its numbers.
type Cell struct {
	Text  string   `json:"text"`
	Small string   `json:"small,omitempty"` // below the text
	Link  string   `json:"link,omitempty"`  // of the text on a page: a path relative to the page's file
	Value *float64 `json:"value,omitempty"`
	Low   *float64 `json:"low,omitempty"` // of the interval
	High  *float64 `json:"high,omitempty"`
	Shade float64  `json:"shade,omitempty"` // in -1..1: bad to good
	Bad   bool     `json:"bad,omitempty"`   // reports a failure
	More  []string `json:"more,omitempty"`  // what the text sums up
}

// Number returns a number of a cell; JSON has no NaN or infinity.
func Number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Filled is a column with its cells, a table under construction: tables are laid out by column.
type Filled struct {
	Column
	Cells []Cell
}

// Layout fills a column with a cell for each of several things.
func Layout[T any](c Column, of []T, cell func(T) Cell) Filled {
	out := Filled{c, make([]Cell, len(of))}
	for i, x := range of {
		out.Cells[i] = cell(x)
	}
	return out
}

// Names is the first column of a table.
func Names[T any](head string, of []T, name func(T) string) Filled {
	return Layout(Column{Head: word(head), Left: true, Kind: "name", Keep: 9}, of, func(x T) Cell { return Cell{Text: name(x)} })
}

// Texts are cells without numbers.
func Texts(ss ...string) []Cell {
	return Layout(Column{}, ss, func(s string) Cell { return Cell{Text: s} }).Cells
}

// Tabulate makes a table of columns of equal length and drops those without text.
func Tabulate(id string, cs ...Filled) Table {
	t := Table{ID: id, Rows: make([]Row, len(cs[0].Cells))}
	for n, c := range cs {
		if n > 0 && !slices.ContainsFunc(c.Cells, func(x Cell) bool { return x.Text != "" }) {
			continue
		}
		t.Columns = append(t.Columns, c.Column)
		for i, x := range c.Cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, x)
		}
	}
	return t
}

// Named sets the network of each row and marks the baseline.
func (t Table) Named(baseline string) Table {
	for i := range t.Rows {
		t.Rows[i].Network = t.Rows[i].Cells[0].Text
		t.Rows[i].Baseline = t.Rows[i].Network == baseline
	}
	return t
}

// Slug makes an ID of names: letters, digits and dashes.
func Slug(names ...string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, English(strings.Join(names, "-")))
	return strings.Join(strings.FieldsFunc(clean, func(r rune) bool { return r == '-' }), "-")
}

// Identify gives all sections, figures and tables unique IDs.
func (d *Document) Identify() { identify(d.Sections, "section", map[string]bool{}) }

// identify gives sections, figures and tables unique IDs. An empty ID becomes its parent's.
func identify(ss []Section, parent string, taken map[string]bool) {
	own := func(id *string, fallback string) {
		*id = Slug(*id)
		if *id == "" {
			*id = fallback
		}
		for base, n := *id, 2; taken[*id]; n++ {
			*id = fmt.Sprintf("%s-%d", base, n)
		}
		taken[*id] = true
	}
	for i := range ss {
		s := &ss[i]
		own(&s.ID, parent+"-part")
		for n := range s.Figures {
			own(&s.Figures[n].ID, s.ID+"-figure")
		}
		for n := range s.Tables {
			own(&s.Tables[n].ID, s.ID+"-table")
		}
		identify(s.Parts, s.ID, taken)
	}
}

// Visible returns the content for a medium. Only a page has figures.
func Visible(ss []Section, m Medium) (out []Section) {
	for _, s := range ss {
		if !in(s.In, m) {
			continue
		}
		s.Lines = slices.DeleteFunc(slices.Clone(s.Lines), func(l Line) bool { return !in(l.In, m) })
		s.Tables = slices.DeleteFunc(slices.Clone(s.Tables), func(t Table) bool { return !in(t.In, m) })
		s.Parts = Visible(s.Parts, m)
		if m != Page {
			s.Figures = nil
		}
		if s.About+s.Code != "" || len(s.Lines)+len(s.Figures)+len(s.Tables)+len(s.Notes)+len(s.Facts)+len(s.Parts) > 0 {
			out = append(out, s)
		}
	}
	return out
}
