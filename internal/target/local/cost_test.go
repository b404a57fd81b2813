package local

import (
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/sample"
)

// The CPU time of one sample of this machine; at 10 Hz, a second has ten, and one of them finds threads.
func BenchmarkSample(b *testing.B) {
	for _, source := range []string{sample.OfThreads, sample.NewThreads, sample.FindThreads, ""} {
		b.Run("with "+source, func(b *testing.B) {
			h := Host()
			if _, err := h.Sample(b.Context(), sample.FindThreads); err != nil {
				b.Fatal(err)
			}
			defer func() { _, _ = h.Sample(b.Context(), sample.ForgetThreads) }()
			used := func() time.Duration {
				var u syscall.Rusage
				if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
					b.Fatal(err)
				}
				return time.Duration(u.Utime.Nano() + u.Stime.Nano())
			}
			from := used()
			for b.Loop() {
				sources := []string{sample.OfStat}
				if source != "" {
					sources = append(sources, source)
				}
				r, err := h.Sample(b.Context(), sources...)
				if err != nil || len(r.Missing) > 0 {
					b.Fatal(r.Missing, err)
				}
			}
			b.ReportMetric(float64((used()-from).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
