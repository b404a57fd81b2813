package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

func TestEpisodeIsOver(t *testing.T) {
	begin := time.Unix(0, 0)
	for _, c := range []struct {
		name         string
		blocks, want int
		cost, block  time.Duration
		begins       []int // the blocks that begin a new episode
	}{
		{"eight", 56, 0, 300 * time.Millisecond, time.Second, []int{8, 15, 22, 29, 36, 43, 50}},
		{"few blocks", 4, 0, 0, time.Second, []int{2, 3, 4}},
		{"not a divisor", 10, 0, 0, time.Second, []int{3, 4, 5, 6, 8, 9, 10}},
		{"one block", 1, 0, 0, time.Second, nil},
		{"5 % at most: after 20 s", 56, 0, time.Second, time.Second, []int{21, 41}},
		{"too dear", 56, 0, 3 * time.Second, time.Second, nil},
		{"never", 56, 1, 0, time.Second, nil},
		{"whatever it costs", 9, 3, time.Hour, time.Second, []int{4, 7}},
		{"every block", 4, 100, time.Hour, time.Second, []int{2, 3, 4}},
	} {
		e, now := episode{}, begin
		var begins []int
		for b := 1; b <= c.blocks; b++ {
			if e.over(b, c.blocks, c.want, now) {
				begins, e.first = append(begins, b), 0
			}
			if e.first == 0 {
				e.first, e.started, e.rebuild = b, now, c.cost
			}
			now = now.Add(c.block)
		}
		if !slices.Equal(begins, c.begins) {
			t.Errorf("%s: episodes begin at %v, want %v", c.name, begins, c.begins)
		}
	}
}

// byEpisode counts results as "EPISODE NETWORK STATUS".
func byEpisode(rs []record.Result) map[string]int {
	n := map[string]int{}
	for _, r := range rs {
		n[fmt.Sprintf("%s %s %s", r.Observed["episode"], r.Config["network"], r.Status)]++
	}
	return n
}

func closedOnce(t *testing.T, m *machine, sites int) {
	t.Helper()
	if len(m.sites) != sites {
		t.Errorf("%d sites were opened, want %d", len(m.sites), sites)
	}
	for i, s := range m.sites {
		if s.closed != 1 {
			t.Errorf("site %d, of %s, was closed %d times", i, s.name, s.closed)
		}
	}
}

// Every episode has networks of its own, and nothing of the earlier one is left when they are built.
func TestEpisodes(t *testing.T) {
	for want, episodes := range map[int]int{0: 4, 1: 1, 2: 2} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fakeStudy(4)
				s.Episodes = want
				m := &machine{}
				m.open = func(string) error {
					for i, site := range m.sites {
						if i/2 < (len(m.sites)-1)/2 && site.closed != 1 {
							t.Errorf("site %d is open while site %d is built", i, len(m.sites)-1)
						}
					}
					return nil
				}
				rs, err := measured(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out")))
				if err != nil {
					t.Fatal(err)
				}
				closedOnce(t, m, 2*episodes)
				for i, site := range m.sites {
					if site.trials != 4/episodes {
						t.Errorf("site %d measured %d trials, want %d", i, site.trials, 4/episodes)
					}
				}
				expect := map[string]int{}
				for e := range episodes {
					expect[fmt.Sprintf("%d a ok", e+1)] = 4 / episodes
					expect[fmt.Sprintf("%d b ok", e+1)] = 4 / episodes
				}
				if got := byEpisode(rs); !maps.Equal(got, expect) {
					t.Errorf("results %v, want %v", got, expect)
				}
			})
		})
	}
}

// Networks that are slow to build stay.
func TestRebuildIsTooDear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(10)
		s.Episodes = 0
		m := &machine{open: func(string) error { time.Sleep(time.Second); return nil }} // the run takes 20 s
		if err := Run(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out"))); err != nil {
			t.Fatal(err)
		}
		closedOnce(t, m, 2)
	})
}

