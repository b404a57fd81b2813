// Package network holds one file per network under test.
//
// A driver is a struct whose exported fields are its options. It decides and
// never acts: Plan has no side effects, so every driver is tested with golden
// files and without privileges. It must not know about probes or machines.
package network

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Driver turns a topology into the steps that connect its pods. Its exported
// fields are its options, and the keys of its YAML.
type Driver interface {
	// Plan returns the steps, in order; the underlay exists when they run. The
	// same topology gives the same plan on every machine: anything that depends on
	// the running kernel belongs in package lab.
	Plan(topo.Topology) (plan.Plan, error)
}

// A Shaper is a Driver that needs a certain number of hosts, or a certain underlay
// between them.
type Shaper interface {
	// Shape returns the spec that the driver needs instead of s.
	Shape(s topo.Spec) topo.Spec
}

// Shape returns the spec of a topology that d can connect, as close to s as possible.
func Shape(d Driver, s topo.Spec) topo.Spec {
	if sh, ok := d.(Shaper); ok {
		return sh.Shape(s)
	}
	return s
}

// newPlan begins the plan of the driver called name: it has an end in every pod, and
// the path that is left of the underlay by overhead bytes of encapsulation. It
// returns the first error of bad, or an error if t has fewer than least hosts, or too low
// an MTU.
func newPlan(name string, t topo.Topology, least, overhead int, bad ...error) (plan.Plan, error) {
	if err := cmp.Or(append(bad, checkHosts(name, t, least))...); err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU(name, t, overhead)
	return plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, overhead)}, err
}

// checkRange returns an error unless the option called key is from least to most.
func checkRange(name, key string, v, least, most int) error {
	if v < least || v > most {
		return fmt.Errorf("%s: invalid %s %d: want %d to %d", name, key, v, least, most)
	}
	return nil
}

// checkPort returns an error unless port can be a TCP or UDP port.
func checkPort(name string, port int) error { return checkRange(name, "port", port, 1, 1<<16-1) }

// checkAbs returns an error unless the option dir is an absolute path.
func checkAbs(name, dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: invalid dir %q: want an absolute path", name, dir)
	}
	return nil
}

// refuse returns an error with this message if bad.
func refuse(bad bool, message string) error {
	if bad {
		return errors.New(message)
	}
	return nil
}

// checkOneOf returns an error unless the option called key is one of values.
func checkOneOf(name, key, v string, values ...string) error {
	if slices.Contains(values, v) {
		return nil
	}
	last := len(values) - 1
	return fmt.Errorf("%s: invalid %s %q: want %s or %s", name, key, v, strings.Join(values[:last], ", "), values[last])
}

// toJSON encodes plain data (maps, structs, slices, strings, numbers and addresses),
// which cannot fail.
func toJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// expectTunnel expects dev of the host in to carry the pods' traffic between hosts.
func expectTunnel(in, dev string, mtu int) plan.Expect {
	return plan.Expect{State: plan.State{In: in, Dev: dev, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Across: true, Near: plan.Pod}}
}

func sysctl(in, key, value string) plan.Step {
	return plan.Step{In: in, Sysctl: &plan.Sysctl{Key: key, Value: value}}
}

func run(h topo.Host, argv ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: argv}}
}

// find records the first line that argv prints as name in every result, such as a
// version.
func find(h topo.Host, name string, argv ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: argv, Found: name}}
}
