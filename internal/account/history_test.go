package account

import (
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
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

// The history is this machine's. A machine that is called local has facts in the same file as this one.
func TestNoPastElsewhere(t *testing.T) {
	for _, target := range []study.Target{{}, {SSH: []string{"local", "b"}}} {
		s := study.Default()
		s.Name, s.Networks, s.Probes = "x", []study.Use{{Kind: "host"}}, []study.Use{{Kind: "ping"}}
		s.Target = target
		rep := Contents{Spec: s, Target: s.Target, Results: make([]record.Result, 1), Hosts: map[string][]byte{"local": []byte("{}")}}
		if _, ok := rep.past(); ok == target.Exists() {
			t.Errorf("%v: %v", target, ok)
		}
	}
}