// weir never takes down what it has not built.
func TestFoundHostsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(4)
		s.Episodes = 4
		m := &machine{exists: true}
		rs, err := measured(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out")))
		if err != nil || len(rs) != 8 {
			t.Fatalf("%d results, error %v", len(rs), err)
		}
		closedOnce(t, m, 2)
	})
}

// A network that an episode cannot build loses that episode's trials only.
func TestRebuildFails(t *testing.T) {
	refused := errors.New("no more devices")
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(3)
		s.Episodes = 3
		m := &machine{}
		m.open = func(name string) error {
			if name == "b" && len(m.sites) == 4 { // second episode
				return refused
			}
			return nil
		}
		c := config(t, m, s, filepath.Join(t.TempDir(), "out"))
		var warned []string
		c.Progress = func(e Event) {
			if e.Warning != "" {
				warned = append(warned, e.Warning)
			}
		}
		rs, err := measured(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"1 a ok": 1, "1 b ok": 1, "2 a ok": 1, "2 b skipped": 1, "3 a ok": 1, "3 b ok": 1}
		if got := byEpisode(rs); !maps.Equal(got, want) {
			t.Errorf("results %v, want %v", got, want)
		}
		i := slices.IndexFunc(rs, func(r record.Result) bool { return r.Status == record.Skipped })
		if i < 0 || rs[i].Reason != "rebuild for episode 2: "+refused.Error() {
			t.Errorf("reason %q", rs[max(i, 0)].Reason)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "b: rebuild for episode 2") {
			t.Errorf("warnings %q", warned)
		}
	})
}

// A network that could not be built in the first place is not tried again.
func TestNeverBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(2)
		s.Episodes = 2
		m := &machine{apply: func(n string, _ []plan.Step) error { return only("b", errors.New("no such device"))(n) }}
		rs, err := measured(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out")))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"1 a ok": 1, "1 b skipped": 1, "2 a ok": 1, "2 b skipped": 1}; !maps.Equal(byEpisode(rs), want) {
			t.Errorf("results %v, want %v", byEpisode(rs), want)
		}
		if tried := len(slices.DeleteFunc(slices.Clone(m.sites), func(f *fakeSite) bool { return len(f.applied) == 0 || f.name != "b" })); tried != 1 {
			t.Errorf("b was built %d times", tried)
		}
	})
}

// A site that cannot be closed fails the run, but only when its trials are done.
func TestEpisodeIsNotClosed(t *testing.T) {
	stuck := errors.New("a device is left")
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(2)
		s.Episodes = 2
		m := &machine{close: func(n int) error {
			if n == 1 {
				return stuck
			}
			return nil
		}}
		rs, err := measured(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out")))
		if !errors.Is(err, stuck) || len(rs) != 4 {
			t.Errorf("%d results, error %v", len(rs), err)
		}
	})
}

// A resumed run continues the count of episodes.
func TestResumedEpisodes(t *testing.T) {
	why := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(4)
		s.Episodes = 2
		dir := filepath.Join(t.TempDir(), "out")
		ctx, cancel := context.WithCancelCause(t.Context())
		ran := 0
		m := &machine{measure: func(ctx context.Context, _ string, _ int) (float64, error) {
			if ran++; ran == 6 { // in the third block, of the second episode
				cancel(why)
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			return 1e9, nil
		}}
		c := config(t, m, s, dir)
		if err := Run(ctx, c); !errors.Is(err, why) {
			t.Fatal(err)
		}
		closedOnce(t, m, 4)
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		rs, err := measured(t.Context(), config(t, m, s, dir))
		if err != nil {
			t.Fatal(err)
		}
		closedOnce(t, m, 2)
		n := map[string]int{}
		for _, r := range rs {
			n[r.Observed["episode"]]++
		}
		if want := map[string]int{"1": 4, "2": 1, "3": 3}; !maps.Equal(n, want) {
			t.Errorf("trials by episode %v, want %v", n, want)
		}
	})
}
