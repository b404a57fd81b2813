package network

import (
	"errors"
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// OVS connects the pods of one host with a bridge of Open vSwitch, whose real
// daemons run on it.
type OVS struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel's; netdev: ovs-vswitchd itself forwards; auto: the kernel's where there is one
	Interface string `yaml:"interface"` // of pods: veth, or a device that Open vSwitch makes, internal
}

// Where Open vSwitch forwards packets, and how pods are plugged in. Auto is the
// kernel where it has the datapath and the daemon itself otherwise.
const (
	DatapathAuto      = "auto"
	DatapathSystem    = "system"
	DatapathNetdev    = "netdev"
	InterfaceVeth     = "veth"
	InterfaceInternal = "internal" // a device of Open vSwitch, moved into the pod
)

// Plan starts Open vSwitch and plugs the pods in.
func (n OVS) Plan(t topo.Topology) (plan.Plan, error) {
	if len(t.Hosts) != 1 {
		return plan.Plan{}, fmt.Errorf("ovs: needs exactly 1 host, topology has %d", len(t.Hosts))
	}
	v, err := newVSwitch("ovs", n.Datapath, n.Interface, t)
	if err != nil {
		return plan.Plan{}, err
	}
	mtu, err := podMTU("ovs", t, 0)
	if err != nil {
		return plan.Plan{}, err
	}
	h := t.Hosts[0]
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, 0)}
	p.Steps = append(v.start(h), v.addBridge(h, intBridge))
	p.Steps = append(p.Steps, v.attach(h, mtu)...)
	p.Steps = append(p.Steps, v.join(t, h, mtu)...)
	p.Steps = append(p.Steps, v.versions(h)...)
	p.Expect = expect(t, p)
	return p, nil
}

// Bridges of Open vSwitch, by their usual names: pods are on the integration
// bridge; the external one owns the underlay device and its address.
const (
	intBridge = "br-int"
	extBridge = "br-ex"
)

// A vSwitch is what the networks of Open vSwitch have in common.
type vSwitch struct {
	netdev, internal bool
}

func newVSwitch(name, datapath, iface string, t topo.Topology) (vSwitch, error) {
	var v vSwitch
	switch datapath {
	case DatapathAuto:
		v.netdev = !t.Kernel.OVS
	case DatapathNetdev:
		v.netdev = true
	case DatapathSystem:
	default:
		return v, fmt.Errorf("%s: datapath %q is none of %s, %s and %s", name, datapath, DatapathAuto, DatapathSystem, DatapathNetdev)
	}
	switch iface {
	case InterfaceInternal:
		v.internal = true
	case InterfaceVeth:
	default:
		return v, fmt.Errorf("%s: interface %q is neither %s nor %s", name, iface, InterfaceVeth, InterfaceInternal)
	}
	if v.internal && !v.netdev && t.NoOffload {
		return v, errors.New(name + ": segmentation by internal ports of the kernel datapath is not switched off here; use interface veth, or datapath netdev")
	}
	return v, nil
}

func (v vSwitch) datapath() string {
	if v.netdev {
		return DatapathNetdev
	}
	return DatapathSystem
}

// Where the daemons of a host keep what they would share with all others.
var ovsEnv = []string{"OVS_RUNDIR=" + plan.Dir, "OVS_DBDIR=" + plan.Dir, "OVS_LOGDIR=" + plan.Dir, "OVS_SYSCONFDIR=" + plan.Dir}

// vsctl is how the daemons of a host are configured. It returns when
// ovs-vswitchd has done what it says, and gives up after ten seconds.
func vsctl(args ...string) []string {
	return append([]string{"ovs-vsctl", "--db=unix:" + plan.Dir + "/db.sock", "--timeout=10"}, args...)
}

// configure runs vsctl on h. It makes the devices of makes.
func configure(h topo.Host, makes []string, args ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: vsctl(args...), Makes: makes}}
}

// start starts the two daemons on h.
func (v vSwitch) start(h topo.Host) []plan.Step {
	var opens []string
	if v.netdev {
		opens = []string{"/dev/net/tun"} // for the bridges' own devices
	}
	return []plan.Step{
		{In: h.Name, Exec: &plan.Exec{Argv: []string{"ovsdb-tool", "create", plan.Dir + "/conf.db"}}},
		{In: h.Name, Service: &plan.Service{Name: "ovsdb-server", Env: ovsEnv,
			Argv: []string{"ovsdb-server", plan.Dir + "/conf.db", "--remote=punix:" + plan.Dir + "/db.sock",
				"--unixctl=" + plan.Dir + "/ovsdb-server.ctl"},
			Ready: plan.Ready{Argv: vsctl("--no-wait", "init")}}},
		{In: h.Name, Service: &plan.Service{Name: "ovs-vswitchd", Env: ovsEnv, Opens: opens,
			Argv:  []string{"ovs-vswitchd", "unix:" + plan.Dir + "/db.sock", "--unixctl=" + plan.Dir + "/ovs-vswitchd.ctl"},
			Ready: plan.Ready{File: plan.Dir + "/ovs-vswitchd.ctl"}}},
	}
}

