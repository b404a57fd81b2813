package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/record"
)

// Background starts before its trial, ends after it, and is always cleaned up.
func TestBackground(t *testing.T) {
	why, refused := errors.New("enough"), errors.New("no")
	whole := []string{"hog begins", "serve begins", "run begins", "trial", "run ends", "serve ends", "hog ends"}
	killed := func(name string, after time.Duration) machine {
		return machine{dies: map[string]time.Duration{name: after}}
	}
	for _, c := range []struct {
		name   string
		m      machine
		cancel bool // in the first trial
		status record.Status
		reason string
		want   []string // per network
	}{
		{name: "ok", status: record.OK, want: whole},
		{name: "the trial fails", m: machine{measure: func(context.Context, string, int) (float64, error) { return 0, refused }},
			status: record.Failed, reason: "no", want: whole},
		{name: "the run is canceled", cancel: true, want: whole},
		{name: "the load dies", m: killed("run", time.Second/2), status: record.Invalid,
			reason: "load tcp-stream: killed: it did not run to the end of the trial",
			want:   []string{"hog begins", "serve begins", "run begins", "trial", "run ends", "serve ends", "hog ends"}},
		{name: "its server dies", m: killed("serve", time.Second/2), status: record.Invalid,
			reason: "load tcp-stream: killed: it did not run to the end of the trial",
			want:   []string{"hog begins", "serve begins", "run begins", "trial", "serve ends", "run ends", "hog ends"}},
		{name: "the hog dies", m: killed("hog", time.Second/2), status: record.Invalid,
			reason: "stress of 50%: killed: it did not run to the end of the trial",
			want:   []string{"hog begins", "serve begins", "run begins", "trial", "hog ends", "run ends", "serve ends"}},
		{name: "the load does not start", m: killed("serve", 0), status: record.Failed,
			reason: "load tcp-stream: killed", want: []string{"hog begins", "serve begins", "serve ends", "hog ends"}},
		{name: "the hog does not start", m: killed("hog", 0), status: record.Failed,
			reason: "stress of 50%: killed", want: []string{"hog begins", "hog ends"}},
		{name: "nothing is delivered", m: machine{idle: true}, status: record.Invalid,
			reason: "load.delivered is 0 bit/s: it did nothing in the window", want: whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				s := fakeStudy(1)
				s.Factors = map[string][]string{"stress": {"50%"}, "load": {"tcp-stream"}}
				m := &c.m
				if c.cancel {
					m.measure = func(ctx context.Context, _ string, _ int) (float64, error) {
						cancel(why)
						<-ctx.Done()
						return 0, context.Cause(ctx)
					}
				}
				rs, err := measured(ctx, config(t, m, s, filepath.Join(t.TempDir(), "out")))
				if c.cancel != errors.Is(err, why) || !c.cancel && (err != nil || len(rs) != 2) {
					t.Fatalf("%d results, %v", len(rs), err)
				}
				for _, r := range rs {
					if r.Status != c.status || !strings.Contains(r.Reason, c.reason) {
						t.Errorf("%s is %s: %s", r.Trial, r.Status, r.Reason)
					}
				}
				for _, site := range m.sites {
					got, want := m.log.of(site.name), c.want
					if c.cancel && len(got) == 0 {
						continue // the other network was canceled
					}
					if c.cancel || len(c.m.dies) > 0 { // backgrounds that end at once have no order
						slices.Sort(got)
						want = slices.Sorted(slices.Values(want))
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s: %q, want %q", site.name, got, want)
					}
				}
			})
		})
	}
}

