package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Netkit is Routed with a netkit pair for every pod instead of a veth (Linux 6.7,
// drivers/net/netkit.c). A netkit device exists to run BPF programs where a packet leaves its pod;
// Cilium makes the same pairs (datapath mode netkit or netkit-l2).
//
// Without a program, a packet passes a CPU's backlog as after a veth, and Netkit divided by Routed is
// what the devices alone save. With program, those of TCRedirect forward, the pods' part inside
// the pair, so that the packets of a pod skip the backlog, too: Netkit divided by TCRedirect is then
// what the pair saves Cilium.
//
// Where the kernel lacks netkit, a guest can have it. On Debian 12, scripts/guest-kernel DIR
// linux-image-6.12-amd64 unpacks such a kernel for weir run --in-vm --kernel DIR. Without KVM, add
// --vm-cpus 1: that kernel sometimes does not survive booting on two emulated CPUs (QEMU 7.2).
type Netkit struct {
	Mode    string `yaml:"mode"`    // l3: without ARP and MAC addresses, Cilium's default; l2: as a veth
	Program bool   `yaml:"program"` // BPF programs forward instead of the hosts' IP stack; needs root
}

func (n Netkit) Plan(t topo.Topology) (plan.Plan, error) {
	bad := checkOneOf("netkit", "mode", n.Mode, "l2", "l3")
	if n.Program && bad == nil {
		bad = only4("netkit", t)
	}
	p, err := routed("netkit", t, noSteps, bad)
	if err != nil {
		return plan.Plan{}, err
	}
	for _, s := range p.Steps {
		if s.Link != nil { // only pods have links
			s.Link.Kind, s.Link.Mode = "netkit", n.Mode
		}
	}
	if n.Program {
		p = redirected(t, p, "netkit")
	}
	return p, nil
}

func noSteps(topo.Host) []plan.Step { return nil }
