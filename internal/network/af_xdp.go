package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// AFXDP is Bridged with a switch in user space instead of the bridge. weir's own program opens an
// AF_XDP socket on the host's end of every pod's veth and on the underlay device, and moves frames
// between them in memory that all sockets share. Data paths in user space are connected like this, such
// as Open vSwitch's netdev with afxdp ports and VPP's af_xdp interfaces. The switch sleeps when no frame
// waits; theirs usually poll.
//
// The sockets work in copy mode, the only one that a veth has: the kernel copies every frame to the
// switch and back into a buffer. A device opposite an XDP program cannot segment (drivers/net/veth.c,
// veth_xdp_set): TCP crosses the network in packets of the MTU. Senders complete their checksums.
// The host has a veth of its own at the switch, with its address.
type AFXDP struct{}

// maxAFXDP is the largest MTU for which a veth gives a program a frame in one page
// (drivers/net/veth.c, veth_xdp_set).
const maxAFXDP = 3498

func (AFXDP) Plan(t topo.Topology) (plan.Plan, error) {
	const name, hostPort = "af-xdp", "p0" // the switch's end of the host's own veth
	p, err := newPlan(name, t, 1, 0,
		refuse(t.Rate > 0, name+": cannot limit a link's rate: frames from user space bypass queueing disciplines; leave out link, or use bridged"),
		refuse(t.MTU > maxAFXDP, fmt.Sprintf("%s: invalid MTU %d of the underlay: want at most %d, because a frame must fit a page", name, t.MTU, maxAFXDP)),
		refuse(t.GRO == topo.GROOff, name+": cannot switch off GRO: a veth with a program receives only with it; leave out gro"))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	for _, ports := range t.Segments {
		for _, port := range ports {
			p.Steps = append(p.Steps, completeOn(port.In, port.Dev))
		}
	}
	for _, h := range t.Hosts {
		devs := []string{h.Dev, hostPort}
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Link: &plan.Link{Name: bridgeDev, Kind: "veth", MTU: t.MTU, Peer: hostPort, PeerIn: h.Name}},
			completeOn(h.Name, bridgeDev))
		for i, pod := range h.Pods {
			devs = append(devs, podPort(i))
			p.Steps = append(append(p.Steps, attachPod(h, i, pod, "", mtu)...), complete(pod))
		}
		p.Steps = append(p.Steps, join(t, h, bridgeDev)...)
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Addr: &plan.Addr{Dev: h.Dev, Prefix: h.Addr, Gone: true}},
			plan.Step{In: h.Name, Addr: &plan.Addr{Dev: bridgeDev, Prefix: h.Addr}},
			plan.Step{In: h.Name, Service: &plan.Service{Name: name, Argv: append([]string{"weir", "redirect", name}, devs...),
				Root: true, Ready: plan.Ready{Line: redirectReady}, Forwards: devs, Carries: true}})
	}
	return expect(t, p), nil
}
