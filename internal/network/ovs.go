package network

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// OVS connects the pods of one host with an Open vSwitch bridge and the real daemons.
type OVS struct {
	Datapath  string `yaml:"datapath"`  // system: the kernel forwards; netdev: ovs-vswitchd itself does; auto: the kernel if it has the datapath
	Interface string `yaml:"interface"` // of pods: veth, or internal, a device that Open vSwitch makes
}

// Open vSwitch datapaths and pod interfaces. Auto is the kernel's datapath, or else the daemon's.
const (
	DatapathAuto      = "auto"
	DatapathSystem    = "system"
	DatapathNetdev    = "netdev"
	InterfaceVeth     = "veth"
	InterfaceInternal = "internal" // a device of Open vSwitch, moved into the pod
)

func (n OVS) Plan(t topo.Topology) (plan.Plan, error) {
	v, bad := newVSwitch("ovs", n.Datapath, n.Interface, t)
	p, err := newPlan("ovs", t, 1, 0, checkExactly("ovs", t, 1), bad)
	if err != nil {
		return plan.Plan{}, err
	}
	p.Path.Datapath = v.datapath()
	h, mtu := t.Hosts[0], p.Path.MTU
	bridge := v.addBridge(h, intBridge)
	bridge[0].Forwards = forwards("ovs-vsctl", intBridge, h.Dev) // pods reach the host through the bridge's own device
	p.Steps = slices.Concat(v.start(h), bridge, v.attach(h, mtu), v.join(t, h, mtu), v.versions(h))
	return expect(t, p), nil
}

// Bridges of Open vSwitch, by their usual names: pods are on the integration bridge; the external
// one owns the underlay device and its address.
const (
	intBridge = "br-int"
	extBridge = "br-ex"
)

// A vSwitch holds what the Open vSwitch networks have in common.
type vSwitch struct {
	netdev, internal bool
}

func newVSwitch(name, datapath, iface string, t topo.Topology) (vSwitch, error) {
	err := cmp.Or(checkOneOf(name, "datapath", datapath, DatapathAuto, DatapathSystem, DatapathNetdev),
		checkOneOf(name, "interface", iface, InterfaceVeth, InterfaceInternal))
	v := vSwitch{netdev: datapath == DatapathNetdev || datapath == DatapathAuto && !t.Kernel.OVS, internal: iface == InterfaceInternal}
	return v, cmp.Or(err, refuse(v.internal && !v.netdev && t.NoOffload,
		name+": cannot switch off segmentation by internal ports of the kernel datapath; use interface veth, or datapath netdev"))
}

func (v vSwitch) datapath() string {
	if v.netdev {
		return DatapathNetdev
	}
	return DatapathSystem
}

// ovsEnv keeps the daemons' files in the host's state directory; by default, hosts would share
// them.
var ovsEnv = []string{"OVS_RUNDIR=" + plan.Dir, "OVS_DBDIR=" + plan.Dir, "OVS_LOGDIR=" + plan.Dir, "OVS_SYSCONFDIR=" + plan.Dir}

// vsctl returns a command that configures a host's daemons. The command ends once ovs-vswitchd has
// applied the change, or gives up after ten seconds.
func vsctl(args ...string) []string {
	return append([]string{"ovs-vsctl", "--db=unix:" + plan.Dir + "/db.sock", "--timeout=10"}, args...)
}

// configure runs vsctl on h, which creates the devices in makes.
func configure(h topo.Host, makes []string, args ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: vsctl(args...), Makes: makes}}
}

// addPort makes port, with args after its name, a port of a bridge of h. The command creates the devices in makes.
func addPort(h topo.Host, makes []string, bridge, port string, args ...string) plan.Step {
	s := configure(h, makes, append([]string{"add-port", bridge, port}, args...)...)
	s.Forwards = forwards("", bridge, port)
	return s
}

func (v vSwitch) start(h topo.Host) []plan.Step {
	var opens []string
	if v.netdev {
		opens = []string{"/dev/net/tun"} // for the bridges' own devices
	}
	return []plan.Step{
		run(h, "ovsdb-tool", "create", plan.Dir+"/conf.db"),
		{In: h.Name, Service: &plan.Service{Name: "ovsdb-server", Env: ovsEnv,
			Argv: []string{"ovsdb-server", plan.Dir + "/conf.db", "--remote=punix:" + plan.Dir + "/db.sock",
				"--unixctl=" + plan.Dir + "/ovsdb-server.ctl"},
			Ready: plan.Ready{Argv: vsctl("--no-wait", "init")}}},
		{In: h.Name, Service: &plan.Service{Name: "ovs-vswitchd", Env: ovsEnv, Opens: opens,
			Argv:  []string{"ovs-vswitchd", "unix:" + plan.Dir + "/db.sock", "--unixctl=" + plan.Dir + "/ovs-vswitchd.ctl"},
			Ready: plan.Ready{File: plan.Dir + "/ovs-vswitchd.ctl"}, Carries: v.netdev}},
	}
}

