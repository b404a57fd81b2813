package network

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Weave connects the pods of all hosts as one Ethernet segment by the router of
// Weave Net 2.8, which the user must have: its makers have stopped, and it is in
// no distribution. It was tried on a build of v2.8.1 in a guest (Linux 6.1), in
// every mode, between two hosts, as root and not; on no machine's own kernel yet.
//
// A router that cannot have the path that it was asked for takes another one and
// logs a line. So the path of every connection is awaited, and looked at before
// and after each trial.
type Weave struct {
	Mode string `yaml:"mode"` // fastdp: the kernel's datapath; sleeve: the router forwards; encrypted: the kernel's datapath, in ESP
}

// Ways of Weave between hosts.
const (
	WeaveFastDP    = "fastdp"    // VXLAN by the kernel's datapath of Open vSwitch
	WeaveSleeve    = "sleeve"    // UDP by the router itself, which captures the packets
	WeaveEncrypted = "encrypted" // fastdp in ESP
)

// Names and addresses of Weave.
const (
	weaveBridge = "weave"
	weaveStatus = "http://127.0.0.1:6784/status" // what `weave status` asks

	// Seconds. A router starts iptables so often that it takes ten where the machine is
	// emulated; there, two agree on keys in another five.
	weaveStart   = 60
	weaveConnect = 30
)

// weaveModes are by the name of the mode. connection is what a line of `weave
// status connections` has (mesh, status.go, makeLocalConnectionStatusSlice);
// overhead is in bytes.
var weaveModes = map[string]struct {
	args, env  []string
	kernel     []string // what the router needs of the kernel
	connection string
	overhead   int
}{
	WeaveFastDP: {args: []string{"--datapath", "datapath"}, kernel: []string{"openvswitch", "dummy"}, connection: "established fastdp ", overhead: 50},
	// UDP and IPv4 28, the sender 6, of a frame two peers 12, length 2, Ethernet 14
	// (router/sleeve.go and frame_crypto.go). Small frames share the first 34.
	WeaveSleeve: {args: []string{"--no-fastdp"}, kernel: []string{"dummy"}, connection: "established sleeve ", overhead: 62},
	// Weave reserves 34 bytes for ESP (net/bridge.go, fastdpImpl.init).
	WeaveEncrypted: {args: []string{"--datapath", "datapath"}, env: []string{"WEAVE_PASSWORD=weir"}, kernel: []string{"openvswitch", "dummy"},
		connection: "established encrypted   fastdp ", overhead: 50 + 34},
}

// Plan starts the routers, plugs the pods into their bridges, and waits until
// every host has every other one by the path that was asked for.
func (n Weave) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkHosts("weave", t, 2); err != nil {
		return plan.Plan{}, err
	}
	mode, ok := weaveModes[n.Mode]
	switch {
	case !ok:
		return plan.Plan{}, fmt.Errorf("weave: mode %q is none of %s, %s and %s", n.Mode, WeaveFastDP, WeaveSleeve, WeaveEncrypted)
	case is6(t.PodAll.Addr()) || underlay6(t):
		return plan.Plan{}, errors.New("weave: Weave Net has no IPv6; use vxlan-overlay")
	case t.NoOffload:
		return plan.Plan{}, errors.New("weave: segmentation by the devices of the router is not switched off here; use nic none")
	}
	mtu, err := podMTU("weave", t, mode.overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, mode.overhead)}
	for i, h := range t.Hosts {
		p.Steps = append(p.Steps,
			plan.Step{In: h.Name, Exec: &plan.Exec{Argv: []string{"iptables", "--version"}, Found: "iptables.version"}}, // it calls it, as everywhere
			plan.Step{In: h.Name, Exec: &plan.Exec{Argv: []string{"weaver", "--version"}, Found: "weave.version"}},
			plan.Step{In: h.Name, Service: &plan.Service{Name: "weaver",
				Argv:   weaver(t, i, mtu, mode.args),
				Env:    append([]string{"CHECKPOINT_DISABLE=1"}, mode.env...), // it would ask the Internet for its newest version
				Kernel: mode.kernel,
				Ready:  plan.Ready{Argv: []string{"curl", "-sf", weaveStatus}, Timeout: weaveStart},
				Makes:  []string{weaveBridge}}})
		if n.Mode == WeaveEncrypted {
			p.Steps = append(p.Steps, encrypts(h, "the router would take another path")...)
		}
		for i, pod := range h.Pods {
			p.Steps = append(p.Steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: podPort(i), Kind: "veth", MTU: mtu, Master: weaveBridge, Peer: podDev, PeerIn: pod.Name}},
				plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
			if n.Mode == WeaveSleeve { // as `weave attach` does (net/veth.go, CreateAndAttachVeth)
				p.Steps = append(p.Steps, plan.Step{In: pod.Name, Offload: &plan.Offload{Dev: podDev, Features: off(checksum, segmentTCP, segmentOther)}})
			}
		}
	}
	// Every router sends each of the others 60,001 bytes every five minutes, to see
	// whether fragments arrive (router/sleeve.go, FragTestInterval). So fragments
	// prove nothing on hosts, where all that is measured has the bit DF.
	p.Expect = slices.DeleteFunc(expect(t, p), func(e plan.Expect) bool {
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

// weaver is the router's command line on the host with this index. It has a name
// for it because routers of one machine would all have the machine's.
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
