package section

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/record"
)

// levelsOfHuge has no order, which makes the report draw every table.
var levelsOfHuge = []string{"a", "b", "c", "d"}

// huge repeats the fixture's blocks under several levels, with noise.
func huge(t testing.TB, trials int) *account.Account {
	r := reporttest.Run(t)
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
				d := Report(reporttest.Analyzed(r))
				if err := render.HTML(&page, d); err != nil {
					b.Fatal(err)
				}
				if err := render.Text(io.Discard, d, 100); err != nil {
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

// BenchmarkOpen opens the page of 12 networks and 8 probes from a file, and measures from the start of the navigation until the browser
// has drawn it first, until the script has prepared it, and until it is complete (https://www.w3.org/TR/navigation-timing-2/). ms-CPU is
// CPU time of the page's main thread, which hardly changes on a busy machine.
func BenchmarkOpen(b *testing.B) {
	file := filepath.Join(b.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(write(b, writers["html"], large(b))), 0o644); err != nil {
		b.Fatal(err)
	}
	for _, s := range screens[:3] {
		b.Run(s.String(), func(b *testing.B) {
			x := open(b, file, s)
			call(x, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
			sums := map[string]float64{}
			for b.Loop() {
				x.visit("file://" + file)
				x.until(`performance.getEntriesByName('first-contentful-paint').length && performance.getEntriesByType('navigation')[0].loadEventEnd > 0`)
				for unit, expression := range map[string]string{
					"ms-paint":    `performance.getEntriesByName('first-contentful-paint')[0].startTime`,
					"ms-prepared": `performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd`,
					"ms-complete": `performance.getEntriesByType('navigation')[0].loadEventEnd`,
				} {
					sums[unit] += eval[float64](x, "%s", expression)
				}
				spent, err := chromedp.Call(x.ctx, performance.GetMetrics, cdp.Empty{})
				if err != nil {
					b.Fatal(err)
				}
				for _, m := range spent.Metrics {
					if m.Name == "TaskDuration" {
						sums["ms-CPU"] += m.Value * 1e3
					}
				}
			}
			for unit, sum := range sums {
				b.ReportMetric(sum/float64(b.N), unit)
			}
			x.quiet()
		})
	}
}

// A report of an ordinary run is complete; that of a huge run is cut and says so.
func TestHugeRunsAreCut(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
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
	for _, want := range []string{"rows; " + doc.English(inCSV), "more: " + doc.English(inCSV)} {
		if !strings.Contains(s, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
