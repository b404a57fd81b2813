package doc

import (
	"cmp"
	"strings"

	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/prose"
)

// Figures returns all figures of a page, in reading order. Their captions also say what their sections are
// about.
func (d *Document) Figures() []Figure { return figuresOf(Visible(d.Printed().Sections, Page)) }

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
	d = d.Printed()
	s := chart.Sheet{Title: f.Caption, Subtitle: d.Question, Panes: []chart.Pane{{Chart: f.Chart}}}
	for _, n := range []string{f.Note, strings.Join(prose.NonEmpty(d.Title, d.Census, d.Span, d.Where), " · ")} {
		if n != "" {
			s.Notes = append(s.Notes, n)
		}
	}
	return s
}
