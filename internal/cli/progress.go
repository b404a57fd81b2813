package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/record"
)

// A progress shows the current activity on stderr, in a redrawn line on a terminal and otherwise in
// a line per block. Everything also goes to the log.
type progress struct {
	log   io.Writer
	live  bool
	width int
	text  string
	block int
	// In a series: the name of the run, and a function from the time left for this run to that for all.
	name   string
	series func(time.Duration) time.Duration
}

func newProgress(log io.Writer) *progress {
	p := &progress{log: log, width: 80}
	if fd := int(os.Stderr.Fd()); term.IsTerminal(fd) {
		p.live = true
		if w, _, err := term.GetSize(fd); err == nil && w > 20 {
			p.width = w
		}
	}
	return p
}

func (p *progress) event(e experiment.Event) {
	now := time.Now().Format("15:04:05.000")
	if e.Text != "" {
		p.text = e.Text
		fmt.Fprintf(p.log, "%s %s\n", now, e.Text)
	}
	if e.Warning != "" {
		fmt.Fprintf(p.log, "%s %s\n", now, e.Warning)
		p.say("weir: " + e.Warning)
	}
	if r := e.Result; r != nil {
		fmt.Fprintf(p.log, "%s %s %s in %.2f s %s\n", now, r.Trial, r.Status, r.Elapsed, r.Reason)
		if r.Status != record.OK && r.Status != record.Skipped {
			p.say(fmt.Sprintf("%s: %s: %s", r.Trial, r.Status, r.Reason))
		}
		if !p.live && r.Block != p.block && e.Done > 0 {
			p.block = r.Block
			fmt.Fprintf(os.Stderr, "%sblock %d: %d of %d trials done%s\n", p.prefix(), r.Block, e.Done, e.Total, p.left(e.Left))
		}
	}
	if !p.live {
		if e.Result == nil && e.Done == 0 && e.Text != "" && p.block == 0 {
			say(e.Text)
			p.block = -1
		}
		return
	}
	line := foreign.Text(fmt.Sprintf("%s%s %d/%d%s  %s", p.prefix(), bar(e.Done, e.Total), e.Done, e.Total, p.left(e.Left), p.text))
	if r := []rune(line); len(r) >= p.width {
		line = string(r[:p.width-1])
	}
	fmt.Fprintf(os.Stderr, "\r\x1b[K%s", line)
}

func (p *progress) say(line string) {
	p.end()
	say(line)
}

func (p *progress) end() {
	if p.live {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}

func (p *progress) prefix() string {
	if p.name == "" {
		return ""
	}
	return p.name + ", "
}

func (p *progress) left(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	text := fmt.Sprintf(", %v left", d.Round(time.Second))
	if p.series != nil {
		text += fmt.Sprintf(", %v for all runs", p.series(d).Round(time.Second))
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

// say prints a line about the whole command.
func say(line string) { fmt.Fprintln(os.Stderr, foreign.Text(line)) }
