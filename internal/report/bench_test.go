package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

// levelsOfHuge has no order, which makes the report draw every table.
var levelsOfHuge = []string{"a", "b", "c", "d"}

// huge repeats the fixture's blocks under several levels, with noise.
func huge(t testing.TB, trials int) Run {
	r := run(t)
	rnd := rand.New(rand.NewPCG(20240607, 4))
	all := r.Results
	r.Results = nil
	for again := 0; len(r.Results) < trials; again++ {
		for _, x := range all {
			for _, level := range levelsOfHuge {
				y := x
				y.Block += 12 * again
				y.Trial = fmt.Sprintf("%05d-%s-%s", y.Block, x.Trial, level)
				y.Start = x.Start.AddDate(0, 0, again)
				y.Config = maps.Clone(x.Config)
				y.Config["level"] = level
				y.Values = slices.Clone(x.Values)
				for i := range y.Values {
					y.Values[i].Value *= math.Exp(0.01 * rnd.NormFloat64())
				}
				r.Results = append(r.Results, y)
			}
		}
	}
	r.Results = r.Results[:trials]
	return r
}

// BenchmarkReport measures time and size of large reports. A page has to fit into an email.
func BenchmarkReport(b *testing.B) {
	for _, trials := range []int{672, 6720, 40320, 100000} {
		r := huge(b, trials)
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			b.ReportAllocs()
			var page strings.Builder
			for b.Loop() {
				page.Reset()
				d := New(analyzed(r))
				if err := HTML(&page, d); err != nil {
					b.Fatal(err)
				}
				if err := Text(io.Discard, d, 100); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(page.Len())/1e6, "MB-page")
			b.ReportMetric(float64(m.Sys)/1e6, "MB-process")
		})
	}
}

// A report of an ordinary run is complete; that of a huge run is cut and says so.
func TestHugeRunsAreCut(t *testing.T) {
	whole := huge(t, 960)
	if s := write(t, writers["html"], whole); strings.Contains(s, inCSV) {
		t.Error("the report of 960 trials is cut")
	}
	r := huge(t, 12000)
	for i := range r.Results {
		if i%3 == 0 {
			r.Results[i].Status, r.Results[i].Reason = record.Failed, fmt.Sprint("reason ", i%1500)
		}
	}
	s := write(t, writers["html"], r)
	if len(s) > 2e6 {
		t.Errorf("the page has %d bytes", len(s))
	}
	for _, want := range []string{"rows; " + english(inCSV), "more: " + english(inCSV)} {
		if !strings.Contains(s, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
