package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

func watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch DIR",
		Short: "Show the progress of a run that another process writes",
		Long: `Show the progress of a run, or of a series of runs, that another weir on this
machine writes to DIR, until it ends: on a terminal with each network's ratio to the
baseline so far, whose interval narrows as blocks arrive, and otherwise a line per
block. It reads the directory once a second and changes nothing.

Exit status: 0 the run is complete; 3 it ended before it wrote its report.`,
		Example: `  weir run -o results & weir watch results
  ssh lab1 -t weir watch results`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, as []string) error {
			w := watcher{dir: as[0], progress: progress{out: os.Stdout, screen: newScreen(os.Stdout)}}
			defer w.End()
			return w.watch(c.Context())
		},
	}
}

// A watcher shows a run by what it has written.
type watcher struct {
	progress
	dir         string // of the run or the series
	run         string // of the run, in a series the last one that has started
	size        int64  // of its results when they were read
	study       study.Study
	all         []record.Result
	done, total int
}

func (w *watcher) watch(ctx context.Context) error {
	for {
		running, err := store.Running(w.dir) // before it reads, so that it reads everything
		if err != nil {
			return exit(exitEnvironment, err)
		}
		begun := time.Now()
		if !running { // read everything, and compute the last ratios at any cost
			w.size, w.ratios.next = -1, time.Time{}
		}
		if err := w.look(); err != nil {
			return err
		}
		if !running {
			return w.ended()
		}
		if err := wait(ctx, max(time.Second, timeShare*time.Since(begun))); err != nil {
			return err
		}
	}
}

// look reads what is new and shows it.
func (w *watcher) look() error {
	runs, err := store.Runs(w.dir)
	if err != nil {
		if _, err := store.ReadSeries(w.dir); err == nil {
			return nil // its first run has not started
		}
		return usage("cannot watch a run: %w", err)
	}
	if run := runs[len(runs)-1]; run != w.run {
		w.run, w.size, w.block = run, -1, 0
		if s, err := store.ReadSeries(w.dir); err == nil && run != w.dir {
			w.name = lang.T("run %d of %d", len(runs), s.Runs)
		}
	}
	info, err := os.Stat(filepath.Join(w.run, "results.jsonl"))
	if err != nil {
		return exit(exitEnvironment, err)
	}
	if info.Size() != w.size {
		if err := w.read(); err != nil {
			return err
		}
		w.size = info.Size()
	}
	w.text = activity(filepath.Join(w.run, "weir.log"))
	left := pace(w.all, w.total-w.done)
	switch {
	case w.screen != nil:
		w.draw(w.done, w.total, left)
	case w.done > 0:
		w.line(w.all[len(w.all)-1].Block, w.done, w.total, left)
	}
	return nil
}

// read reads the results of the run.
func (w *watcher) read() error {
	c, err := store.Read(w.run)
	if err != nil {
		return exit(exitEnvironment, err)
	}
	if c.Study == nil {
		return nil // not yet written
	}
	if w.study, err = study.Load(c.Study, filepath.Join(w.run, "study.yaml")); err != nil {
		return exit(exitUsage, err)
	}
	w.all, w.done = c.Results, len(c.Results)
	w.total = experiment.Planned(w.study, catalog.Applies, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(w.run, name))
	})
	w.ratios.study = w.study
	w.ratios.update(func() ([]record.Result, error) { return w.all, nil })
	return nil
}

// ended leaves the last ratios on the screen and says how the run ended.
func (w *watcher) ended() error {
	lines := w.ratios.lines(width() - echo)
	w.End()
	for _, line := range lines {
		fmt.Fprintln(w.out, strings.TrimRight(line, " "))
	}
	html := filepath.Join(w.dir, "report.html")
	report, err := os.Stat(html)
	results, resultsErr := os.Stat(filepath.Join(w.run, "results.jsonl"))
	if err = errors.Join(err, resultsErr); err != nil || report.ModTime().Before(results.ModTime()) {
		return exit(exitEnvironment, fmt.Errorf("the run in %s ended after %d of %d trials and without a report; continue with: weir run --resume %s", w.dir, w.done, w.total, w.dir))
	}
	fmt.Fprintln(w.out, said(lang.T("report: %s", html)))
	return nil
}

// recent is the number of trials whose pace predicts that of the others.
const recent = 50

// pace returns how long the rest of the trials will take; 0 if unknown.
func pace(results []record.Result, rest int) time.Duration {
	last := results[max(0, len(results)-recent):]
	if len(last) < 2 {
		return 0
	}
	return last[len(last)-1].Start.Sub(last[0].Start) / time.Duration(len(last)-1) * time.Duration(rest)
}

// activity returns the last line of a run's log without its time.
func activity(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer f.Close()
	end := make([]byte, 4<<10)
	if info, err := f.Stat(); err == nil {
		n, _ := f.ReadAt(end, max(0, info.Size()-int64(len(end)))) // less than a whole buffer is io.EOF
		end = end[:n]
	}
	text := strings.TrimSpace(string(end))
	_, text, _ = strings.Cut(text[strings.LastIndexByte(text, '\n')+1:], " ")
	return text
}