// addBridge makes a bridge on h with existing devices as its ports.
func (v vSwitch) addBridge(h topo.Host, bridge string, ports ...string) []plan.Step {
	steps := []plan.Step{configure(h, []string{bridge}, "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type="+v.datapath())}
	for _, port := range ports {
		steps = append(steps, addPort(h, nil, bridge, port))
	}
	return steps
}

// attach connects every pod of h to the integration bridge, with args after each port's name.
func (v vSwitch) attach(h topo.Host, mtu int, args ...string) []plan.Step {
	var steps []plan.Step
	for i, pod := range h.Pods {
		port := podPort(i)
		if v.internal {
			steps = append(steps,
				addPort(h, []string{port}, intBridge, port, append(slices.Clone(args), "--", "set", "interface", port, "type=internal")...),
				plan.Step{In: h.Name, Move: &plan.Move{Dev: port, To: pod.Name, As: podDev, MTU: mtu}})
		} else {
			steps = append(steps,
				plan.Step{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Peer: podDev, PeerIn: pod.Name}},
				addPort(h, nil, intBridge, port, args...))
			if v.netdev {
				steps = append(steps, complete(pod))
			}
		}
		steps = append(steps, plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: pod.Addr}})
	}
	return steps
}

// join gives h an address among its pods, on the device of the integration bridge.
func (vSwitch) join(t topo.Topology, h topo.Host, mtu int) []plan.Step {
	return append([]plan.Step{{In: h.Name, Set: &plan.Set{Dev: intBridge, MTU: mtu, Up: true}}}, join(t, h, intBridge)...)
}

// complete makes pod send packets with complete checksums. The userspace datapath passes frames
// from packet sockets on unchanged, so a checksum left to the pod's device is never computed: pings
// pass, but TCP and UDP carry nothing.
func complete(pod topo.Pod) plan.Step { return completeOn(pod.Name, podDev) }

// completeOn makes dev send packets with complete checksums.
func completeOn(in, dev string) plan.Step {
	checksum := []string{"tx-checksum-ip-generic", "tx-checksum-sctp"}
	return plan.Step{In: in, Offload: &plan.Offload{Dev: dev, Features: off(checksum, segmentTCP, segmentOther)}}
}

func (vSwitch) versions(h topo.Host) []plan.Step {
	return []plan.Step{
		find(h, "ovs.version", "ovs-vswitchd", "--version"),
		find(h, "ovs.datapath", vsctl("get", "bridge", intBridge, "datapath_type")...),
	}
}

// uplink gives the external bridge of h the underlay device and its address.
func (v vSwitch) uplink(h topo.Host, mtu int) []plan.Step {
	steps := append(v.addBridge(h, extBridge, h.Dev),
		plan.Step{In: h.Name, Addr: &plan.Addr{Dev: h.Dev, Prefix: h.Addr, Gone: true}},
		plan.Step{In: h.Name, Set: &plan.Set{Dev: extBridge, MTU: mtu, Up: true}},
		plan.Step{In: h.Name, Addr: &plan.Addr{Dev: extBridge, Prefix: h.Addr}})
	if v.netdev {
		steps = append(steps, deafen(h))
	}
	return steps
}

// deafen stops the kernel of h from answering packets that arrive on the underlay device: a packet
// socket takes copies, and the kernel, which does not have the tunnel, would reject every packet
// (Open vSwitch, Documentation/intro/install/userspace.rst, "Firewall Rules"). With rp_filter, the
// kernel drops an IPv4 packet if the route back uses another device
// (Documentation/networking/ip-sysctl.rst).
func deafen(h topo.Host) plan.Step {
	if is6(h.Addr.Addr()) {
		return sysctl(h.Name, "net.ipv6.conf."+h.Dev+".disable_ipv6", "1")
	}
	return sysctl(h.Name, "net.ipv4.conf."+h.Dev+".rp_filter", "1")
}

// tunnel connects the integration bridge of h with every other host's. Each host has a tunnel to
// all others, so a frame from a tunnel never enters another (protected).
func (vSwitch) tunnel(t topo.Topology, h topo.Host, kind string, vni, udp int) []plan.Step {
	var steps []plan.Step
	for _, peer := range others(t, h) {
		port := "tun-" + peer.Name
		add := addPort(h, nil, intBridge, port,
			"--", "set", "port", port, "protected=true",
			"--", "set", "interface", port, "type="+kind,
			// Quotation marks protect the colons of IPv6.
			fmt.Sprintf(`options:local_ip="%v"`, h.Addr.Addr()), fmt.Sprintf(`options:remote_ip="%v"`, peer.Addr.Addr()),
			fmt.Sprintf("options:key=%d", vni), fmt.Sprintf("options:dst_port=%d", udp))
		add.Forwards = append(add.Forwards, forwards(kind, port, extBridge)...)
		steps = append(steps, add)
	}
	return steps
}
