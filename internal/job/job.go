// Package job is what commands do: a function per job, with options in and an outcome out. Run measures a study, Trace
// records the path of packets, Doctor looks for what a machine lacks, and so on.
//
// It must not know flags, and it prints nothing: messages for the user during a job go to a lang.Teller, and the
// outcome is what the user reads afterwards. Its errors carry the kind of failure that decides the exit status.
package job

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/section"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// A Caller is whoever asked for a job that measures.
type Caller struct {
	Version string         // of this program
	Lang    *lang.Language // of what is stored for people
	Tell    lang.Teller
	Show    func(Shown) Progress // shows trials
}

// A Progress shows a run while it goes on.
type Progress interface {
	Event(experiment.Event) // must not block
	End()
}

// Shown is a run that a Progress shows.
type Shown struct {
	Study   study.Study
	Results func() ([]record.Result, error) // so far
	Name    lang.Text                       // of a run in a series; "" for one that stands alone
	// Left turns the time left for this run into that for the whole series; nil for a run that stands alone.
	Left func(time.Duration) time.Duration
}

// SoFar returns a row for each network of an unfinished run that has a ratio: its name, then its ratio in each table.
func SoFar(s study.Study, results []record.Result) [][]string {
	return section.SoFar(analysis.New(results, experiment.Reading(s)))
}

// logged also writes events to the log of a run, in English.
func logged(log io.Writer, show func(experiment.Event)) func(experiment.Event) {
	return func(e experiment.Event) {
		now := time.Now().Format("15:04:05.000")
		for _, line := range []string{e.Text, e.Warning} {
			if line != "" {
				fmt.Fprintf(log, "%s %s\n", now, line)
			}
		}
		if r := e.Result; r != nil {
			fmt.Fprintf(log, "%s %s %s in %.2f s %s\n", now, r.Trial, r.Status, r.Elapsed, r.Reason)
		}
		show(e)
	}
}

// slow is after how long a step that usually takes no time says what it is.
const slow = 2 * time.Second

// Patiently calls f, which does not know ctx, and returns when f returns or ctx is done. The process then ends, and f
// with it. If f takes long, tell hears what it is.
func Patiently(ctx context.Context, tell lang.Teller, what lang.Text, f func() error) error {
	late := time.NewTimer(slow)
	defer late.Stop()
	return untilDone(ctx, late.C, func() {
		tell.Warn(lang.T("%s takes long, as it has many networks or cells; Ctrl-C ends it", what))
	}, f)
}

// untilDone calls f as Patiently does, and calls say when late comes.
func untilDone(ctx context.Context, late <-chan time.Time, say func(), f func() error) error {
	done := make(chan error, 1)
	go func() { done <- caught.Error(f) }()
	for {
		select {
		case err := <-done:
			return err
		case <-late:
			say()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wait returns early when the context ends.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
