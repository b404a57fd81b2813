package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

// page is parsed once; functions that depend on a document replace these.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"chip": (*Document)(nil).chip, "tint": tint, "svg": svg, "lines": lines,
}).Parse(pageSource))

// HTML writes a document as a self-contained page: no script, external font or external image.
func HTML(w io.Writer, d *Document) error {
	t, err := page.Clone()
	if err != nil {
		return err
	}
	shown := *d
	shown.Sections = visible(d.Sections, forPage)
	return t.Funcs(template.FuncMap{"chip": d.chip}).Execute(w, struct {
		*Document
		Style template.CSS
	}{&shown, template.CSS(pageStyle)})
}

// chip is a dot in the color of a network, "" for none.
func (d *Document) chip(network string) template.HTML {
	if network == "" {
		return ""
	}
	n := color(d.Networks, d.Baseline, network)
	if n > 0 {
		n = (n-1)%8 + 1
	}
	return template.HTML(fmt.Sprintf(`<span class="chip" style="background:var(--s%d)"></span>`, n))
}

// tint returns the background of a cell, which grows stronger with the distance from 0.
func tint(shade float64) template.CSS {
	color := "good"
	if shade < 0 {
		color = "bad"
	}
	return template.CSS(fmt.Sprintf("color-mix(in srgb, var(--%s) %.0f%%, transparent)", color, min(34, 4+30*math.Abs(shade))))
}

// svg draws a figure. A chart that fails must not cost the reader the report.
func svg(f Figure) template.HTML {
	s, err := f.Chart.SVG()
	if err != nil {
		return template.HTML(`<p class="note">` + template.HTMLEscapeString(fmt.Sprintf("not drawn: %v", err)) + "</p>")
	}
	return template.HTML(s) // package chart escapes its texts
}

func lines(s string) []string { return strings.Split(s, "\n") }
