// Package render writes documents: as HTML, Markdown, text for a terminal, JSON and CSV. It knows no section.
//
// It must not compute or word a result, read a file or a clock, or let a name in a document become markup.
package render

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// policy lets a page load nothing and run no script except its own, whatever the names in it say.
var policy = fmt.Sprintf("default-src 'none'; img-src blob:; style-src 'unsafe-inline'; script-src 'sha256-%s'", hash(pageScript))

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// page is parsed once; functions that depend on a document replace these.
var page = template.Must(template.New("page").Funcs((&view{}).funcs()).Parse(pageSource))

// A view is what the template shows of a document.
type view struct {
	*doc.Document
	Style, ChartStyle template.CSS
	Script            template.JS
	Policy            string
	Subjects          map[string]any // and the words of the script, by their English ones
	probes            []string
	terms             []*regexp.Regexp // of the glossary, nil once the page has their meaning
}

// A subject is a network or a probe that readers can hide: its number in the page, its name and its title.
type subject [3]any

// HTML writes a document as a self-contained page, which is complete without its script: no request, and no
// external font, image or script.
func HTML(w io.Writer, d *doc.Document) error {
	t, err := page.Clone()
	if err != nil {
		return err
	}
	shown := d.Printed()
	shown.Sections = doc.Visible(shown.Sections, doc.Page)
	v := &view{Document: shown, Style: template.CSS(pageStyle), ChartStyle: template.CSS(chart.Style),
		Script: template.JS(pageScript), Policy: policy}
	v.terms = v.findTerms()
	networks, probes := []subject{}, []subject{}
	for _, n := range d.Networks { // escaped before it is JSON, which the escapes below would spoil
		networks = append(networks, subject{doc.Color(d.Networks, d.Baseline, n), foreign.Text(n), foreign.Text(n)})
	}
	for _, s := range shown.Sections {
		if s.Probe != "" && !slices.Contains(v.probes, s.Probe) {
			probes = append(probes, subject{len(v.probes), foreign.Text(s.Probe), foreign.Text(s.Title)})
			v.probes = append(v.probes, s.Probe)
		}
	}
	v.Subjects = map[string]any{"n": networks, "p": probes}
	if d.Lang != nil {
		v.Subjects["w"] = scriptWords(d.Lang)
	}
	v.Style += template.CSS(v.colors())
	var b strings.Builder
	if err := t.Funcs(v.funcs()).Execute(&b, v); err != nil {
		return err
	}
	_, err = io.WriteString(w, foreign.Text(b.String()))
	return err
}

func (v *view) funcs() template.FuncMap {
	return template.FuncMap{"of": v.of, "svg": v.svg, "heat": v.heat, "plain": v.plain, "say": v.say, "stack": stack, "gloss": v.gloss, "passage": passageOf}
}

// in is a sentence that the renderer adds.
func (v *view) in(s string) string {
	if v.Document == nil { // while the template is parsed
		return s
	}
	return lang.Text(s).In(v.Lang)
}

// say is a word of the template.
func (v *view) say(s string) string { return v.in(string(lang.Stored(s))) }

// scriptWords are what the page's script says.
func scriptWords(l *lang.Language) map[string]string {
	out := map[string]string{}
	for _, s := range []lang.Text{lang.T("Filter"), lang.T("Networks"), lang.T("Probes"), lang.T("zoom"), lang.T("Zoom into %s"), lang.T("Save %s as SVG"), lang.T("Save %s as PNG"),
		lang.T("Copy table as %s"), lang.T("Copy"), lang.T("Copy the text below"), lang.T("copied")} {
		out[s.String()] = s.In(l)
	}
	return out
}

// of are the attributes that let a reader hide what belongs to a network or a probe.
func (v *view) of(network, probe string) template.HTMLAttr {
	return template.HTMLAttr(v.subjects(network, probe))
}

func (v *view) subjects(network, probe string) (attrs string) {
	if slices.Contains(v.Networks, network) {
		attrs = fmt.Sprintf(" data-n=%d", doc.Color(v.Networks, v.Baseline, network))
	}
	if i := slices.Index(v.probes, probe); i >= 0 {
		attrs += fmt.Sprintf(" data-p=%d", i)
	}
	return attrs
}

// colors are the rules of the networks' colors.
func (v *view) colors() string {
	var b strings.Builder
	for _, name := range v.Networks {
		n := doc.Color(v.Networks, v.Baseline, name)
		mark := ""
		if n > chart.Colors { // a square, as in charts, where colors begin again
			mark = ";--mark:0"
		}
		fmt.Fprintf(&b, "[data-n=\"%d\"]{--n:var(--s%d)%s}\n", n, min(n, 1)*(max(n-1, 0)%chart.Colors+1), mark)
	}
	return b.String()
}

// svg draws a figure. A chart that fails must not cost the reader the report.
func (v *view) svg(f doc.Figure) template.HTML {
	s, err := f.Chart.SVG()
	if err != nil {
		return template.HTML("<p class=\"note\">" + template.HTMLEscapeString(v.in(string(lang.T("not drawn: %v", err)))) + "</p>")
	}
	focus := ""
	if strings.Contains(s, ` class="wide"`) { // scrolls on a narrow page
		focus = ` tabindex="0"`
	}
	return template.HTML("<div class=\"draw\"" + focus + ">" + compact(s) + "</div>") // package chart escapes its texts
}

// quoted are attributes whose values HTML, unlike XML, needs no quotes for.
var quoted = regexp.MustCompile(`="([\w.,#%-]+)"(/?)`)

// compact drops what an SVG needs only as a file: this saves a sixth of a page.
func compact(svg string) string {
	return quoted.ReplaceAllStringFunc(strings.ReplaceAll(svg, "\n", ""), func(s string) string {
		if bare, ok := strings.CutSuffix(s, "/"); ok { // a slash would be part of the value
			return "=" + strings.Trim(bare, `="`) + " /"
		}
		return "=" + strings.Trim(s, `="`)
	})
}
