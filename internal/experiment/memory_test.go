package experiment

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// large is a tool whose results are as large as those of a real probe: some 15 kB.
type large struct{ tool }

func (l large) Parse(o probe.Output) (probe.Measured, error) {
	m, err := l.tool.Parse(o)
	for i := range 50 {
		m.Values = append(m.Values, record.Value{Name: record.Quantity(fmt.Sprintf("value.%d", i)), Unit: "s", Value: float64(i), Hist: strings.Repeat("x", 200)})
	}
	return m, err
}

// Memory holds of a trial that it is done. The result is in its file, whether this process measured it or the one
// before.
func TestMemoryOfTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	const (
		first, last = 50, 300 // blocks of 2 trials
		bound       = 400     // bytes a trial; the fake target's own journal takes some
	)
	dir := filepath.Join(t.TempDir(), "out")
	live := func(from, blocks int) (atFirst, atLast float64) {
		synctest.Test(t, func(t *testing.T) {
			s := fakeStudy(blocks)
			s.KeepDisturbed = true
			c := config(t, &machine{}, s, dir)
			c.Probe = func(string, map[string]string) (probe.Probe, error) { return large{tool{"weir"}}, nil }
			c.Progress = func(e Event) {
				if e.Result == nil || e.Done != 2*from && e.Done != 2*blocks {
					return
				}
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				if atLast = float64(m.HeapAlloc); e.Done == 2*from {
					atFirst = atLast
				}
			}
			if err := Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := c.Dir.Close(); err != nil {
				t.Fatal(err)
			}
		})
		return atFirst, atLast
	}
	few, many := live(first, last)
	_, resumed := live(0, last+1)
	for name, grown := range map[string]float64{"run": many - few, "resumed": resumed - few} {
		per := grown / (2 * (last - first))
		if t.Logf("%s: %.0f bytes a trial", name, per); per > bound {
			t.Errorf("%s: memory holds %.0f bytes of a trial, more than %d", name, per, bound)
		}
	}
}
