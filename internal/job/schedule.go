package job

import (
	"context"
	"time"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
)

// A schedule starts the runs of a series. Tests replace its clock.
type schedule struct {
	store.Series
	now  func() time.Time
	wait func(context.Context, time.Duration) error // returns early when the context ends
	say  func(lang.Text)
}

func newSchedule(s store.Series, say func(lang.Text)) schedule {
	return schedule{s, time.Now, wait, say}
}

// begun returns how many runs have begun in their directories, and when the last of them began.
func (s schedule) begun(dir func(n int) string) (n int, last time.Time) {
	for n < s.Runs && Started(dir(n+1)) {
		n++
	}
	if n > 0 {
		last = startOf(dir(n))
	}
	return n, last
}

// each calls run for every number in todo, in order. Runs 1 to old have begun before, the last of them at last (zero if
// unknown), and continue at once. Every other run starts Every after the start of the one before it, or at once if that
// one took longer. The first error ends the series.
func (s schedule) each(ctx context.Context, todo []int, old int, last time.Time, run func(n int, begun time.Time) error) error {
	previous, ended := last, last
	for _, n := range todo {
		if n > old && !previous.IsZero() {
			if err := s.until(ctx, n, previous, ended); err != nil {
				return err
			}
		}
		previous = s.now()
		line := lang.T("run %d of %d", n, s.Runs)
		if s.Every > 0 && n >= old && n < s.Runs {
			line += lang.T(", next at %s", clock(previous.Add(s.Every), previous))
		}
		if s.Runs > 1 {
			s.say(line)
		}
		if err := run(n, previous); err != nil {
			return err
		}
		ended = s.now()
	}
	return nil
}

// until waits for the start of run n. The run before it began at previous and ended at ended.
func (s schedule) until(ctx context.Context, n int, previous, ended time.Time) error {
	now, next := s.now(), previous.Add(s.Every)
	if next.After(now) {
		s.say(lang.T("run %d of %d starts at %s", n, s.Runs, clock(next, now)))
		return s.wait(ctx, next.Sub(now))
	}
	if took := ended.Sub(previous); s.Every > 0 && took > s.Every {
		s.say(lang.T("run %d took %v, longer than --every %v: run %d starts at once", n-1, took.Round(time.Second), s.Every, n))
	}
	return nil
}

// left estimates the time to the end of the last run. The current run began at begun and has ofRun left, 0 if unknown;
// after is the number of runs that follow it.
func (s schedule) left(after int, begun time.Time, ofRun time.Duration) time.Duration {
	if ofRun <= 0 {
		return 0
	}
	run := s.now().Sub(begun) + ofRun
	return ofRun + time.Duration(after)*max(run, s.Every)
}

// total estimates the time of all runs if each takes as long as one.
func (s schedule) total(one time.Duration) time.Duration {
	return one + time.Duration(s.Runs-1)*max(one, s.Every)
}

// clock prints a time of day, with the date unless it is today's.
func clock(t, now time.Time) string {
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
