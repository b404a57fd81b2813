// Package network holds one file per network under test.
//
// A driver is a struct whose exported fields are its options. It decides and never acts: Plan has
// no side effects, so golden files test it without privileges. It must not know probes or machines.
package network

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// A Driver turns a topology into the steps that connect its pods. Its fields are its YAML options.
type Driver interface {
	// Plan returns the steps in order, for an existing underlay. The same topology gives the same
	// plan on every machine: anything that depends on the running kernel belongs in package lab.
	Plan(topo.Topology) (plan.Plan, error)
}

// A Shaper is a Driver that needs a certain number of hosts or a certain underlay.
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

// newPlan begins the plan of the driver called name, with an end in every pod and the path that
// overhead bytes of encapsulation leave of the underlay. It returns the first error of bad, or an
// error if t has fewer than least hosts or too low an MTU.
func newPlan(name string, t topo.Topology, least, overhead int, bad ...error) (plan.Plan, error) {
	if err := cmp.Or(append(bad, checkHosts(name, t, least))...); err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU(name, t, overhead)
	return plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, overhead)}, err
}

// checkRange returns an error unless the option called key is from least to most.
func checkRange(name, key string, v, least, most int) error {
	return refuse(v < least || v > most, fmt.Sprintf("%s: invalid %s %d: want %d to %d", name, key, v, least, most))
}

func checkPort(name string, port int) error { return checkRange(name, "port", port, 1, 1<<16-1) }

func checkAbs(name, dir string) error {
	return refuse(!filepath.IsAbs(dir), fmt.Sprintf("%s: invalid dir %q: want an absolute path", name, dir))
}

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
	want := values[last]
	if last > 0 {
		want = strings.Join(values[:last], ", ") + " or " + want
	}
	return fmt.Errorf("%s: invalid %s %q: want %s", name, key, v, want)
}

// toJSON encodes maps, structs, slices, strings, numbers and addresses, which cannot fail.
func toJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// expectTunnel expects dev of the host in to carry the pods' traffic between hosts.
func expectTunnel(in, dev string, mtu int) plan.Expect {
	return plan.Expect{State: plan.State{In: in, Dev: dev, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Across: true, Near: plan.Pod}}
}

// forwards states that packets pass between any two of devs, by a tunnel, the IP stack or a daemon.
func forwards(by string, devs ...string) []plan.Forwarding {
	return []plan.Forwarding{{By: by, Devs: devs}}
}

func sysctl(in, key, value string) plan.Step {
	return plan.Step{In: in, Sysctl: &plan.Sysctl{Key: key, Value: value}}
}

func run(h topo.Host, argv ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: argv}}
}

// find records the first line of argv's output, such as a version, as name in every result.
func find(h topo.Host, name string, argv ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: argv, Found: name}}
}

func checkHosts(name string, t topo.Topology, least int) error {
	return refuse(len(t.Hosts) < least, fmt.Sprintf("%s: needs %d hosts or more, topology has %d", name, least, len(t.Hosts)))
}

// checkExactly returns an error unless t has exactly n hosts, 1 or 2.
func checkExactly(name string, t topo.Topology, n int) error {
	if len(t.Hosts) == n {
		return nil
	}
	return fmt.Errorf("%s: needs exactly %s, topology has %d", name, [...]string{1: "1 host", 2: "2 hosts"}[n], len(t.Hosts))
}

// others returns the hosts of t except h.
func others(t topo.Topology, h topo.Host) []topo.Host {
	return slices.DeleteFunc(slices.Clone(t.Hosts), func(peer topo.Host) bool { return peer.Name == h.Name })
}

// podMTU returns the underlay's MTU minus overhead bytes, or an error if pods need more.
func podMTU(name string, t topo.Topology, overhead int) (int, error) {
	least, family := topo.MinMTU, "IPv4"
	if is6(t.PodAll.Addr()) {
		least, family = topo.MinMTU6, "IPv6"
	}
	mtu := t.MTU - overhead
	if mtu < least {
		return 0, fmt.Errorf("%s: MTU %d for pods (underlay %d, encapsulation %d) is below %d, the minimum of %s; an underlay MTU of %d would do",
			name, mtu, t.MTU, overhead, least, family, least+overhead)
	}
	return mtu, nil
}

// oneFamily returns an error if packets between pods have no next hop of their address family.
func oneFamily(name string, t topo.Topology) error {
	if len(t.Hosts) > 1 && is6(t.PodAll.Addr()) != underlay6(t) {
		return fmt.Errorf("%s: pods in %v and hosts in %v: the next hop must be of the packets' own family; give both the same, or use vxlan-overlay",
			name, t.PodAll, t.Hosts[0].Addr.Masked())
	}
	return nil
}

func is6(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }

func underlay6(t topo.Topology) bool { return len(t.Hosts) > 0 && is6(t.Hosts[0].Addr.Addr()) }

func any6(t topo.Topology) bool { return is6(t.PodAll.Addr()) || underlay6(t) }

// udpHeaders returns the size of the UDP and IP headers between hosts, in bytes.
func udpHeaders(t topo.Topology) int {
	const udp, ip4, ip6 = 8, 20, 40
	if underlay6(t) {
		return udp + ip6
	}
	return udp + ip4
}

// path returns the path of t's pods in a network that adds overhead bytes to packets between hosts.
func path(t topo.Topology, mtu, overhead int) plan.Path {
	if len(t.Hosts) == 1 {
		return plan.Path{MTU: mtu}
	}
	return plan.Path{MTU: mtu, Overhead: overhead, Outer: t.MTU}
}

func podEnds(t topo.Topology, dev string) []plan.End {
	var ends []plan.End
	for _, h := range t.Hosts {
		for _, p := range h.Pods {
			ends = append(ends, plan.End{Label: plan.Pod, Node: p.Name, Host: h.Name, Addr: p.Addr.Addr(), Dev: dev})
		}
	}
	return ends
}

// expect adds to p the expectations of every network: the ends have the path's MTU and carry the
// traffic; between hosts, the underlay and the tunnels in p.Expect carry it, too; nothing is
// fragmented. Bridges and the host ends of pods' veths are left out: a bridge's counters do not
// include what it forwards, and one end of a veth shows everything.
func expect(t topo.Topology, p plan.Plan) plan.Plan {
	var all []plan.Expect
	seen := map[[2]string]bool{}
	add := func(e plan.Expect) {
		if at := [2]string{e.In, e.Dev}; !seen[at] {
			seen[at] = true
			all = append(all, e)
		}
	}
	for _, e := range p.Ends {
		x := plan.Expect{State: plan.State{In: e.Node, Dev: e.Dev, MTU: p.Path.MTU}, Proof: plan.Proof{MustCarry: true}}
		if e.Node == e.Host {
			x.Near = e.Label // the host has other ends, too
		}
		add(x)
	}
	for _, e := range append(p.Expect, expectUnderlay(t)...) {
		add(e)
	}
	for _, h := range t.Hosts {
		add(plan.Expect{State: plan.State{In: h.Name}, Proof: plan.Proof{NoFragments: true}})
	}
	for _, e := range p.Ends {
		add(plan.Expect{State: plan.State{In: e.Node}, Proof: plan.Proof{NoFragments: true}})
	}
	p.Expect = all
	return p
}