func (v vSwitch) addBridge(h topo.Host, bridge string) plan.Step {
	return configure(h, []string{bridge}, "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type="+v.datapath())
}

// attach plugs every pod of h into the integration bridge. args follow the name
// of each port.
func (v vSwitch) attach(h topo.Host, mtu int, args ...string) []plan.Step {
	var steps []plan.Step
	for i, pod := range h.Pods {
		port := podPort(i)
		add := append([]string{"add-port", intBridge, port}, args...)
		if v.internal {
			steps = append(steps,
				configure(h, []string{port}, append(add, "--", "set", "interface", port, "type=internal")...),
				plan.Step{In: h.Name, Move: &plan.Move{Dev: port, To: pod.Name, As: podDev, MTU: mtu}})
		} else {
			steps = append(steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Peer: podDev, PeerIn: pod.Name}},
				configure(h, nil, add...))
			if v.netdev {
				steps = append(steps, plan.Step{In: pod.Name, Offload: &plan.Offload{Dev: podDev, Features: off(checksum, segmentTCP, segmentOther)}})
			}
		}
		steps = append(steps, plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
	}
	return steps
}

// join makes h a station among its pods by the device of the integration bridge.
func (vSwitch) join(t topo.Topology, h topo.Host, mtu int) []plan.Step {
	return append([]plan.Step{{In: h.Name, Set: &plan.Set{Dev: intBridge, MTU: mtu, Up: true}}}, join(t, h, intBridge)...)
}

// What leaves a checksum to the device. The userspace datapath reads frames from
// packet sockets and passes them on as they are, so that what is not finished
// when it leaves the pod never is: pings pass, TCP and UDP carry nothing.
var checksum = []string{"tx-checksum-ip-generic", "tx-checksum-sctp"}

// versions finds out what runs on h.
func (vSwitch) versions(h topo.Host) []plan.Step {
	return []plan.Step{
		{In: h.Name, Exec: &plan.Exec{Argv: []string{"ovs-vswitchd", "--version"}, Found: "ovs.version"}},
		{In: h.Name, Exec: &plan.Exec{Argv: vsctl("get", "bridge", intBridge, "datapath_type"), Found: "ovs.datapath"}},
	}
}

// uplink gives the external bridge of h the underlay device and its address.
func (v vSwitch) uplink(h topo.Host, mtu int) []plan.Step {
	steps := []plan.Step{
		v.addBridge(h, extBridge),
		configure(h, nil, "add-port", extBridge, h.Dev),
		{In: h.Name, Addr: &plan.Addr{Dev: h.Dev, Prefix: h.Addr, Gone: true}},
		{In: h.Name, Set: &plan.Set{Dev: extBridge, MTU: mtu, Up: true}},
		{In: h.Name, Addr: &plan.Addr{Dev: extBridge, Prefix: h.Addr}},
	}
	if v.netdev {
		steps = append(steps, deafen(h))
	}
	return steps
}

// deafen keeps the kernel of h from answering what comes in on the underlay
// device: a packet socket takes copies, and the kernel, which has no such tunnel,
// would refuse every packet (Open vSwitch, Documentation/intro/install/userspace.rst,
// "Firewall Rules"). An IPv4 packet is refused there when the way back is over
// another device (Documentation/networking/ip-sysctl.rst, rp_filter).
func deafen(h topo.Host) plan.Step {
	key := "net.ipv4.conf." + h.Dev + ".rp_filter"
	if is6(h.Addr.Addr()) {
		key = "net.ipv6.conf." + h.Dev + ".disable_ipv6"
	}
	return plan.Step{In: h.Name, Sysctl: &plan.Sysctl{Key: key, Value: "1"}}
}

// tunnel connects the integration bridge of h with every other host's. A frame
// that came out of a tunnel goes into none (protected): each host has one to all.
func (vSwitch) tunnel(t topo.Topology, h topo.Host, kind string, vni, udp int) []plan.Step {
	var steps []plan.Step
	for _, peer := range t.Hosts {
		if peer.Name == h.Name {
			continue
		}
		port := "tun-" + peer.Name
		steps = append(steps, configure(h, nil, "add-port", intBridge, port,
			"--", "set", "port", port, "protected=true",
			"--", "set", "interface", port, "type="+kind,
			// In quotation marks for the colons of IPv6.
			fmt.Sprintf(`options:local_ip="%v"`, h.Addr.Addr()), fmt.Sprintf(`options:remote_ip="%v"`, peer.Addr.Addr()),
			fmt.Sprintf("options:key=%d", vni), fmt.Sprintf("options:dst_port=%d", udp)))
	}
	return steps
}
