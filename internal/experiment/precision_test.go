package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/stat"
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
	needed := stat.SteinPairs(a, b, 0.02, 0.95)
	if needed <= pilot {
		t.Fatalf("%d blocks are needed: the pilot would do", needed)
	}
	for _, c := range []struct {
		name    string
		measure func(context.Context, string, int) (float64, error)
		max     time.Duration
		want    decision
	}{
		{"extended", spread, 0, decision{pilot, needed, needed}},
		{"no spread", nil, 0, decision{pilot, pilot, pilot}},
		{"capped", spread, 10 * 2100 * time.Millisecond, decision{pilot, needed, 10}}, // a trial takes just over 1 s
		{"cap below the pilot", spread, time.Second, decision{pilot, needed, pilot}},
		{"cap far above", spread, time.Hour, decision{pilot, needed, needed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "out")
				s := fakeStudy(pilot)
				s.Precision, s.MaxTime = 0.02, c.max
				rs, err := Run(t.Context(), config(t, &machine{measure: c.measure}, s, dir))
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

func TestDecisionIsKept(t *testing.T) {
	for _, c := range []struct {
		file   string
		blocks int // 0: an error
	}{
		{`{"pilot":6,"needed":9,"blocks":9}`, 9},
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
			_, err := Run(t.Context(), conf)
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
		if _, err := Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := c.Dir.Close(); err != nil {
			t.Fatal(err)
		}
		pilot.Precision, pilot.MaxTime = 0.02, 10*2100*time.Millisecond
		if _, err := Run(t.Context(), config(t, m, pilot, dir)); err != nil {
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
		if rs, err := Run(t.Context(), config(t, m, s, dir)); err != nil || counts(rs)[record.Skipped] != 12 {
			t.Errorf("%v, %v", counts(rs), err)
		}
	})
}
