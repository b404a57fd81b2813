package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// XDPRedirect is Routed with an XDP program that forwards instead of the hosts' IP stack. weir
// attaches it to the host's end of every pod's veth and to the underlay device, in the driver's
// mode. It asks the kernel's routes and neighbors for the next hop (bpf_fib_lookup), rewrites the
// Ethernet header, decrements the TTL and redirects the frame to the next device. The stack gets
// everything else: packets for the host itself, and those whose next hop has not been resolved.
//
// XDP is made for NICs, whose frames have no socket buffer yet. On a veth the kernel copies a
// sender's buffer to pages for the program, and a device opposite a program cannot segment
// (drivers/net/veth.c, veth_convert_skb_to_xdp_buff and veth_xdp_set): TCP crosses the network in
// packets of the MTU, and the receiving pod joins them (GRO). A redirected frame carries no note
// about its checksum, so senders complete it and receivers verify it.
type XDPRedirect struct{}

func (XDPRedirect) Plan(t topo.Topology) (plan.Plan, error) {
	const name = "xdp-redirect"
	p, err := routed(name, t, noSteps,
		only4(name, t),
		refuse(t.Rate > 0, name+": cannot limit a link's rate: redirected frames bypass queueing disciplines; leave out link, or use routed"),
		refuse(t.GRO == topo.GROOff, name+": cannot switch off GRO: a veth receives redirected frames only with it; leave out gro"))
	if err != nil {
		return plan.Plan{}, err
	}
	for n, ports := range t.Segments {
		for _, port := range ports {
			p.Steps = append(p.Steps, completeOn(port.In, port.Dev))
			if !wired(t, ports) {
				p.Steps = append(p.Steps, receives(Switch, switchPort(n, port)))
			}
		}
	}
	for _, h := range t.Hosts {
		for _, pod := range h.Pods {
			p.Steps = append(p.Steps, complete(pod), receives(pod.Name, podDev))
		}
	}
	return redirected(t, p, "xdp"), nil
}

// receives makes a veth receive in a NAPI poll, without which frames cannot be redirected to it
// (drivers/net/veth.c, veth_xdp_xmit).
func receives(in, dev string) plan.Step {
	return plan.Step{In: in, Offload: &plan.Offload{Dev: dev, Features: map[string]bool{rxGRO: true}}}
}
