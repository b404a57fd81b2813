package experiment

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/labtest"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/record"
)

// In the lab's namespaces the test binary also prints all device states.
func TestMain(m *testing.M) {
	labtest.Main(m, map[string]func(context.Context, []string) error{
		"state": func(context.Context, []string) error { return printState() },
	})
}

// A run interrupted in any trial returns the cause; the next one resumes it in order.
func TestResume(t *testing.T) {
	why := errors.New("enough")
	s := fakeStudy(3)
	want := plannedIDs(s, 3)
	for k := range want {
		t.Run(want[k], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				ctx, cancel := context.WithCancelCause(t.Context())
				ran := 0
				m := &machine{measure: func(ctx context.Context, _ string, _ int) (float64, error) {
					if ran++; ran == k+1 {
						cancel(why)
						<-ctx.Done()
						return 0, context.Cause(ctx)
					}
					return 1e9, nil
				}}
				c := config(t, m, s, dir)
				rs, err := measured(ctx, c)
				if !errors.Is(err, why) {
					t.Errorf("error %v, want the cause", err)
				}
				if len(rs) != k || !slices.Equal(ids(t, dir), want[:k]) {
					t.Errorf("%d results, kept %v, want %v", len(rs), ids(t, dir), want[:k])
				}
				for _, site := range m.sites {
					if site.closed != 1 {
						t.Errorf("%s was closed %d times", site.name, site.closed)
					}
				}
				if err := c.Dir.Close(); err != nil {
					t.Fatal(err)
				}
				again := config(t, m, s, dir)
				var last Event
				again.Progress = func(e Event) { last = e }
				if rs, err = measured(t.Context(), again); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(ids(t, dir), want) || counts(rs)[record.OK] != len(want) {
					t.Errorf("in the end there are %v, want %v", ids(t, dir), want)
				}
				if ran != len(want)+1 {
					t.Errorf("%d trials were begun, want %d and the interrupted one", ran, len(want))
				}
				if last.Done != len(want) || last.Total != len(want) {
					t.Errorf("progress ends at %d of %d", last.Done, last.Total)
				}
			})
		})
	}
}

// A network that cannot be built costs only its own trials.
func TestNetworkThatCannotBeBuilt(t *testing.T) {
	refused := errors.New("the kernel has no such device")
	for name, m := range map[string]*machine{
		"open":  {open: only("b", refused)},
		"apply": {apply: func(n string, _ []plan.Step) error { return only("b", refused)(n) }},
		"reach": {reach: only("b", refused)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rs, err := measured(t.Context(), config(t, m, fakeStudy(2), filepath.Join(t.TempDir(), "out")))
				if err != nil {
					t.Fatal(err)
				}
				if want := map[record.Status]int{record.OK: 2, record.Skipped: 2}; !maps.Equal(counts(rs), want) {
					t.Errorf("%v, want %v", counts(rs), want)
				}
				for _, r := range rs {
					if bad := r.Config["network"] == "b"; bad != (r.Status == record.Skipped) || bad && !strings.Contains(r.Reason, refused.Error()) {
						t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
					}
				}
			})
		})
	}
}

func only(network string, err error) func(string) error {
	return func(n string) error {
		if n == network {
			return err
		}
		return nil
	}
}

// A run canceled while it builds has measured nothing and reports why.
func TestCanceledWhileBuilding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &machine{open: func(n string) error { cancel(why); return nil }}
		rs, err := measured(ctx, config(t, m, fakeStudy(2), filepath.Join(t.TempDir(), "out")))
		if !errors.Is(err, why) || len(rs) != 0 || len(m.sites) != 1 || m.sites[0].closed != 1 {
			t.Errorf("error %v, %d results, %d sites", err, len(rs), len(m.sites))
		}
	})
}

// A missing tool skips only its own trials.
func TestMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := os.Stat("/usr/sbin/iperf3"); err == nil {
		t.Skip("iperf3 is where it is always found")
	}
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(1)
		s.Probes = []study.Use{{Name: "tool", Kind: "tool"}, {Name: "iperf3", Kind: "iperf3"}, {Name: "odd", Kind: "odd"}}
		c := config(t, &machine{}, s, filepath.Join(t.TempDir(), "out"))
		c.Probe = func(name string, _ map[string]string) (probe.Probe, error) {
			return tool{map[string]string{"tool": "weir", "iperf3": "iperf3", "odd": "no-such-program"}[name]}, nil
		}
		rs, err := measured(t.Context(), c)
		if err != nil || len(rs) != 6 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, r := range rs {
			want, reason := record.Skipped, map[string]string{
				"iperf3": "iperf3: not found: install the package iperf3", "odd": "no-such-program"}[r.Config["probe"]]
			if reason == "" {
				want = record.OK
			}
			if r.Status != want || !strings.Contains(r.Reason, reason) {
				t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			}
		}
	})
}

// mtuStudy runs every cell with the MTU as built and with another one.
func mtuStudy(blocks int) study.Study {
	s := fakeStudy(blocks)
	s.Factors = map[string][]string{"mtu": {"1500", "9000"}}
	return s
}