// A background's counts are stored; CPU cost is not split between it and the probe.
func TestBackgroundIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(1)
		s.Factors = map[string][]string{"stress": {"0", "50%"}, "load": {"idle", "tcp-stream"}}
		rs, err := measured(t.Context(), config(t, &machine{}, s, filepath.Join(t.TempDir(), "out")))
		if err != nil || len(rs) != 8 {
			t.Fatalf("%d results, %v", len(rs), err)
		}
		for _, r := range rs {
			stressed, loaded := r.Config["stress"] != "0", r.Config["load"] != "idle"
			taken, ok := r.Get("stress.taken")
			if ok != stressed || ok && math.Abs(taken.Value-0.5) > 1e-9 {
				t.Errorf("%s: stress %+v", r.Trial, taken)
			}
			delivered, ok := r.Get("load.delivered")
			if ok != loaded || ok && (delivered.Value != 8000 || delivered.Unit != "bit/s") {
				t.Errorf("%s: load %+v", r.Trial, delivered)
			}
			if _, includes := r.Observed["cpu.includes"]; includes != (stressed || loaded) {
				t.Errorf("%s: found %v", r.Trial, r.Observed)
			}
		}
	})
}

// A share refers to the path's capacity at the start of the run. It is measured once per condition
// of the path, and a resumed run does not measure it again.
func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(1)
		s.Factors = map[string][]string{"load": {"idle", "tcp-stream@50%", "tcp-stream@20%"}, "mtu": {"1500", "9000"}, "stress": {"0", "50%"}}
		dir := filepath.Join(t.TempDir(), "out")
		m := &machine{measure: func(_ context.Context, _ string, n int) (float64, error) { return 1e9 + float64(n%3)*8, nil }}
		c := config(t, m, s, dir)
		rs, err := measured(t.Context(), c)
		if err != nil || counts(rs)[record.OK] != 24 {
			t.Fatalf("%v, %v", counts(rs), err)
		}
		asked := func(rs []record.Result) map[float64]int {
			of := map[float64]int{}
			for _, r := range rs {
				if v, ok := r.Get("load.asked"); ok {
					of[v.Value]++
				}
			}
			return of
		}
		first, median := asked(rs), 1e9+8.0
		if len(first) != 2 || first[median*0.5] != 8 || first[median*0.2] != 8 {
			t.Errorf("asked for %v, want halves and fifths of the median", first)
		}
		var kept []capacity
		b, err := c.Dir.ReadFile(capacityFile)
		if err == nil {
			err = json.Unmarshal(b, &kept)
		}
		if err != nil || len(kept) != 4 || len(kept[0].Windows) != 5 || kept[0].Kind != "flat out" || kept[0].Value != median {
			t.Errorf("%s\n%v", b, err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		s.Blocks = 2
		m.measure = nil
		again := config(t, m, s, dir)
		if rs, err = measured(t.Context(), again); err != nil || counts(rs)[record.OK] != 48 {
			t.Fatalf("%v, %v", counts(rs), err)
		}
		trials := 0
		for _, l := range m.log.lines {
			if strings.HasSuffix(l, ": trial") {
				trials++
			}
		}
		if trials != 24 {
			t.Errorf("the run that went on ran %d, want the 24 trials of a block and no windows for capacities", trials)
		}
		if got := asked(rs[24:]); len(got) != 2 || got[median*0.5] != 8 {
			t.Errorf("it asked for %v", got)
		}
	})
}

// If a path's capacity cannot be measured, only the trials that need it fail.
func TestNoCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeStudy(1)
		s.Factors = map[string][]string{"load": {"idle", "tcp-stream@50%"}}
		m := &machine{measure: func(_ context.Context, _ string, n int) (float64, error) {
			if n <= 3 { // most of the capacity windows
				return 0, errors.New("no route")
			}
			return 1e9, nil
		}}
		rs, err := measured(t.Context(), config(t, m, s, filepath.Join(t.TempDir(), "out")))
		if err != nil || counts(rs)[record.Failed] != 2 || counts(rs)[record.OK] != 2 {
			t.Fatalf("%v, %v", counts(rs), err)
		}
		for _, r := range rs {
			if r.Status == record.Failed && !strings.Contains(r.Reason, "the capacity of the path is unknown: no route") {
				t.Errorf("%s: %s", r.Trial, r.Reason)
			}
		}
	})
}
