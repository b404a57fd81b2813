package local

import (
	"runtime"
	"testing"
	"time"
)

func TestCoreToCore(t *testing.T) {
	cpus := CPUs()
	if len(cpus) < 2 {
		t.Skip("not supported by this machine, which has one CPU")
	}
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("this process runs on one CPU at a time (GOMAXPROCS)")
	}
	// On a busy machine both CPUs can be taken for longer than a measurement waits.
	var took time.Duration
	var err error
	for begin := time.Now(); time.Since(begin) < 10*time.Second; {
		if took, err = coreToCore(cpus[0], cpus[1]); err == nil {
			break
		}
	}
	if err != nil || took < time.Nanosecond || took > corePatience {
		t.Errorf("%v, %v", took, err)
	}
	if took, err := coreToCore(cpus[0], 1<<20); err == nil {
		t.Errorf("a CPU that does not exist answered in %v", took)
	}
}

func BenchmarkCoreToCore(b *testing.B) {
	cpus, failed := CPUs(), 0
	for b.Loop() {
		took, err := coreToCore(cpus[0], cpus[len(cpus)/2])
		if err != nil {
			failed++
			continue
		}
		b.ReportMetric(float64(took), "ns/trip")
	}
	b.ReportMetric(float64(failed)/float64(b.N), "failed/op")
}
