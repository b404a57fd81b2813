package cli

import (
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/study"
)

// The history keeps runs with and without a distance between hosts apart.
func TestSetup(t *testing.T) {
	near := study.Default()
	far, lossy := near, near
	far.Topology.Distance.Delay = time.Millisecond
	lossy.Topology.Distance.Loss = 0.01
	seen := map[string]bool{}
	for _, s := range []study.Study{near, far, lossy} {
		seen[setup(s, "ping", "host")] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d digests of 3 topologies", len(seen))
	}
}
