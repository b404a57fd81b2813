package progress

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// A Watcher shows a run that another process writes.
type Watcher struct {
	*Progress
	width int    // of the last lines, which may be no terminal's
	run   string // the directory of the run that it has shown
}

// NewWatcher returns what shows a run on f, in a language; nil is English. Its last lines have at most width columns.
func NewWatcher(f *os.File, in *lang.Language, width int) *Watcher {
	return &Watcher{Progress: New(f, in, job.Shown{}), width: width}
}

// Show shows a look, and leaves the ratios of the last one on the screen.
func (w *Watcher) Show(l job.Look) {
	if l.Run != w.run {
		w.run, w.name, w.block = l.Run, l.Name, 0
	}
	if l.Last { // compute the ratios at any cost
		w.ratios.next = time.Time{}
	}
	if l.Fresh {
		w.ratios.study = l.Study
		w.ratios.update(func() ([]record.Result, error) { return l.Results, nil })
	}
	w.text = l.Text
	switch {
	case w.screen != nil:
		w.draw(l.Done, l.Total, l.Left)
	case l.Done > 0:
		w.line(l.Results[len(l.Results)-1].Block, l.Done, l.Total, l.Left)
	}
	if !l.Last {
		return
	}
	lines := w.ratios.lines(w.width - echo)
	w.End()
	for _, line := range lines {
		fmt.Fprintln(w.out, strings.TrimRight(line, " "))
	}
}
