package render

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/weir-bench/weir/internal/report/doc"
)

// Tables are most of a page's elements, so they are written here without an attribute, quote or closing tag
// that HTML does not need.

var kinds = map[string]string{"value": "v", "ratio": "r", "interval": "i", "same": "s", "blocks": "b"}

func class(names ...string) string {
	switch all := strings.Fields(strings.Join(names, " ")); len(all) {
	case 0:
		return ""
	case 1:
		return " class=" + all[0]
	default:
		return " class=\"" + strings.Join(all, " ") + "\""
	}
}

func classOf(c doc.Column) string {
	left := ""
	if c.Left {
		left = "l"
	}
	return class(kinds[c.Kind], left)
}

// plain is the content of a table whose first column names the rows.
func (v *view) plain(t doc.Table) template.HTML {
	var b strings.Builder
	b.WriteString("<thead><tr>")
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "<th%s%s>%s", classOf(c), v.subjects(c.Network, c.Probe), template.HTMLEscapeString(c.Head))
		if c.Unit != "" {
			b.WriteString("<small>" + template.HTMLEscapeString(c.Unit) + "</small>")
		}
	}
	b.WriteString("<tbody>")
	for _, r := range t.Rows {
		base := ""
		if r.Baseline {
			base = "base"
		}
		b.WriteString("\n<tr" + class(base) + v.subjects(r.Network, "") + ">")
		for i, c := range r.Cells {
			if i == 0 {
				b.WriteString("<th>" + cellHTML(c))
				continue
			}
			attrs := classOf(t.Columns[i])
			if c.Bad {
				attrs = class("x")
			}
			b.WriteString("<td" + attrs + sortable(c, t.Columns[i]) + ">" + cellHTML(c))
		}
	}
	return template.HTML(b.String())
}

// sortable is the number of a cell whose text has a unit, by which a reader can sort. The letters of a bad cell are
// its status: its text begins with the number, as in the other cells of its column.
func sortable(c doc.Cell, of doc.Column) string {
	if c.Value == nil || c.Bad || of.Unit != "" || of.Base == "1" || !strings.ContainsAny(c.Text, "abcdefghijklmnopqrstuvwxyzµGMTk") {
		return ""
	}
	return fmt.Sprintf(" data-v=%.9g", *c.Value)
}

// cellHTML is the content of a cell. A link leads only to a path next to the page.
func cellHTML(c doc.Cell) string {
	text := strings.ReplaceAll(template.HTMLEscapeString(c.Text), "\n", "<br>")
	if c.Link != "" && !strings.Contains(c.Link, ":") && !strings.HasPrefix(c.Link, "/") {
		text = "<a href=\"" + template.HTMLEscapeString(c.Link) + "\">" + text + "</a>"
	}
	if len(c.More) > 0 {
		more := make([]string, len(c.More))
		for i, m := range c.More {
			more[i] = template.HTMLEscapeString(m)
		}
		text = "<details><summary>" + text + "</summary>" + strings.Join(more, "<br>") + "</details>"
	}
	return text
}

// heat is the content of a table of large cells. Each repeats the head of its column, for pages that are too
// narrow for columns.
func (v *view) heat(t doc.Table) template.HTML {
	var b strings.Builder
	b.WriteString("<thead><tr><td>")
	for _, c := range t.Columns[1:] {
		fmt.Fprintf(&b, "<th%s>%s", v.subjects(c.Network, c.Probe), template.HTMLEscapeString(c.Head))
	}
	b.WriteString("<tbody>")
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "\n<tr%s><th>%s", v.subjects(r.Network, ""), template.HTMLEscapeString(r.Cells[0].Text))
		for i, c := range r.Cells[1:] {
			fmt.Fprintf(&b, "<td%s data-h=\"%s\"><b>%s</b><small%s>%s</small>", class(tint(c.Shade)), template.HTMLEscapeString(t.Columns[i+1].Head),
				template.HTMLEscapeString(c.Text), class(marked(c.Small)), template.HTMLEscapeString(c.Small))
		}
	}
	return template.HTML(b.String())
}

// marked is the class of an interval with marks: it can have several lines.
func marked(small string) string {
	if strings.HasSuffix(small, "]") || strings.HasSuffix(small, ")") {
		return ""
	}
	return "m"
}

// tint is the class of a cell's background, which grows stronger with the distance from 0.
func tint(shade float64) string {
	color := "good"
	switch {
	case shade == 0:
		return ""
	case shade < 0:
		color = "bad"
	}
	return fmt.Sprintf("%s%.0f", color, min(5, 1+math.Floor(5*math.Abs(shade))))
}