// A condition is always undone after its trial.
func TestConditionIsUndone(t *testing.T) {
	refused, why := errors.New("no"), errors.New("enough")
	on, off := "h1 mtu 9000, h2 mtu 9000", "h1 mtu 1500, h2 mtu 1500"
	for _, c := range []struct {
		name   string
		m      machine
		cancel bool // in the first trial
		status record.Status
		reason string
	}{
		{name: "ok", status: record.OK},
		{name: "failed", m: machine{measure: func(context.Context, string, int) (float64, error) { return 0, refused }}, status: record.Failed, reason: "no"},
		{name: "refused", m: machine{apply: refuse(9000, refused)}, status: record.Failed, reason: "condition: no"},
		{name: "canceled", cancel: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				s := mtuStudy(1)
				s.Factors["mtu"] = []string{"9000"}
				if c.cancel {
					c.m.measure = func(ctx context.Context, _ string, _ int) (float64, error) {
						cancel(why)
						<-ctx.Done()
						return 0, context.Cause(ctx)
					}
				}
				rs, err := measured(ctx, config(t, &c.m, s, filepath.Join(t.TempDir(), "out")))
				if c.cancel != errors.Is(err, why) || !c.cancel && (err != nil || len(rs) != 2) {
					t.Fatalf("%d results, %v", len(rs), err)
				}
				for _, r := range rs {
					if r.Status != c.status || !strings.Contains(r.Reason, c.reason) {
						t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
					}
				}
				changed := 0
				for _, site := range c.m.sites {
					if len(site.applied) > 1 {
						changed++
						if want := []string{"", on, off}; !slices.Equal(site.applied, want) {
							t.Errorf("%s: %q, want %q", site.name, site.applied, want)
						}
					}
				}
				if want := 2; changed != want && !(c.cancel && changed == 1) {
					t.Errorf("%d networks were changed, want %d", changed, want)
				}
			})
		})
	}
}

func refuse(mtu int, err error) func(string, []plan.Step) error {
	return func(_ string, steps []plan.Step) error {
		for _, s := range steps {
			if s.Set != nil && s.Set.MTU == mtu {
				return err
			}
		}
		return nil
	}
}

// A network that cannot be restored is no longer measured.
func TestConditionThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("no")
		dir := filepath.Join(t.TempDir(), "out")
		err := Run(t.Context(), config(t, &machine{apply: refuse(1500, refused)}, mtuStudy(3), dir))
		if !errors.Is(err, refused) {
			t.Errorf("error %v", err)
		}
		for _, id := range ids(t, dir) {
			if strings.HasSuffix(id, "mtu=9000") {
				t.Errorf("%s is recorded, and its network was not brought back", id)
			}
		}
	})
}

// A condition that a network cannot take skips only its own trials.
func TestConditionThatNeedsAnotherNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t, &machine{}, mtuStudy(1), filepath.Join(t.TempDir(), "out"))
		c.Networks["b"] = on(t, rigid{}, topo.Spec{})
		rs, err := measured(t.Context(), c)
		if err != nil || len(rs) != 4 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, r := range rs {
			skipped := r.Config["network"] == "b" && r.Config["mtu"] == "9000"
			if skipped != (r.Status == record.Skipped) || skipped != strings.Contains(r.Reason, plan.ErrRebuild.Error()) {
				t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
			}
		}
	})
}

// An unrecordable result ends the run: later results would be lost, too.
func TestAppendFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		s, m, n := fakeStudy(3), &machine{}, 0
		c := config(t, m, s, dir)
		m.measure = func(context.Context, string, int) (float64, error) {
			if n++; n == 3 {
				return 1e9, c.Dir.Close()
			}
			return 1e9, nil
		}
		err := Run(t.Context(), c)
		if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "cannot be stored") {
			t.Errorf("error %v", err)
		}
		if want := plannedIDs(s, 3)[:2]; n != 3 || !slices.Equal(ids(t, dir), want) {
			t.Errorf("%d trials, kept %v, want %v", n, ids(t, dir), want)
		}
	})
}

// A full disk ends the run, which keeps its results and can be resumed.
func TestFullDisk(t *testing.T) {
	nstest.Need(t)
	disk := t.TempDir()
	mount := func(flags uintptr, size string) {
		t.Helper()
		if err := unix.Mount("tmpfs", disk, "tmpfs", flags, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
	mount(0, "128k")
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(disk, "out")
	s := fakeStudy(20)
	synctest.Test(t, func(t *testing.T) {
		c := config(t, &machine{}, s, dir)
		defer c.Dir.Close()
		rs, err := measured(t.Context(), c)
		if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "make room, then continue with --resume") {
			t.Errorf("error %v", err)
		}
		if len(rs) == 0 || !slices.Equal(ids(t, dir), plannedIDs(s, 20)[:len(rs)]) {
			t.Errorf("%d results, kept %v", len(rs), ids(t, dir))
		}
	})
	mount(unix.MS_REMOUNT, "8m")
	synctest.Test(t, func(t *testing.T) {
		c := config(t, &machine{}, s, dir)
		defer c.Dir.Close()
		if err := Run(t.Context(), c); err != nil {
			t.Error(err)
		}
		if want := plannedIDs(s, 20); !slices.Equal(ids(t, dir), want) {
			t.Errorf("in the end there are %v, want %v", ids(t, dir), want)
		}
	})
}
