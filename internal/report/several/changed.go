package several

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// A changed fact differs between runs.
type changed struct {
	name   string
	weight int      // 0 is what readers ask for first
	values []string // by run
}

// telltales are parts of the names of facts that explain changes most often, the first ones most.
var telltales = [][]string{{"kernel"}, {"weir"}, {".version", "cluster.", "cni."}, {"settings.", "sysctls."}, {"study."}}

// differences returns the facts in which runs differ, those that explain most first. What several hosts have
// in common is said once.
func differences(runs []map[string][]byte) (out []changed) {
	for _, d := range facts.Differ(runs) {
		host, name, ok := strings.Cut(d.Key, ".")
		if !ok { // a host that some runs lack
			name = d.Key
		} else if host == "study" {
			name = d.Key
		}
		c := changed{name: name, values: d.Values, weight: len(telltales)}
		for i, parts := range telltales {
			if slices.ContainsFunc(parts, func(p string) bool { return name == p || strings.ContainsAny(p, ".") && strings.Contains(name, p) }) {
				c.weight = min(c.weight, i)
			}
		}
		c.name = strings.TrimPrefix(strings.TrimPrefix(c.name, "settings."), "sysctls.")
		if !slices.ContainsFunc(out, func(o changed) bool { return o.name == c.name && slices.Equal(o.values, c.values) }) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b changed) int { return cmp.Compare(a.weight, b.weight) })
	return out
}

func (c changed) String() string {
	return fmt.Sprintf("%s %s → %s", c.name, cmp.Or(c.values[0], notRecorded), cmp.Or(c.values[len(c.values)-1], notRecorded))
}

// A step is two runs that follow each other and differ in facts.
type step struct {
	run  int // the later one
	name string
	what []changed
}

// steps compares every run with the one before.
func (t combined) steps() (out []step) {
	for i := 1; i < len(t.facts); i++ {
		if what := differences(t.facts[i-1 : i+1]); what != nil {
			out = append(out, step{i, letters(len(out)), what})
		}
	}
	return out
}

// letters counts a, b, … z, aa, ab, …
func letters(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return letters(n/26-1) + letters(n%26)
}

// notRecorded stands for a fact that a run lacks.
var notRecorded = say("(not recorded)")

// mostChanges is how many changed facts a sentence has.
const mostChanges = 4

// changes lists what changed between neighbors.
func (t combined) changes(steps []step) doc.Section {
	x := doc.Section{ID: "changes", Title: say("What changed between the runs"),
		About: say("Each letter is a place between two runs in the charts. A change that coincides with a step need not be its cause.")}
	for _, s := range steps {
		var text []string
		for _, c := range s.what {
			text = append(text, c.String())
		}
		l := doc.Line{Title: s.name, Text: say("%s to %s: %s", t.names[s.run-1], t.names[s.run], prose.List(text[:min(len(text), mostChanges)]))}
		if more := len(text) - mostChanges; more > 0 {
			l.Text += say(", and %d more", more)
			l.Evidence = text
		}
		x.Lines = append(x.Lines, l)
	}
	if steps == nil {
		x.About = say("Nothing that the runs recorded about machines, settings, versions and studies changed between them.")
	}
	return x
}

// more counts the facts that explain little.
func more(n int) string {
	if n == 1 {
		return say("1 more fact")
	}
	return say("%d more facts", n)
}

// Differ is what differs between two sides, from the conditions of the runs of both.
func Differ(names [2]string, a, b []map[string][]byte) doc.Section {
	t := combined{view: sideBySide, facts: slices.Concat(a, b), lanes: []lane{{name: names[0]}, {name: names[1]}}}
	for i := range t.facts {
		side := 0
		if i >= len(a) {
			side = 1
		}
		t.lanes[side].runs = append(t.lanes[side].runs, i)
	}
	return t.differ()
}

// differ is the table of the facts in which the lanes differ.
func (t combined) differ() doc.Section {
	x := doc.Section{ID: "differ", Title: map[display]string{sideBySide: say("What differs between the machines"), beforeAfter: say("What differs between before and after")}[t.view]}
	main := doc.Table{ID: "differ-table", Prose: true, Columns: []doc.Column{{Head: say("fact"), Left: true, Keep: 9}}}
	for i, l := range t.lanes {
		main.Columns = append(main.Columns, doc.Column{Head: l.name, Left: true, Keep: 9 - min(i, 5)})
	}
	rest := main
	rest.ID = "differ-rest"
	for _, c := range differences(t.facts) {
		cells := doc.Texts(c.name)
		for _, l := range t.lanes {
			var values []string
			for _, i := range l.runs {
				values = append(values, c.values[i])
			}
			cells = append(cells, doc.Cell{Text: distinct(values)})
		}
		if !slices.ContainsFunc(cells[1:], func(x doc.Cell) bool { return x.Text != cells[1].Text }) {
			continue // it differs between the studies of each
		}
		if c.weight < len(telltales) {
			main.Rows = append(main.Rows, doc.Row{Cells: cells})
		} else {
			rest.Rows = append(rest.Rows, doc.Row{Cells: cells})
		}
	}
	if main.Rows != nil {
		x.Tables = []doc.Table{main}
	}
	if rest.Rows != nil {
		x.Parts = []doc.Section{{ID: "differ-more", Title: more(len(rest.Rows)), Tables: []doc.Table{rest}, Fold: true}}
	}
	if main.Rows == nil && rest.Rows == nil {
		x.About = say("Nothing that the runs recorded.")
	}
	return x
}
