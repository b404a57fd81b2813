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

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/store"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

func pairsConfig(t *testing.T, m *machine, s study.Study, hosts int, dir string) Config {
	t.Helper()
	s.AllPairs, s.Topology.Hosts = true, hosts
	c := config(t, m, s, dir)
	for name := range c.Networks {
		c.Networks[name] = on(t, plain{}, topo.Spec{Hosts: hosts})
	}
	return c
}

// Pairs of a round run concurrently and share no host. Run one at a time, they take the sum of the
// times, report costs, and keep their order.
func TestAllPairs(t *testing.T) {
	for name, c := range map[string]struct {
		hosts, atOnce int
		single        bool
		swap          bool
		blocks        int
	}{
		"even":          {hosts: 4, atOnce: 2, blocks: 1},
		"odd":           {hosts: 5, atOnce: 2, blocks: 1},
		"one at a time": {hosts: 4, atOnce: 1, single: true, blocks: 1},
		"swapped":       {hosts: 4, atOnce: 2, swap: true, blocks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fakeStudy(c.blocks)
				s.OneAtATime, s.Swap = c.single, c.swap
				dir := filepath.Join(t.TempDir(), "out")
				conf := pairsConfig(t, &machine{}, s, c.hosts, dir)
				var last Event
				conf.Progress = func(e Event) { last = e }
				rs, err := measured(t.Context(), conf)
				if err != nil {
					t.Fatal(err)
				}
				pairs := c.hosts * (c.hosts - 1) / 2
				if len(rs) != 2*pairs*c.blocks || last.Done != len(rs) || last.Total != len(rs) {
					t.Errorf("%d results, progress ends at %d of %d", len(rs), last.Done, last.Total)
				}
				rounds := map[time.Time][]record.Result{}
				seen := map[string]bool{}
				for _, r := range rs {
					rounds[r.Start] = append(rounds[r.Start], r)
					client, server, _ := strings.Cut(r.Config["pair"], "-")
					if s.Swapped(r.Block) {
						client, server = server, client
					}
					what := r.Config["network"] + r.Config["pair"] + string(rune('0'+r.Block))
					if r.Status != record.OK || r.Observed["client"] != "host "+client || r.Observed["server"] != "host "+server || seen[what] {
						t.Errorf("%s is %s: %s, %v, or there twice", r.Trial, r.Status, r.Reason, r.Observed)
					}
					seen[what] = true
					if shared := record.AtOnce.In(r.Observed); shared != (c.atOnce > 1) || r.Elapsed < 1 || r.Elapsed > 1.5 {
						t.Errorf("%s took %v s, %d at once", r.Trial, r.Elapsed, record.AtOnce.Of(r.Observed))
					}
				}
				for at, round := range rounds {
					var hosts []string
					for _, r := range round {
						hosts = append(hosts, strings.Split(r.Config["pair"], "-")...)
					}
					slices.Sort(hosts)
					if len(round) != c.atOnce || len(slices.Compact(slices.Clone(hosts))) != len(hosts) {
						t.Errorf("at %v there were %d trials, of hosts %v", at, len(round), hosts)
					}
				}
			})
		})
	}
}

// A run killed while it recorded a round repeats all of it and records the missing results.
func TestResumeRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		m := &machine{}
		c := pairsConfig(t, m, fakeStudy(1), 4, dir)
		rs, err := measured(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		want := ids(t, dir)
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "results.jsonl")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(b), "\n")
		if err := os.WriteFile(file, []byte(strings.Join(lines[:len(rs)-1], "")), 0o666); err != nil {
			t.Fatal(err)
		}
		// The last two lines belong to one round.
		kept, lost := want[len(want)-2], want[len(want)-1]
		raw := func(trial string) string {
			b, err := store.OpenRaw(dir).Read(trial, "client.out")
			if err != nil || b == nil {
				t.Errorf("raw output of %s: %q, %v", trial, b, err)
			}
			return string(b)
		}
		first, other := raw(kept), raw(lost)
		m.measure = func(context.Context, string, int) (float64, error) { return 5e8, nil }
		again, err := measured(t.Context(), pairsConfig(t, m, fakeStudy(1), 4, dir))
		if err != nil || !slices.Equal(ids(t, dir), want) {
			t.Fatalf("%v, in the end there are %v, want %v", err, ids(t, dir), want)
		}
		ran := 0
		for _, site := range m.sites {
			ran += site.trials
		}
		last := again[len(again)-1]
		if ran != 2 || record.AtOnce.Of(last.Observed) != 2 {
			t.Errorf("%d trials ran, and %s was measured as %v", ran, last.Trial, last.Observed)
		}
		if raw(kept) != first || raw(lost) == other {
			t.Errorf("raw output of a recorded trial is now %q, of a repeated one %q", raw(kept), raw(lost))
		}
	})
}

