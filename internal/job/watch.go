package job

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// TimeShare is how long, in multiples of the time that a look at a run took, nobody looks again: looking uses the
// machine that is measured.
const TimeShare = 50

// A Look is what another process has written of a run so far.
type Look struct {
	Run         string    // its directory; in a series, that of the last run that has started
	Name        lang.Text // of a run in a series
	Fresh       bool      // there are results since the last look
	Last        bool      // the run has ended, and everything is read
	Study       study.Study
	Results     []record.Result
	Done, Total int           // trials
	Left        time.Duration // 0: unknown
	Text        string        // what the run is doing
}

// Watch looks at the run or the series in dir, about once a second, and shows each look until another process no longer
// writes there. It changes nothing. It returns the file of the report.
func Watch(ctx context.Context, dir string, show func(Look)) (report string, _ error) {
	w := watcher{dir: dir}
	for {
		running, err := store.Running(dir) // before it reads, so that it reads everything
		if err != nil {
			return "", failure.Environment.Of(err)
		}
		begun := time.Now()
		if w.Last = !running; w.Last {
			w.size = -1
		}
		started, err := w.look()
		if err != nil {
			return "", err
		}
		if started {
			show(w.Look)
		}
		if w.Last {
			return w.report()
		}
		if err := wait(ctx, max(time.Second, TimeShare*time.Since(begun))); err != nil {
			return "", err
		}
	}
}

// A watcher knows what it has read.
type watcher struct {
	Look
	dir  string // of the run or the series
	size int64  // of the results when they were read
}

// look reads what is new. It returns false before the first run of a series has started.
func (w *watcher) look() (started bool, _ error) {
	runs, err := store.Runs(w.dir)
	if err != nil {
		if _, err := store.ReadSeries(w.dir); err == nil {
			return false, nil
		}
		return false, failure.Usage.Errorf("cannot watch a run: %w", err)
	}
	if run := runs[len(runs)-1]; run != w.Run {
		w.Run, w.size = run, -1
		if s, err := store.ReadSeries(w.dir); err == nil && run != w.dir {
			w.Name = lang.T("run %d of %d", len(runs), s.Runs)
		}
	}
	info, err := os.Stat(filepath.Join(w.Run, "results.jsonl"))
	if err != nil {
		return false, failure.Environment.Of(err)
	}
	w.Fresh = false
	if info.Size() != w.size {
		if err := w.read(); err != nil {
			return false, err
		}
		w.size = info.Size()
	}
	w.Text = activity(filepath.Join(w.Run, "weir.log"))
	w.Left = pace(w.Results, w.Total-w.Done)
	return true, nil
}

// read reads the results of the run.
func (w *watcher) read() error {
	c, err := store.Read(w.Run)
	if err != nil {
		return failure.Environment.Of(err)
	}
	if c.Study == nil {
		return nil // not yet written
	}
	if w.Study, err = study.Load(c.Study, filepath.Join(w.Run, "study.yaml")); err != nil {
		return failure.Usage.Of(err)
	}
	w.Results, w.Done, w.Fresh = c.Results, len(c.Results), true
	w.Total = experiment.Planned(w.Study, catalog.Applies, func(name string) ([]byte, error) {
		return foreign.ReadFile(filepath.Join(w.Run, name), strictyaml.MaxSource)
	})
	return nil
}

// report returns the file of the report, which a run writes at its end.
func (w *watcher) report() (string, error) {
	html := filepath.Join(w.dir, "report.html")
	report, err := os.Stat(html)
	results, resultsErr := os.Stat(filepath.Join(w.Run, "results.jsonl"))
	if err = errors.Join(err, resultsErr); err != nil || report.ModTime().Before(results.ModTime()) {
		return "", failure.Environment.Errorf("the run in %s ended after %d of %d trials and without a report; continue with: weir run --resume %s", w.dir, w.Done, w.Total, w.dir)
	}
	return html, nil
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
	f, err := foreign.Open(log, math.MaxInt64)
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
