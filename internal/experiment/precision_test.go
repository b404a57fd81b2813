package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// spread makes network b noisy relative to a: its ratio oscillates.
func spread(_ context.Context, network string, n int) (float64, error) {
	if network == "a" {
		return 1e9, nil
	}
	return noisy(n), nil
}

func noisy(n int) float64 { return 1e9 * (1 + 0.03*float64(1-2*(n%2))) }

func decided(t *testing.T, dir string) (d decision) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "blocks.json"))
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPrecision(t *testing.T) {
	const pilot = 8
	var a, b []float64
	for n := range pilot {
		a, b = append(a, 1e9), append(b, noisy(n+1))
	}
	first := decision{Pilot: pilot}.look(pilot, stat.Ratio(a, b, 0.95).Needed(0.02, 0.95), 0)
	for n := range first.Blocks - pilot {
		a, b = append(a, 1e9), append(b, noisy(pilot+n+1))
	}
	second := first.look(first.Blocks, stat.Ratio(a, b, 0.95).Needed(0.02, 0.95), 0)
	if first.Blocks <= pilot {
		t.Fatalf("%+v: the pilot would do", first)
	}
	capped := first.look(10, stat.Ratio(a[:10], b[:10], 0.95).Needed(0.02, 0.95), 10)
	stated := []study.Contrast{{Of: study.Levels{"network": {"b"}}, To: map[string]string{"network": "a"}}}
	for _, c := range []struct {
		name    string
		measure func(context.Context, string, int) (float64, error)
		max     time.Duration
		want    decision
		compare []study.Contrast
	}{
		{"extended", spread, 0, second, nil},
		{"a stated comparison", spread, 0, second, stated},
		{"no spread", nil, 0, decision{pilot, pilot, pilot, 1}, nil},
		{"capped", spread, 10 * 2100 * time.Millisecond, capped, nil}, // a trial takes just over 1 s
		{"cap below the pilot", spread, time.Second, decision{pilot, first.Needed, pilot, 1}, nil},
		{"cap far above", spread, time.Hour, second, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				s := fakeStudy(pilot)
				s.Precision, s.MaxTime, s.Compare = 0.02, c.max, c.compare
				rs, err := measured(t.Context(), config(t, &machine{measure: c.measure}, s, dir))
				if err != nil {
					t.Fatal(err)
				}
				if got := decided(t, dir); got != c.want {
					t.Errorf("decided %+v, want %+v", got, c.want)
				}
				if !slices.Equal(ids(t, dir), plannedIDs(s, c.want.Blocks)) || len(rs) != 2*c.want.Blocks {
					t.Errorf("%d results, want %d blocks", len(rs), c.want.Blocks)
				}
			})
		})
	}
}

// A cell that the pilot measured, but never in a block with the baseline, gets more blocks: so few pairs have no
// ratio. One that was never measured gets none.
func TestPrecisionWithoutARatio(t *testing.T) {
	const pilot = 4
	apart := func(_ context.Context, network string, n int) (float64, error) {
		if n <= pilot && (n%2 == 0) == (network == "a") {
			return 0, errors.New("no answer")
		}
		return 1e9, nil
	}
	never := func(_ context.Context, network string, _ int) (float64, error) {
		if network == "b" {
			return 0, errors.New("no answer")
		}
		return 1e9, nil
	}
	stated := []study.Contrast{{Of: study.Levels{"network": {"b"}}, To: map[string]string{"network": "a"}}}
	for _, compare := range [][]study.Contrast{nil, stated} {
		for _, c := range []struct {
			measure func(context.Context, string, int) (float64, error)
			more    bool
		}{{apart, true}, {never, false}} {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				s := fakeStudy(pilot)
				s.Precision, s.Compare = 0.02, compare
				if err := Run(t.Context(), config(t, &machine{measure: c.measure}, s, dir)); err != nil {
					t.Fatal(err)
				}
				if d := decided(t, dir); (d.Blocks > pilot) != c.more {
					t.Errorf("compare %v: decided %+v, want more than %d blocks: %v", compare, d, pilot, c.more)
				}
			})
		}
	}
}

