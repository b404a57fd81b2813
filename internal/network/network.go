// Package network holds one file per network under test.
//
// A driver is a struct whose exported fields are its options. It decides and
// never acts: Plan has no side effects, so every driver is tested with golden
// files and without privileges. It must not know about probes or machines.
package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Driver turns a topology into the steps that connect its pods. Its exported
// fields are its options, and the keys of its YAML.
type Driver interface {
	// Plan returns the steps, in order; the underlay exists when they run. The
	// same topology gives the same plan on every machine: what depends on the
	// running kernel belongs in package lab.
	Plan(topo.Topology) (plan.Plan, error)
}

// A Shaper is a Driver that needs hosts of its own number, or connected in its
// own way.
type Shaper interface {
	// Shape returns what the driver needs instead of s.
	Shape(s topo.Spec) topo.Spec
}

// Shape returns the spec of a topology that d can connect, as near to s as possible.
func Shape(d Driver, s topo.Spec) topo.Spec {
	if sh, ok := d.(Shaper); ok {
		return sh.Shape(s)
	}
	return s
}
