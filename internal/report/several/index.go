package several

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/section"
)

// An Indexed is a run, or a series of runs, in an index.
type Indexed struct {
	Dir      string // below that of the index, with slashes
	Reported bool   // Dir has a report.html
	Problem  string // why it cannot be read, or is not complete

	runs                     int
	begin                    time.Time
	machine, study, question string
	answer                   []string // sentences
}

// Entry returns what an index says of analyzed runs of one directory. Their evidence is not needed.
func Entry(runs []*account.Account) (x Indexed) {
	if len(runs) == 0 {
		return x
	}
	r := runs[0]
	x.runs, x.study, x.question = len(runs), r.Name, section.Question(r)
	x.begin, _ = r.Times()
	_, x.machine = machineOf(r)
	p := analysis.Pool(account.Analyses(runs), 0)
	x.answer = section.Answers(r)
	if len(runs) > 1 {
		x.answer = Pooled(runs, p).Answer
	}
	return x
}

// Index is the page of the runs below a directory, the newest first.
func Index(name string, all []Indexed) *doc.Document {
	var ok, bad []Indexed
	runs := 0
	for _, x := range all {
		if x.Problem == "" {
			ok = append(ok, x)
		} else {
			bad = append(bad, x)
		}
		runs += x.runs
	}
	d := &doc.Document{Title: say("Runs in %s", printable(name)), Census: prose.Count(runs, "run")}
	if bad != nil {
		d.Census += say("; incomplete or broken: %d", len(bad))
	}
	d.Sections = []doc.Section{{ID: "runs", Title: say("Runs"), Tables: []doc.Table{indexTable("runs-table", ok, false)}},
		{ID: "broken", Title: say("Incomplete or broken"), Tables: []doc.Table{indexTable("broken-table", bad, true)}}}
	if ok == nil {
		d.Sections[0].About, d.Sections[0].Tables = say("No complete run."), nil
	}
	if bad == nil {
		d.Sections = d.Sections[:1]
	}
	d.Identify()
	return d
}

func indexTable(id string, all []Indexed, broken bool) doc.Table {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Indexed) int { return cmp.Or(b.begin.Compare(a.begin), analysis.Natural(a.Dir, b.Dir)) })
	left := func(head string, cell func(Indexed) doc.Cell) doc.Filled {
		return doc.Layout(doc.Column{Head: word(head), Left: true}, all, cell)
	}
	words := func(head string, text func(Indexed) string) doc.Filled {
		return left(head, func(x Indexed) doc.Cell { return doc.Cell{Text: printable(text(x))} })
	}
	cs := []doc.Filled{
		left("run", func(x Indexed) doc.Cell {
			c := doc.Cell{Text: printable(x.Dir)}
			if x.Reported {
				c.Link = strings.ReplaceAll((&url.URL{Path: path.Join(x.Dir, "report.html")}).EscapedPath(), ":", "%3A") // no scheme
			}
			return c
		}),
		words("when (UTC)", func(x Indexed) string {
			if x.begin.IsZero() {
				return "–"
			}
			return x.begin.UTC().Format("2006-01-02 15:04")
		})}
	if broken {
		cs = append(cs, words("reason", func(x Indexed) string { return x.Problem }))
	}
	cs = append(cs, words("study", func(x Indexed) string { return x.study }), words("question", func(x Indexed) string { return x.question }))
	if !broken {
		cs = append(cs, left("answer", func(x Indexed) doc.Cell {
			c := doc.Cell{Text: "–"}
			for i, text := range x.answer {
				if text = printable(text); i == 0 {
					c.Text = text
				} else {
					c.More = append(c.More, text)
				}
			}
			return c
		}))
	}
	cs = append(cs, words("machine", func(x Indexed) string { return x.machine }),
		doc.Layout(doc.Column{Head: say("runs")}, all, func(x Indexed) doc.Cell {
			return doc.Cell{Text: fmt.Sprint(x.runs), Value: doc.Number(float64(x.runs))}
		}))
	t := doc.Tabulate(id, cs...)
	t.Prose = true
	return t
}

// printable replaces control characters, which names of directories can have.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || lang.Mark(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
