package report

import (
	"cmp"
	"strings"

	"github.com/weir-bench/weir/internal/chart"
)

// Figures returns all figures of a page, in reading order. Their captions also say what their sections are
// about.
func (d *Document) Figures() []Figure { return figuresOf(visible(d.printed().Sections, forPage)) }

func figuresOf(ss []Section) (out []Figure) {
	for _, s := range ss {
		for _, f := range s.Figures {
			if about := cmp.Or(s.Label, s.Title); !strings.Contains(f.Caption, about) {
				f.Caption = about + ": " + f.Caption
			}
			out = append(out, f)
		}
		out = append(out, figuresOf(s.Parts)...)
	}
	return out
}

// Picture returns a figure as a sheet that stands alone: it says what was measured, when and how often.
func (d *Document) Picture(f Figure) chart.Sheet {
	d = d.printed()
	s := chart.Sheet{Title: f.Caption, Subtitle: d.Question, Panes: []chart.Pane{{Chart: f.Chart}}}
	for _, n := range []string{f.Note, strings.Join(nonEmpty(d.Title, d.Census, d.Span, d.Where), " · ")} {
		if n != "" {
			s.Notes = append(s.Notes, n)
		}
	}
	return s
}

func nonEmpty(all ...string) (out []string) {
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