// No trial names settings that were dropped with the repetition of a trial that has a result.
func TestSettingsOfAResumedRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		s := fakeStudy(1)
		s.Networks, s.Probes = s.Networks[:1], []study.Use{{Kind: "p", Name: "p"}, {Kind: "q", Name: "q"}, {Kind: "r", Name: "r"}}
		c := pairsConfig(t, &machine{}, s, 4, dir)
		rs, err := measured(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "results.jsonl")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		killed := slices.IndexFunc(rs, func(r record.Result) bool {
			seen[r.Config["pair"]]++
			return seen[r.Config["pair"]] == 2 // its settings are an earlier trial's
		})
		lines := strings.SplitAfter(string(b), "\n")
		if err := os.WriteFile(file, []byte(strings.Join(lines[:killed+1], "")), 0o666); err != nil {
			t.Fatal(err)
		}
		if rs, err = measured(t.Context(), pairsConfig(t, &machine{}, s, 4, dir)); err != nil || len(rs) != 18 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		raw := store.OpenRaw(dir)
		defer raw.Close()
		for _, r := range rs {
			b, err := raw.Read(r.Trial, store.EvidenceFile)
			if err != nil {
				t.Fatal(err)
			}
			e, err := evidence.Parse(b)
			if err != nil {
				t.Fatalf("%s: %v", r.Trial, err)
			}
			if b, err := raw.Read(e.Settings, store.SettingsFile); b == nil || err != nil {
				t.Errorf("%s names the settings of %q, which has none: %v", r.Trial, e.Settings, err)
			}
		}
	})
}

// An interrupted round is not recorded at all.
func TestInterruptedRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		m := &machine{measure: func(ctx context.Context, _ string, n int) (float64, error) {
			if n == 3 {
				cancel(why)
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			return 1e9, nil
		}}
		c := pairsConfig(t, m, fakeStudy(1), 4, dir)
		rs, err := measured(ctx, c)
		if !errors.Is(err, why) || len(rs)%2 != 0 {
			t.Errorf("%d results, %v", len(rs), err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		m.measure = nil
		rs, err = measured(t.Context(), pairsConfig(t, m, fakeStudy(1), 4, dir))
		if err != nil || len(rs) != 12 || counts(rs)[record.OK] != 12 {
			t.Errorf("%d results, %v", len(rs), err)
		}
	})
}

// A condition is applied and undone once per round.
func TestConditionOfRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mtuStudy(1)
		s.Factors["mtu"] = []string{"9000"}
		m := &machine{}
		rs, err := measured(t.Context(), pairsConfig(t, m, s, 4, filepath.Join(t.TempDir(), "out")))
		if err != nil || counts(rs)[record.OK] != 12 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, site := range m.sites {
			if len(site.applied) != 1+2*3 {
				t.Errorf("%s was changed %d times, want when it was built and twice in each of 3 rounds: %q", site.name, len(site.applied), site.applied)
			}
		}
	})
}

// Pairs that lack an end are skipped; the others run.
func TestPairsWithoutEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pairsConfig(t, &machine{}, fakeStudy(1), 4, filepath.Join(t.TempDir(), "out"))
		c.Networks["b"] = on(t, partial{}, topo.Spec{Hosts: 4})
		rs, err := measured(t.Context(), c)
		if err != nil || len(rs) != 12 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, r := range rs {
			want := record.OK
			if r.Config["network"] == "b" && strings.Contains(r.Config["pair"], "h4") {
				want = record.Skipped
			}
			if r.Status != want || want == record.Skipped && !strings.Contains(r.Reason, "no end on h4 is labeled pod") {
				t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			}
		}
	})
}

// A partial network has no pod on its last host.
type partial struct{}

func (partial) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := plain{}.Plan(t)
	p.Ends = nil
	for _, h := range t.Hosts[:len(t.Hosts)-1] {
		p.Ends = append(p.Ends, plan.End{Label: plan.Pod, Node: h.Pods[0].Name, Host: h.Name, Addr: h.Pods[0].Addr.Addr(), Dev: "eth0"})
	}
	return p, err
}
