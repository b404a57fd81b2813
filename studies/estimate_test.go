package studies_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/studies"
)

// Estimates of the fast forms are close to what they took on two CPUs that others
// used as well. A changed study needs a new measurement.
func TestEstimate(t *testing.T) {
	for name, took := range map[string]time.Duration{
		"cni-comparison":            71 * time.Second,
		"cni-comparison-load":       118 * time.Second,
		"docker-overlay-throughput": 111 * time.Second,
		"latency-under-load":        219 * time.Second,
		"vxlan-and-kvm":             108 * time.Second, // emulated
	} {
		src, err := fs.ReadFile(studies.FS, name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s, err := study.Load(src, name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if got := catalog.Estimate(s.Faster()); got < took*3/4 || got > took*4/3 {
			t.Errorf("%s --fast: about %v, took %v", name, got, took)
		}
	}
}
