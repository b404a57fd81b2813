package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// machines returns a target of n found machines, h1 and up, whose clocks differ.
func machines(n int) *machine {
	m := &machine{exists: true, hosts: map[string]*fakeHost{}}
	for i := range n {
		id := []string{"h1", "h2", "h3", "h4"}[i]
		m.hosts[id] = newHost(id, time.Duration(i)*time.Hour*24*365)
	}
	return m
}

// one is a study of one network.
func one(blocks int) study.Study {
	s := fakeStudy(blocks)
	s.Networks, s.Baseline = s.Networks[:1], "a"
	return s
}

func value(t *testing.T, r record.Result, k record.Key) float64 {
	t.Helper()
	v, ok := r.Value(k)
	if !ok {
		t.Fatalf("%s %s has no %s: %+v, notes %q", r.Trial, r.Status, k, r.Values, r.Notes)
	}
	return v.Value
}

// The cost of a trial is that of both machines, each by its own clock, less what each did in the idle
// time of the same block. What others do is known by machine.
func TestCostOfTwoMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machines(2)
		m.hosts["h1"].others = func(on time.Duration) time.Duration { return on / 10 }
		var hogFrom time.Duration                                     // since the hosts began
		m.hosts["h2"].others = func(on time.Duration) time.Duration { // more from the second block on
			if hogFrom == 0 {
				return on / 5
			}
			return on/5 + max(0, on-hogFrom)*3/2
		}
		c := config(t, m, one(3), filepath.Join(t.TempDir(), "out"))
		c.Progress = func(e Event) {
			if e.Result != nil && hogFrom == 0 {
				hogFrom = time.Since(m.hosts["h2"].begin)
			}
		}
		rs, err := measured(t.Context(), c)
		if err != nil || len(rs) != 3 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for i, r := range rs {
			hog := 0.0
			if i > 0 {
				hog = 1.5
			}
			for k, want := range map[record.Key]float64{
				record.CPUBusy.Whole(): 0.6, record.CPUIdleBaseline.Whole(): 0.3 + hog, record.CPUUsed.Whole(): 0.9 + hog,
				record.CPUUsedBaseline.Whole(): 0.3 + hog, record.CPUAccounted.Whole(): 1,
				record.OthersUser.On("h1"): 0.1, record.OthersUser.On("h2"): 0.2 + hog, record.OthersUser.Whole(): 0.3 + hog,
				record.CPUs.On("h1"): 4, record.CPUs.On("h2"): 4, record.CPUs.Whole(): 8,
			} {
				if got := value(t, r, k); math.Abs(got-want) > 1e-6 {
					t.Errorf("block %d: %s is %g, want %g", r.Block, k, got, want)
				}
			}
			if warned := strings.Contains(fmt.Sprint(r.Notes), "kept h2 busy before this block"); !warned {
				t.Errorf("block %d: notes %q", r.Block, r.Notes)
			}
		}
		var o analysis.Others
		b, err := c.Dir.ReadFile(othersFile)
		if err = errors.Join(err, json.Unmarshal(b, &o)); err != nil {
			t.Fatal(err)
		}
		if p := o.Programs[0]; p.Machine != "h2" || p.PID != 77 || p.Name != "hog" || o.Cores(p) < 0.5 || o.Cores(p) > 1.7 || len(o.Programs) != 2 {
			t.Errorf("%+v", o)
		}
	})
}

// A program on one machine disturbs the trials of that machine alone.
func TestHogOnOneMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machines(4)
		m.hosts["h3"].others = func(on time.Duration) time.Duration { return 2 * on }
		s := one(4)
		s.KeepDisturbed = true // no block again
		rs, err := measured(t.Context(), pairsConfig(t, m, s, 4, filepath.Join(t.TempDir(), "out")))
		if err != nil || len(rs) != 4*6 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		pairs := map[bool][]record.Result{}
		for _, r := range rs {
			busy := strings.Contains(r.Config["pair"], "h3")
			pairs[busy] = append(pairs[busy], r)
			// Each pair has its machines to itself.
			if cost := value(t, r, record.CPUBusy.Whole()); math.Abs(cost-0.3) > 1e-6 || record.AtOnce.In(r.Observed) {
				t.Errorf("%s: %g cores, %d at once", r.Trial, cost, record.AtOnce.Of(r.Observed))
			}
		}
		for block := range 4 {
			if of, others := analysis.DisturbedShare(pairs[true], block+1), analysis.DisturbedShare(rs, block+1); of != 1 || others != 0.5 {
				t.Errorf("block %d: %g of the trials on h3 and %g of all are disturbed", block+1, of, others)
			}
		}
	})
}

