package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/record"
)

// during uses a core between two moments after begin.
func during(begin time.Time, from, to time.Duration) func(time.Time) time.Duration {
	return func(now time.Time) time.Duration { return max(0, min(now.Sub(begin), to)-from) }
}

// repeats returns the original of each repeated block, in the order of the blocks.
func repeats(rs []record.Result) (of []int) {
	slices.SortStableFunc(rs, func(a, b record.Result) int { return a.Block - b.Block })
	for i, r := range rs {
		if again, ok := record.Repeats.Get(r.Observed); ok && (i == 0 || rs[i-1].Block != r.Block) {
			of = append(of, again)
		}
	}
	return of
}

// Blocks that a passing event disturbed are measured again, within a budget. A machine that stays
// busy ends this at once. A trial takes just over 1 s, a block just over 2 s.
func TestAgain(t *testing.T) {
	const always = time.Hour
	for _, c := range []struct {
		name     string
		from, to time.Duration
		max      time.Duration
		keep     bool
		want     []int
	}{
		{"quiet", 0, 0, 0, false, nil},
		{"a passing event", 9 * time.Second, 12 * time.Second, 0, false, []int{6, 5}},
		{"a long one", 3 * time.Second, 15 * time.Second, 0, false, []int{3, 4}},
		{"no time", 9 * time.Second, 12 * time.Second, 17 * time.Second, false, nil},
		{"time for one", 9 * time.Second, 12 * time.Second, 19 * time.Second, false, []int{6}},
		{"busy", 0, always, 0, false, []int{1}},
		{"busy and kept", 0, always, 0, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				s := fakeStudy(8)
				s.MaxTime, s.KeepDisturbed = c.max, c.keep
				m := &machine{others: during(time.Now().Add(idleTime), c.from, c.to)}
				rs, err := measured(t.Context(), config(t, m, s, dir))
				if err != nil {
					t.Fatal(err)
				}
				if got := repeats(rs); !slices.Equal(got, c.want) {
					t.Errorf("again %v, want %v", got, c.want)
				}
				if want := plannedIDs(s, 8+len(c.want)); !slices.Equal(ids(t, dir), want) {
					t.Errorf("%q, want %q", ids(t, dir), want)
				}
			})
		})
	}
}

// A run that was interrupted during its repetitions continues with the same ones.
func TestAgainAfterResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		s, why := fakeStudy(8), errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &machine{others: during(time.Now().Add(idleTime), 9*time.Second, 12*time.Second)}
		m.measure = func(_ context.Context, network string, n int) (float64, error) {
			if n == 9 && network == "a" {
				cancel(why)
			}
			return 1e9, nil
		}
		c := config(t, m, s, dir)
		if err := Run(ctx, c); !errors.Is(err, why) {
			t.Fatal(err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		rs, err := measured(t.Context(), config(t, &machine{}, s, dir))
		if got := repeats(rs); err != nil || !slices.Equal(got, []int{6, 5}) {
			t.Errorf("%v, again %v", err, got)
		}
		if got := ids(t, dir); len(got) != 20 {
			t.Errorf("%d trials, want 10 blocks of 2", len(got))
		}
	})
}

// A choice that cannot be read, or cannot be one, must not be replaced by another.
func TestAgainUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"no file": "", "no JSON": "{", "another plan": `{"planned":9,"of":[1]}`,
		"no such block": `{"planned":8,"of":[9]}`, "block 0": `{"planned":8,"of":[0]}`, "too many": `{"planned":8,"of":[1,2,3,4,5,6,7,8,1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				c := config(t, &machine{}, fakeStudy(8), dir)
				file := filepath.Join(dir, againFile)
				err := os.WriteFile(file, []byte(text), 0o600)
				if text == "" {
					err = errors.Join(os.Remove(file), os.Mkdir(file, 0o700))
				}
				if err != nil {
					t.Fatal(err)
				}
				if rs, err := measured(t.Context(), c); err == nil || !strings.Contains(err.Error(), againFile) || len(rs) != 16 {
					t.Errorf("%d trials, error %v: want 16, and an error that names %s", len(rs), err, againFile)
				}
			})
		})
	}
}
