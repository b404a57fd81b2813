package experiment

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/record"
)

// Every level of a factor that networks are built with has networks of its own, also in the next
// episode. One that cannot be built skips only its own trials.
func TestNetworksOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(4)
		s.Episodes = 2
		s.Vary("rps", []string{"off", "on"})
		m := &machine{}
		dir := filepath.Join(t.TempDir(), "out")
		rs, err := measured(t.Context(), config(t, m, s, dir))
		if err != nil {
			t.Fatal(err)
		}
		closedOnce(t, m, 2*2*2) // networks, levels, episodes
		for i, site := range m.sites {
			if site.trials != 2 {
				t.Errorf("site %d measured %d trials, want 2", i, site.trials)
			}
		}
		if len(rs) != 16 {
			t.Errorf("%d results, want 16", len(rs))
		}
		var plans []string
		files, _ := os.ReadDir(filepath.Join(dir, "plans"))
		for _, f := range files {
			plans = append(plans, f.Name())
		}
		if want := []string{"a-rps=off.jsonl", "a-rps=on.jsonl", "b-rps=off.jsonl", "b-rps=on.jsonl"}; !slices.Equal(plans, want) {
			t.Errorf("plans %v, want %v", plans, want)
		}
	})
}

func TestLevelWithoutNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(2)
		s.Vary("rps", []string{"off", "on"})
		m := &machine{apply: func(_ string, steps []plan.Step) error {
			if slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Sysctl != nil && s.Sysctl.Key == plan.DefaultRPS }) {
				return errors.New("no such setting")
			}
			return nil
		}}
		rs, err := measured(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out")))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, r := range rs {
			got[r.Config["rps"]+" "+string(r.Status)+" "+r.Reason]++
		}
		if want := map[string]int{"off " + string(record.OK) + " ": 4, "on " + string(record.Skipped) + " no such setting": 4}; !maps.Equal(got, want) {
			t.Errorf("results %v, want %v", got, want)
		}
	})
}
