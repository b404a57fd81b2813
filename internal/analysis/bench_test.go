package analysis_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
)

// BenchmarkRun reports the memory retained, results included, as MiB/op.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"quick", "fragmentation"} {
		rs := recorded(b, "testdata/runs/"+name+".jsonl.gz")
		for _, trials := range []int{672, 6720, 40320, 100000} {
			b.Run(fmt.Sprintf("%s/%d", name, trials), func(b *testing.B) {
				many := manyBlocks(rs, (trials+len(rs)-1)/len(rs))[:trials]
				b.ReportAllocs()
				var p *analysis.Run
				for b.Loop() {
					p = analysis.New(many, analysis.Options{Baseline: "host"})
				}
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
				runtime.KeepAlive(p)
			})
		}
	}
}
