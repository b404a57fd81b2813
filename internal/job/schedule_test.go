package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/store"
)

// A fakeClock runs a schedule without waiting. It starts at 14:00:00.
type fakeClock struct {
	at    time.Time
	lines []string
}

func (f *fakeClock) add(format string, a ...any) {
	f.lines = append(f.lines, f.at.Format(time.TimeOnly)+" "+fmt.Sprintf(format, a...))
}

func scheduled(s store.Series) (schedule, *fakeClock) {
	f := &fakeClock{at: time.Date(2026, 1, 2, 14, 0, 0, 0, time.Local)}
	return schedule{Series: s, now: func() time.Time { return f.at }, say: func(line lang.Text) { f.add("%s", line) },
		wait: func(ctx context.Context, d time.Duration) error {
			if ctx.Err() == nil {
				f.at = f.at.Add(d)
			}
			return context.Cause(ctx)
		}}, f
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration
		todo  []int
		old   int
		last  time.Duration // of the runs that have begun, relative to 14:00:00; 0 is none
		took  []time.Duration
		want  []string
	}{
		{"spaced", 10 * time.Minute, []int{1, 2, 3}, 0, 0, []time.Duration{time.Minute, 2 * time.Minute, time.Minute}, []string{
			"14:00:00 run 1 of 3, next at 14:10:00", "14:01:00 ended 1",
			"14:01:00 run 2 of 3 starts at 14:10:00",
			"14:10:00 run 2 of 3, next at 14:20:00", "14:12:00 ended 2",
			"14:12:00 run 3 of 3 starts at 14:20:00",
			"14:20:00 run 3 of 3", "14:21:00 ended 3"}},
		{"back to back", 0, []int{1, 2}, 0, 0, []time.Duration{time.Minute, time.Minute}, []string{
			"14:00:00 run 1 of 2", "14:01:00 ended 1", "14:01:00 run 2 of 2", "14:02:00 ended 2"}},
		{"longer than every", time.Minute, []int{1, 2, 3}, 0, 0, []time.Duration{90 * time.Second, time.Minute, time.Second}, []string{
			"14:00:00 run 1 of 3, next at 14:01:00", "14:01:30 ended 1",
			"14:01:30 run 1 took 1m30s, longer than --every 1m0s: run 2 starts at once",
			"14:01:30 run 2 of 3, next at 14:02:30", "14:02:30 ended 2",
			"14:02:30 run 3 of 3", "14:02:31 ended 3"}},
		{"resumed, too early", 10 * time.Minute, []int{2}, 1, -4 * time.Minute, []time.Duration{time.Second}, []string{
			"14:00:00 run 2 of 2 starts at 14:06:00", "14:06:00 run 2 of 2", "14:06:01 ended 2"}},
		{"resumed, late", 10 * time.Minute, []int{2}, 1, -time.Hour, []time.Duration{time.Second}, []string{
			"14:00:00 run 2 of 2", "14:00:01 ended 2"}},
		{"resumed in the middle of a run", 10 * time.Minute, []int{2, 3}, 2, -4 * time.Minute, []time.Duration{time.Second, time.Second}, []string{
			"14:00:00 run 2 of 3, next at 14:10:00", "14:00:01 ended 2",
			"14:00:01 run 3 of 3 starts at 14:10:00", "14:10:00 run 3 of 3", "14:10:01 ended 3"}},
		{"back to what was skipped", 10 * time.Minute, []int{1, 3, 5}, 4, -4 * time.Minute, []time.Duration{time.Second, time.Second, time.Second}, []string{
			"14:00:00 run 1 of 5", "14:00:01 ended 1", "14:00:01 run 3 of 5", "14:00:02 ended 3",
			"14:00:02 run 5 of 5 starts at 14:10:01", "14:10:01 run 5 of 5", "14:10:02 ended 5"}},
		{"another day", 12 * time.Hour, []int{1, 2}, 0, 0, []time.Duration{0, 0}, []string{
			"14:00:00 run 1 of 2, next at 2026-01-03 02:00:00", "14:00:00 ended 1",
			"14:00:00 run 2 of 2 starts at 2026-01-03 02:00:00", "02:00:00 run 2 of 2", "02:00:00 ended 2"}},
	} {
		s, f := scheduled(store.Series{Runs: c.todo[len(c.todo)-1], Every: c.every})
		last := time.Time{}
		if c.last != 0 {
			last = f.at.Add(c.last)
		}
		err := s.each(t.Context(), c.todo, c.old, last, func(n int, begun time.Time) error {
			if !begun.Equal(f.at) {
				t.Errorf("%s: run %d began at %v, not %v", c.name, n, begun, f.at)
			}
			f.at = f.at.Add(c.took[0])
			c.took = c.took[1:]
			f.add("ended %d", n)
			return nil
		})
		if err != nil || !slices.Equal(f.lines, c.want) {
			t.Errorf("%s: error %v\n%s\nwant\n%s", c.name, err, strings.Join(f.lines, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The first error ends the series, and so does a cancellation while it waits.
func TestScheduleEnds(t *testing.T) {
	broken := errors.New("broken")
	s, _ := scheduled(store.Series{Runs: 3})
	ran := 0
	err := s.each(t.Context(), []int{1, 2, 3}, 0, time.Time{}, func(n int, _ time.Time) error {
		if ran = n; n == 2 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || ran != 2 {
		t.Errorf("run %d was the last, error %v", ran, err)
	}

	s, f := scheduled(store.Series{Runs: 2, Every: time.Hour})
	ctx, cancel := context.WithCancelCause(t.Context())
	err = s.each(ctx, []int{1, 2}, 0, time.Time{}, func(int, time.Time) error { cancel(broken); return nil })
	if !errors.Is(err, broken) || f.at.Hour() != 14 {
		t.Errorf("at %v, error %v", f.at, err)
	}
	if err := wait(ctx, time.Hour); !errors.Is(err, broken) {
		t.Errorf("the wait ended with %v", err)
	}
}

func TestScheduleLeft(t *testing.T) {
	s, f := scheduled(store.Series{Runs: 5, Every: 10 * time.Minute})
	begun := f.at
	f.at = f.at.Add(time.Minute)
	for _, c := range []struct {
		after     int
		run, want time.Duration
	}{
		{4, 0, 0}, // unknown
		{0, time.Minute, time.Minute},
		{3, time.Minute, 31 * time.Minute},      // the others take 2 min each, 10 min apart
		{2, 14 * time.Minute, 44 * time.Minute}, // longer than every: 15 min each
	} {
		if got := s.left(c.after, begun, c.run); got != c.want {
			t.Errorf("%d runs after this one, %v left: %v in all, want %v", c.after, c.run, got, c.want)
		}
	}
	if got, want := s.total(time.Minute), 41*time.Minute; got != want {
		t.Errorf("5 runs of a minute take %v, want %v", got, want)
	}
}
