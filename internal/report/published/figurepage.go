package published

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

// FigurePage writes a Markdown table per document with a row for each figure. drawn has the files of the
// pictures by figure; the page links to them in the directory of that name next to it.
func FigurePage(w io.Writer, rs []figure.Result, drawn map[string]string, l *lang.Language) error {
	p := figurePage{l}
	b := bufio.NewWriter(w)
	document := ""
	for _, r := range rs {
		if r.Document != document {
			document = r.Document
			title := p.text(word(r.Source))
			if r.Link != "" {
				title = fmt.Sprintf("[%s](%s)", title, r.Link)
			}
			fmt.Fprintf(b, "\n### %s\n\n| %s | %s | %s | %s | %s | %s |\n|---|---|---|---|---|---|\n", title, p.text(say("figure")), p.text(say("shows")),
				p.text(say("command")), p.text(say("published")), p.text(say("here")), p.text(say("verdict")))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", p.place(r, drawn[r.ID]), p.text(word(r.Caption)), p.command(r), p.text(word(r.Numbers)), p.text(pageHere(r)), p.verdict(r))
	}
	return b.Flush()
}

// A figurePage writes Markdown in a language.
type figurePage struct{ l *lang.Language }

func (p figurePage) text(s string) string { return foreign.Markdown(p.in(s)) }
func (p figurePage) in(s string) string   { return lang.Text(s).In(p.l) }

func (p figurePage) place(r figure.Result, picture string) string {
	name := r.ID
	if picture != "" {
		dir, file := filepath.Split(picture)
		name = fmt.Sprintf("[%s](%s)", r.ID, filepath.ToSlash(filepath.Join(filepath.Base(filepath.Clean(dir)), file)))
	}
	return p.in(say("%s: %s (section %s)", name, p.text(word(r.Place)), p.text(word(r.Section))))
}

func (p figurePage) command(r figure.Result) string {
	var parts []string
	if r.Measured() {
		parts = append(parts, p.in(say("`%s` (study %s)", "weir figure "+r.ID, r.Study.Name)))
	}
	// Several commands or sentences stand between semicolons.
	for _, one := range strings.Split(strings.ReplaceAll(p.in(word(r.Instead)), "；", "; "), "; ") {
		switch {
		case strings.HasPrefix(one, "weir "):
			parts = append(parts, "`"+one+"`")
		case one != "":
			parts = append(parts, foreign.Markdown(one))
		}
	}
	return p.in(prose.List(parts))
}

func pageHere(r figure.Result) string {
	var parts []string
	for _, c := range r.Comparisons {
		here := say("not measured")
		if c.Here.N > 0 {
			here = prose.Times(c.Here)
		}
		parts = append(parts, say("%s ÷ %s: published %s×, here %s", c.Of, c.To, prose.Fixed(c.Published, 2), here))
	}
	for _, h := range r.Chains {
		if last := !slices.ContainsFunc(r.Chains, func(o figure.Hop) bool {
			return o.Network == h.Network && o.Probe == h.Probe && o.Metric == h.Metric && o.Segments > h.Segments
		}); last && h.Ratio.N > 0 {
			of := say("that of 1")
			if h.Adds {
				of = say("the sum of its segments")
			}
			parts = append(parts, say("%s %s over %d hops: %s %s", h.Network, h.Probe, h.Segments, prose.Times(h.Ratio), of))
		}
	}
	if len(r.Comparisons)+len(r.Chains) == 0 && len(r.Points) > 0 {
		parts = append(parts, say("in the picture"))
	}
	for _, m := range r.Missing {
		parts = append(parts, say("not measured: %s", figure.Lacking(m)))
	}
	if r.Cannot != "" {
		parts = append(parts, word(r.Cannot))
	}
	return prose.Alternatives(parts)
}

// verdict is that against the published numbers.
func (p figurePage) verdict(r figure.Result) string {
	switch {
	case !r.Measured():
		return "–"
	case r.From == "":
		return p.text(say("not measured yet"))
	case len(r.Claims) == 0 && len(r.Comparisons) > 0:
		return p.text(say("compared, no claim"))
	case len(r.Claims) == 0 && len(r.Published) > 0:
		return p.text(say("published values are marks, without a ratio to compare"))
	case len(r.Claims) == 0 && strings.HasPrefix(r.Numbers, "not published"):
		return p.text(say("nothing published to compare with"))
	case len(r.Claims) == 0:
		return p.text(say("published in words, without a number"))
	}
	var parts []string
	for _, o := range r.Outcomes {
		v := word(string(o.Verdict))
		if o.Verdict == claim.Untestable {
			v = say("not tested")
		}
		parts = append(parts, say("%s: %s", "["+o.Claim.ID+"](claims.md)", v))
	}
	for _, id := range r.Untested {
		parts = append(parts, say("%s: %s", "["+id+"](claims.md)", say("not tested")))
	}
	return cmp.Or(p.in(prose.Alternatives(parts)), "–")
}
