package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// VMHost is Host with a virtual machine per host: the network that a cloud gives its machines, and the
// baseline of networks inside them.
type VMHost struct{ VM }

func (VMHost) Shape(s topo.Spec) topo.Spec { return guests(s) }

func (n VMHost) Plan(t topo.Topology) (plan.Plan, error) {
	return n.hosts("vm-host", Host{}, t)
}

// VMOverlay is VXLANOverlay with a virtual machine per host: pods are containers in a guest, and VXLAN
// begins and ends in the guests' kernels, as on the machines that a cloud rents out.
type VMOverlay struct {
	VNI  int `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1
	Port int `yaml:"port"` // UDP destination port, 1 to 65535
	VM
}

func (VMOverlay) Shape(s topo.Spec) topo.Spec { return guests(s) }

func (n VMOverlay) Plan(t topo.Topology) (plan.Plan, error) {
	return n.hosts("vm-overlay", VXLANOverlay{VNI: n.VNI, Port: n.Port}, t)
}

func guests(s topo.Spec) topo.Spec {
	s.Shape = topo.Guests
	return s
}

// hosts plans network d inside guests: a virtual machine for every host of t, with a TAP device on the
// switch, and a network namespace inside it for every pod. The steps of d then run in the guests.
func (v VM) hosts(name string, d Driver, t topo.Topology) (plan.Plan, error) {
	if err := v.check(name); err != nil {
		return plan.Plan{}, err
	}
	p, err := d.Plan(t)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("%s: %w", name, err)
	}
	var taps, start, enter []plan.Step
	quiet := func(in, dev string) plan.Step { return sysctl(in, "net.ipv6.conf."+dev+".addr_gen_mode", "1") }
	for i, h := range t.Hosts {
		taps = append(taps, v.tap(Switch, h.Name, t.MTU, switchBridge(0)))
		start = append(start, v.start(Switch, h.Name, h.Name, i, 0))
		enter = append(enter,
			plan.Step{In: h.Name, Forwards: forwards("QEMU", h.Dev, Switch+"/"+h.Name), Guest: &plan.Guest{Host: Switch, Socket: guestSocket(h.Name), Makes: []string{h.Dev}, Tap: h.Name}},
			// As for every place of the underlay, and for the device that the guest's kernel made before.
			quiet(h.Name, "default"), quiet(h.Name, h.Dev),
			plan.Step{In: h.Name, Set: &plan.Set{Dev: h.Dev, MTU: t.MTU, Up: true}})
		for _, pod := range h.Pods {
			enter = append(enter, plan.Step{In: pod.Name, Inside: &plan.Inside{Guest: h.Name}}, quiet(pod.Name, "default"))
		}
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: Switch, Dev: h.Name, MTU: t.MTU}})
	}
	steps := append(append(taps, start...), enter...)
	p.Steps = append(append(steps, addresses(t)...), p.Steps...)
	return p, nil
}
