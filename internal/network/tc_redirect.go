package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// TCRedirect is Routed with BPF programs that forward instead of the hosts' IP stack, at the hooks of
// traffic control (tcx, Linux 6.6), as Cilium's host routing does. A packet from a pod goes straight
// to the underlay device, and one from there straight into the pod, past the backlog of its veth
// (bpf_redirect_peer). The programs are as short as those of XDPRedirect: they ask the kernel's
// routes and neighbors for the next hop, and know no policy, Service or connection.
type TCRedirect struct{}

func (TCRedirect) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := routed("tc-redirect", t, noSteps, only4("tc-redirect", t))
	if err != nil {
		return plan.Plan{}, err
	}
	return redirected(t, p, "tcx"), nil
}

func only4(name string, t topo.Topology) error {
	return refuse(any6(t), name+": forwards only IPv4; use IPv4 for pods and hosts, or routed")
}

// redirectReady is the line that the program prints once it forwards.
const redirectReady = "redirect: ready"

// redirected makes BPF programs at a hook of package redirect forward between the devices of each
// host, and expects the hosts' IP stacks to leave that to them.
func redirected(t topo.Topology, p plan.Plan, hook string) plan.Plan {
	for _, h := range t.Hosts {
		devs := routedDevs(h)
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Service: &plan.Service{Name: hook,
			Argv: append([]string{"weir", "redirect", hook}, devs...),
			Root: true, Ready: plan.Ready{Line: redirectReady}, Forwards: devs}})
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name}, Proof: plan.Proof{Below: true, Near: plan.Pod, Far: plan.Pod}})
	}
	return p
}
