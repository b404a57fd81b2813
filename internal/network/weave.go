package network

import (
	"fmt"
	"net/netip"
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
//
// With hops, the hosts are a line, as in vxlan-hops: a router knows only its neighbors' addresses, and
// frames for hosts further away take the routes that the routers tell each other (mesh, routes.go).
type Weave struct {
	Mode  string `yaml:"mode"`  // fastdp: the kernel's datapath; sleeve: the router forwards; encrypted: the kernel's datapath, in ESP
	Hops  int    `yaml:"hops"`  // 0: every host reaches all others; 1 to 5: a line of one more hosts
	Delay Delays `yaml:"delay"` // of every segment of a line, or a list with one for each: 0 to 1 s, each way
}

func (n Weave) Shape(s topo.Spec) topo.Spec {
	if n.Hops == 0 {
		return s
	}
	return line(s, n.Hops, n.Delay)
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
		n.checkLine(t), refuse(t.NoOffload, "weave: cannot switch off segmentation by the devices of the router; use nic none"))
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
			plan.Step{In: h.Name, Forwards: forwards("weaver", append([]string{weaveBridge}, nics(t, h)...)...), Service: &plan.Service{Name: "weaver",
				Argv:   n.weaver(t, i, mtu, mode.args),
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
	for i, h := range t.Hosts {
		connections := plan.Output{Argv: []string{"curl", "-sf", weaveStatus + "/connections"},
			Lines: slices.Repeat([]string{mode.connection}, len(n.peers(t, i)))}
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Await: &plan.Await{Output: connections, Timeout: weaveConnect}})
		if n.Hops > 1 { // the routers know each other, and so their routes
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Await: &plan.Await{Timeout: weaveConnect, Output: plan.Output{
				Argv:  []string{"curl", "-sf", weaveStatus},
				Lines: []string{fmt.Sprintf("Peers: %d (with %d established connections)", len(t.Hosts), 2*n.Hops)}}}})
		}
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Output: &connections}})
	}
	return p, nil
}

func (n Weave) checkLine(t topo.Topology) error {
	if n.Hops == 0 {
		return refuse(len(n.Delay) > 0, "weave: delay is of the segments of a line; give hops, 1 to 5")
	}
	return checkLine("weave", t, n.Hops, n.Delay)
}

// weaver returns the router's command line on the host with this index. It sets a name because
// routers on one machine would otherwise all use the machine's. A router between two segments has
// no single address, and listens on all.
func (n Weave) weaver(t topo.Topology, host, mtu int, mode []string) []string {
	h := t.Hosts[host]
	argv := []string{"weaver", "--name", fmt.Sprintf("02:00:00:00:%02x:%02x", (host+1)>>8, (host+1)&0xff), "--nickname", h.Name}
	if n.Hops == 0 {
		argv = append(argv, "--host", h.Addr.Addr().String())
	}
	argv = append(argv, "--mtu", fmt.Sprint(mtu), "--http-addr", "127.0.0.1:6784",
		"--db-prefix", plan.Dir+"/weave", "--docker-api", "", "--no-dns", "--no-discovery")
	argv = append(argv, mode...)
	for _, peer := range n.peers(t, host) {
		argv = append(argv, peer.String())
	}
	return argv
}

// peers returns the addresses to which the router on the host with this index connects.
func (n Weave) peers(t topo.Topology, host int) []netip.Addr {
	var peers []netip.Addr
	if n.Hops == 0 {
		for _, h := range others(t, t.Hosts[host]) {
			peers = append(peers, h.Addr.Addr())
		}
		return peers
	}
	if host > 0 {
		peers = append(peers, t.Segments[host-1][0].Addr.Addr())
	}
	if host < n.Hops {
		peers = append(peers, t.Segments[host][1].Addr.Addr())
	}
	return peers
}
