// Package progress shows a run while it goes on: on a terminal in lines that stay at its bottom, elsewhere in a line a block.
//
// It must not judge a run: it shows what it is told.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// A Progress shows the current activity: on a terminal in lines that stay at its bottom, with the ratios so
// far, and otherwise in a line per block.
type Progress struct {
	out     io.Writer
	screen  *screen // nil: a line per block
	lang    *lang.Language
	text    string
	block   int
	ratios  ratios
	results func() ([]record.Result, error) // so far
	// In a series: the name of the run, and a function from the time left for this run to that for all.
	name   lang.Text
	series func(time.Duration) time.Duration
}

// New returns what shows a run on f, in a language; nil is English.
func New(f *os.File, in *lang.Language, s job.Shown) *Progress {
	return &Progress{out: f, screen: newScreen(f), lang: in, ratios: ratios{study: s.Study}, results: s.Results, name: s.Name, series: s.Left}
}

func (p *Progress) said(t lang.Text) string { return t.In(p.lang) }

// Event shows an event of the run.
func (p *Progress) Event(e experiment.Event) {
	if e.Text != "" {
		p.text = e.Text
	}
	if e.Warning != "" {
		p.say("weir: " + p.said(lang.Stored(e.Warning)))
	}
	if r := e.Result; r != nil && r.Status != record.OK && r.Status != record.Skipped {
		p.say(p.said(lang.T("%s: %s: %s", r.Trial, lang.Stored(string(r.Status)), r.Reason)))
	}
	switch {
	case p.screen != nil:
		if e.Result != nil {
			p.ratios.update(p.results)
		}
		p.draw(e.Done, e.Total, e.Left)
	case e.Result != nil:
		p.line(e.Result.Block, e.Done, e.Total, e.Left)
	case e.Done == 0 && e.Text != "" && p.block == 0:
		fmt.Fprintln(p.out, foreign.Text(p.said(lang.Stored(e.Text))))
		p.block = -1
	}
}

// line prints a line about a block, once.
func (p *Progress) line(block, done, total int, left time.Duration) {
	if block != p.block && done > 0 {
		p.block = block
		fmt.Fprintln(p.out, p.said(p.prefix()+lang.T("block %d: %d of %d trials done", block, done, total)+p.left(left)))
	}
}

// draw redraws the lines: the ratios, where the terminal is wide enough, and what the run is doing.
func (p *Progress) draw(done, total int, left time.Duration) {
	cols, _ := p.screen.size()
	p.screen.draw(append(p.ratios.lines(cols-echo),
		fmt.Sprintf("%s%s %d/%d%s  %s", p.said(p.prefix()), bar(done, total), done, total, p.said(p.left(left)), foreign.Text(p.said(lang.Stored(p.text))))))
}

func (p *Progress) say(line string) {
	line = foreign.Text(line)
	if p.screen != nil {
		p.screen.print(line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// End leaves the terminal to what follows.
func (p *Progress) End() {
	if p.screen != nil {
		p.screen.clear()
	}
}

func (p *Progress) prefix() lang.Text {
	if p.name == "" {
		return ""
	}
	return lang.T("%s, ", p.name)
}

func (p *Progress) left(d time.Duration) lang.Text {
	if d <= 0 {
		return ""
	}
	text := lang.T(", %v left", d.Round(time.Second))
	if p.series != nil {
		text += lang.T(", %v for all runs", p.series(d).Round(time.Second))
	}
	return text
}

func bar(done, total int) string {
	const cells = 20
	full := 0
	if total > 0 {
		full = min(cells, cells*done/total)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}

// ratios are the ratios of a run so far. Computing them between two trials uses the machine under test, so it gets at
// most a fiftieth of the time.
type ratios struct {
	study study.Study
	rows  [][]string // a network and its ratios
	next  time.Time
}

func (r *ratios) update(results func() ([]record.Result, error)) {
	begun := time.Now()
	if begun.Before(r.next) {
		return
	}
	if all, err := results(); err == nil { // otherwise the old ratios stay: the run reports the error when it needs them
		r.rows = job.SoFar(r.study, all)
	}
	r.next = time.Now().Add(job.TimeShare * time.Since(begun))
}

// lines lays the rows out in columns, as many as fit into width. Without room for one, there are no lines.
func (r *ratios) lines(width int) []string {
	var lines []string
	for col := 0; ; col++ {
		most := 0
		for _, row := range r.rows {
			if col < len(row) {
				most = max(most, lang.Columns(row[col]))
			}
		}
		used := 0
		if lines != nil {
			used = lang.Columns(lines[0]) + 2
		}
		if most == 0 || used+most > width {
			if col < 2 { // networks without a ratio
				return nil
			}
			return lines
		}
		if lines == nil {
			lines = make([]string, len(r.rows))
		}
		for i, row := range r.rows {
			cell := ""
			if col < len(row) {
				cell = row[col]
			}
			if col > 0 {
				lines[i] += "  "
			}
			lines[i] += cell + strings.Repeat(" ", most-lang.Columns(cell))
		}
	}
}
