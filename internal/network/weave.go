package network

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Weave connects the pods of all hosts as one Ethernet segment with the router of Weave Net 2.8,
// which the user must provide: it is discontinued and in no distribution. A build of v2.8.1 was
// tested in a guest (Linux 6.1), in every mode between two hosts, as root and as an ordinary user,
// but not yet on a machine's own kernel.
//
// A router that cannot use its configured path uses another one and logs a line. weir therefore
// waits for the right path of every connection, and checks it before and after each trial.
type Weave struct {
	Mode string `yaml:"mode"` // fastdp: the kernel's datapath; sleeve: the router forwards; encrypted: the kernel's datapath, in ESP
}

// Weave's modes between hosts.
const (
	WeaveFastDP    = "fastdp"    // VXLAN by the kernel's datapath of Open vSwitch
	WeaveSleeve    = "sleeve"    // UDP by the router itself, which captures the packets
	WeaveEncrypted = "encrypted" // fastdp in ESP
)

// Names and addresses of Weave.
const (
	weaveBridge = "weave"
	weaveStatus = "http://127.0.0.1:6784/status" // where `weave status` asks

	// Seconds. A router starts iptables so often that it takes ten on an emulated machine, and two
	// routers there take another five to agree on keys.
	weaveStart   = 60
	weaveConnect = 30
)

// weaveModes describes the modes. connection is part of a line of `weave status connections` (mesh,
// status.go, makeLocalConnectionStatusSlice); overhead is in bytes.
var weaveModes = map[string]struct {
	args, env  []string
	kernel     []string // kernel features that the router needs
	connection string
	overhead   int
}{
	WeaveFastDP: {args: []string{"--datapath", "datapath"}, kernel: []string{"openvswitch", "dummy"}, connection: "established fastdp ", overhead: 50},
	// UDP and IPv4 28, the sender 6; per frame: two peers 12, length 2, Ethernet 14
	// (router/sleeve.go and frame_crypto.go). Small frames share the first 34.
	WeaveSleeve: {args: []string{"--no-fastdp"}, kernel: []string{"dummy"}, connection: "established sleeve ", overhead: 62},
	// Weave reserves 34 bytes for ESP (net/bridge.go, fastdpImpl.init).
	WeaveEncrypted: {args: []string{"--datapath", "datapath"}, env: []string{"WEAVE_PASSWORD=weir"}, kernel: []string{"openvswitch", "dummy"},
		connection: "established encrypted   fastdp ", overhead: 50 + 34},
}

// Plan starts the routers, connects the pods to their bridges, and waits until all hosts are
// connected over the mode's path.
func (n Weave) Plan(t topo.Topology) (plan.Plan, error) {
	mode := weaveModes[n.Mode]
	p, err := newPlan("weave", t, 2, mode.overhead, checkOneOf("weave", "mode", n.Mode, WeaveFastDP, WeaveSleeve, WeaveEncrypted),
		refuse(any6(t), "weave: Weave Net has no IPv6; use vxlan-overlay"),
		refuse(t.NoOffload, "weave: cannot switch off segmentation by the devices of the router; use nic none"))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	for i, h := range t.Hosts {
		// Weave's launch script for Kubernetes sets the keys for its policies (weave#2581,
		// prog/weave-kube/launch.sh).
		p.Steps = append(p.Steps, bridgeNF(t, h.Name, nfOn)...)
		p.Steps = append(p.Steps,
			find(h, "iptables.version", "iptables", "--version"), // which the router calls, as in every installation
			find(h, "weave.version", "weaver", "--version"),
			plan.Step{In: h.Name, Forwards: forwards("weaver", weaveBridge, h.Dev), Service: &plan.Service{Name: "weaver",
				Argv:   weaver(t, i, mtu, mode.args),
				Env:    append([]string{"CHECKPOINT_DISABLE=1"}, mode.env...), // it would ask the Internet for its latest version
				Kernel: mode.kernel, Carries: n.Mode == WeaveSleeve,
				Ready: plan.Ready{Argv: []string{"curl", "-sf", weaveStatus}, Timeout: weaveStart},
				Makes: []string{weaveBridge}}})
		if n.Mode == WeaveEncrypted {
			p.Steps = append(p.Steps, encrypts(h, "the router would take another path")...)
		}
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps, attachPod(h, i, pod, weaveBridge, mtu)...)
			if n.Mode == WeaveSleeve { // as `weave attach` does (net/veth.go, CreateAndAttachVeth)
				p.Steps = append(p.Steps, complete(pod))
			}
		}
	}
	// Every five minutes each router sends 60,001 bytes to all others to test whether fragments
	// arrive (router/sleeve.go, FragTestInterval). So fragments prove nothing on hosts, where all
	// measured traffic has the DF bit set.
	p.Expect = slices.DeleteFunc(expect(t, p).Expect, func(e plan.Expect) bool {
		return e.NoFragments && slices.ContainsFunc(t.Hosts, func(h topo.Host) bool { return h.Name == e.In })
	})
	connections := plan.Output{Argv: []string{"curl", "-sf", weaveStatus + "/connections"},
		Lines: slices.Repeat([]string{mode.connection}, len(t.Hosts)-1)}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Await: &plan.Await{Output: connections, Timeout: weaveConnect}})
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Output: &connections}})
	}
	return p, nil
}

// weaver returns the router's command line on the host with this index. It sets a name because
// routers on one machine would otherwise all use the machine's.
func weaver(t topo.Topology, host, mtu int, mode []string) []string {
	h := t.Hosts[host]
	argv := []string{"weaver", "--name", fmt.Sprintf("02:00:00:00:%02x:%02x", (host+1)>>8, (host+1)&0xff), "--nickname", h.Name,
		"--host", h.Addr.Addr().String(), "--mtu", fmt.Sprint(mtu), "--http-addr", "127.0.0.1:6784",
		"--db-prefix", plan.Dir + "/weave", "--docker-api", "", "--no-dns", "--no-discovery"}
	argv = append(argv, mode...)
	for _, peer := range others(t, h) {
		argv = append(argv, peer.Addr.Addr().String())
	}
	return argv
}