func TestDecisionIsKept(t *testing.T) {
	for _, c := range []struct {
		file   string
		blocks int // 0: an error
	}{
		{`{"pilot":6,"needed":9,"blocks":9}`, 9},
		{`{"pilot":6,"needed":9,"blocks":9,"looks":2}`, 9},
		{`{"pilot":6,"needed":6,"blocks":6}`, 6},
		{`{"pilot":6,"needed":3,"blocks":3}`, 0},
		{`{}`, 0},
		{``, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			s := fakeStudy(6)
			s.Precision = 0.02
			conf := config(t, &machine{measure: spread}, s, dir)
			if err := conf.Dir.File(blocksFile, []byte(c.file)); err != nil {
				t.Fatal(err)
			}
			err := Run(t.Context(), conf)
			if c.blocks == 0 {
				if err == nil || !strings.Contains(err.Error(), "does not hold a decision") {
					t.Errorf("%s: error %v", c.file, err)
				}
				return
			}
			if err != nil || len(ids(t, dir)) != 2*c.blocks {
				t.Errorf("%s: %d trials, error %v", c.file, len(ids(t, dir)), err)
			}
		})
	}
}

// A run resumed after its pilot decides without having run a trial itself.
func TestCapAfterResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		pilot := fakeStudy(8)
		m := &machine{measure: spread}
		c := config(t, m, pilot, dir)
		if err := Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		pilot.Precision, pilot.MaxTime = 0.02, 10*2100*time.Millisecond
		if err := Run(t.Context(), config(t, m, pilot, dir)); err != nil {
			t.Fatal(err)
		}
		if got := decided(t, dir); got.Blocks != 10 {
			t.Errorf("decided %+v, want 10 blocks", got)
		}
	})
}

// A run that skips all its trials takes no time, and ends.
func TestCapOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "out")
		s := fakeStudy(6)
		s.Precision, s.MaxTime = 0.02, time.Second
		m := &machine{open: func(n string) error { return fmt.Errorf("%s: no", n) }}
		if rs, err := measured(t.Context(), config(t, m, s, dir)); err != nil || counts(rs)[record.Skipped] != 12 {
			t.Errorf("%v, %v", counts(rs), err)
		}
	})
}

// The second look happens at the planned end of a run that the first one extended, never after it.
func TestLooks(t *testing.T) {
	first := decision{Pilot: 10}.look(10, 40, 0)
	if want := (decision{10, 54, 54, 1}); first != want || first.final(54) {
		t.Errorf("first look: %+v, want %+v", first, want)
	}
	if got, want := first.look(54, 60, 0), (decision{10, 81, 81, 2}); got != want || !got.final(81) {
		t.Errorf("second look, too wide: %+v, want %+v", got, want)
	}
	if got, want := first.look(54, 45, 0), (decision{10, 45, 54, 2}); got != want || !got.final(54) {
		t.Errorf("second look, precise: %+v, want %+v", got, want)
	}
	if got, want := first.look(54, 60, 55), (decision{10, 81, 55, 2}); got != want {
		t.Errorf("second look, out of time: %+v, want %+v", got, want)
	}
	if d := (decision{Pilot: 10}).look(10, 10, 0); !d.final(10) {
		t.Errorf("a pilot that is enough is looked at again: %+v", d)
	}
	if d := (decision{Pilot: 10, Needed: 40, Blocks: 40}); !d.final(40) {
		t.Error("a decision of an older version is not final")
	}
}

// Most runs reach the precision that they ask for, and cover the truth as often as others do.
func TestPrecisionIsReached(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const runs, confidence, spread = 60, 0.95, 0.05
	width := math.Expm1(2 * spread / math.Sqrt(40)) // of some 40 independent blocks
	for _, rho := range []float64{0, 0.3} {
		for _, pilot := range []int{8, 20} {
			r := rand.New(rand.NewPCG(23, uint64(pilot)))
			reached, covered := 0, 0
			for range runs {
				base, other := make([]float64, 2*maxBlocks), make([]float64, 2*maxBlocks)
				x := r.NormFloat64()
				for i := range base {
					base[i], other[i] = 1, math.Exp(spread*x)
					x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
				}
				ratio := func(n int) stat.Interval { return stat.Ratio(base[:n], other[:n], confidence) }
				d := decision{Pilot: pilot}.look(pilot, ratio(pilot).Needed(width, confidence), 0)
				if b := d.Blocks; !d.final(b) {
					d = d.look(b, ratio(b).Needed(width, confidence), 0)
				}
				i := ratio(d.Blocks)
				if i.Needed(width, confidence) <= d.Blocks {
					reached++
				}
				if i.Contains(1) {
					covered++
				}
			}
			if reached < 49 || covered < 50 { // 90 % and 93 %, less twice the noise of 60 runs
				t.Errorf("correlation %g, pilot of %d: of %d runs, %d reached the precision, %d covered the truth", rho, pilot, runs, reached, covered)
			}
		}
	}
}