// A lost machine fails its trials with the reason, and is opened again before the next block.
func TestLostMachineComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machines(2)
		opened := 0
		m.open = func(string) error {
			if opened++; opened == 2 {
				return errors.New("still booting")
			}
			m.hosts["h2"].lose(false)
			return nil
		}
		m.measure = func(_ context.Context, _ string, n int) (float64, error) {
			if n == 2 {
				m.hosts["h2"].lose(true)
				return 0, errors.New("no route to host")
			}
			return 1e9, nil
		}
		c := config(t, m, one(3), filepath.Join(t.TempDir(), "out"))
		var warned []string
		c.Progress = func(e Event) {
			if e.Warning != "" {
				warned = append(warned, e.Warning)
			}
		}
		rs, err := measured(t.Context(), c)
		if err != nil || len(rs) != 3 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for i, want := range []record.Status{record.OK, record.Failed, record.OK} {
			if rs[i].Status != want {
				t.Errorf("block %d is %s: %s", i+1, rs[i].Status, rs[i].Reason)
			}
		}
		if opened != 3 || len(warned) != 1 || !strings.Contains(warned[0], "connection to h2 was lost") {
			t.Errorf("opened %d times, warned %q", opened, warned)
		}
		for i, s := range m.sites {
			if s.closed != 1 && i != 1 { // the second never opened
				t.Errorf("site %d closed %d times", i, s.closed)
			}
		}
	})
}

// If a machine stays away, a run whose trials all need it ends, keeps what it has and can be resumed.
func TestLostMachineStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, dir := machines(2), filepath.Join(t.TempDir(), "out")
		m.open = func(string) error { return m.hosts["h2"].gone() }
		m.measure = func(_ context.Context, _ string, n int) (float64, error) {
			m.hosts["h2"].lose(n == 2)
			return 1e9, nil
		}
		c := config(t, m, one(4), dir)
		rs, err := measured(t.Context(), c)
		if !errors.Is(err, target.ErrLost) || !strings.Contains(err.Error(), "no heartbeat") || len(rs) != 2 {
			t.Fatalf("%d results, error %v", len(rs), err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		m.hosts["h2"].lose(false)
		m.measure = nil
		if rs, err = measured(t.Context(), config(t, m, one(4), dir)); err != nil || len(rs) != 4 || rs[3].Status != record.OK {
			t.Errorf("resumed to %d results, %v", len(rs), err)
		}
	})
}

// With all pairs of machines, a node has one serving and one asking engine for all its pairs and blocks, also
// when ends change places.
func TestOneEngineANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machines(4)
		s := one(2)
		s.Swap = true
		rs, err := measured(t.Context(), pairsConfig(t, m, s, 4, filepath.Join(t.TempDir(), "out")))
		if err != nil || counts(rs)[record.OK] != 2*6 {
			t.Fatalf("%v, %v", counts(rs), err)
		}
		started := m.sites[0].started
		for engine, n := range started {
			if n > 1 {
				t.Errorf("%s started %d times", engine, n)
			}
		}
		if len(started) != 2*4 {
			t.Errorf("engines %v, want two on each of 4 nodes", started)
		}
	})
}

// The pairs of other machines go on.
func TestLostMachineOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machines(3)
		m.open = func(string) error { return m.hosts["h3"].gone() }
		m.measure = func(_ context.Context, _ string, n int) (float64, error) {
			if n == 2 {
				m.hosts["h3"].lose(true)
			}
			return 1e9, nil
		}
		rs, err := measured(t.Context(), pairsConfig(t, m, one(3), 3, filepath.Join(t.TempDir(), "out")))
		if err != nil || len(rs) != 9 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, r := range rs[3:] {
			want := record.Failed
			if r.Config["pair"] == "h1-h2" {
				want = record.OK
			}
			if r.Status != want || want == record.Failed && !strings.Contains(r.Reason, "h3: the connection to the machine was lost: h3: ") {
				t.Errorf("block %d, %s: %s: %s", r.Block, r.Config["pair"], r.Status, r.Reason)
			}
		}
	})
}

// The facts of machines that weir finds are stored, and differences are told.
func TestFactsOfMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, m := filepath.Join(t.TempDir(), "out"), machines(2)
		for _, tc := range []struct {
			file, weir, kernel string
			blocks             int
			want               []string
		}{
			{"h2", "1", "6.1", 1, nil},
			{"h2-2", "1", "6.5", 2, []string{"the kernel differs: 6.1 on h2 so far, 6.5 on h2", "the kernel differs: 6.1 on h1, 6.5 on h2; results depend on it"}},
			{"h2-3", "2", "6.5", 3, []string{"the version of weir differs: 1 on h1 so far, 2 on h1", "the version of weir differs: 1 on h2", "the kernel differs: 6.1 on h1, 6.5 on h2"}},
		} {
			m.hosts["h2"].kernel = tc.kernel
			c := config(t, m, one(tc.blocks), dir)
			c.Version = tc.weir
			var warned []string
			c.Progress = func(e Event) {
				if e.Warning != "" {
					warned = append(warned, e.Warning)
				}
			}
			if err := Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			var d struct{ Weir, Kernel string }
			b, err := c.Dir.ReadFile("hosts/" + tc.file + ".json")
			if err = errors.Join(err, json.Unmarshal(b, &d)); err != nil || d.Weir != tc.weir || d.Kernel != tc.kernel {
				t.Errorf("%s, %v", b, err)
			}
			same := slices.EqualFunc(warned, tc.want, func(got, want string) bool { return strings.Contains(got, want) })
			if !same {
				t.Errorf("warned %q, want %q", warned, tc.want)
			}
			if err := c.Dir.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
