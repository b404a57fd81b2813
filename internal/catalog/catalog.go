// Package catalog lists what weir can do: one line per network and probe.
// Nothing registers itself.
package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/topo"
)

// A Network is an entry of the list of networks.
type Network struct {
	New   func() network.Driver // a fresh driver that holds its defaults
	Hosts int                   // the most it can connect; 0 is any number
	About string
}

// Networks are by the name that a study uses.
var Networks = map[string]Network{
	"host":           {func() network.Driver { return &network.Host{} }, 0, "programs on the hosts themselves: the baseline"},
	"bridge":         {func() network.Driver { return &network.Bridge{} }, 1, "pods of one host on a Linux bridge"},
	"vxlan":          {func() network.Driver { return &network.VXLAN{VNI: 1, Port: 4789} }, 0, "the kernel's VXLAN device between hosts, no pods"},
	"vxlan-overlay":  {func() network.Driver { return &network.VXLANOverlay{VNI: 1, Port: 4789} }, 0, "pods on a bridge per host, VXLAN between the bridges"},
	"routed":         {func() network.Driver { return &network.Routed{} }, 0, "pods behind veth and routes, no encapsulation (host-gw, layer-3 CNIs)"},
	"macvlan":        {func() network.Driver { return &network.Macvlan{} }, 0, "pods on macvlan devices of the host's NIC, bridge mode"},
	"ovs":            {func() network.Driver { return &network.OVS{Datapath: auto, Interface: veth} }, 1, "pods of one host on an Open vSwitch bridge"},
	"ovs-vlan":       {func() network.Driver { return &network.OVSVLAN{Datapath: auto, Interface: veth, Tag: 42} }, 0, "pods on a VLAN of the underlay, access ports of Open vSwitch"},
	"ovs-vxlan":      {func() network.Driver { return &network.OVSVXLAN{Datapath: auto, Interface: veth, VNI: 1, Port: 4789} }, 0, "pods on Open vSwitch bridges, VXLAN tunnels between these"},
	"ovs-geneve":     {func() network.Driver { return &network.OVSGeneve{Datapath: auto, Interface: veth, VNI: 1, Port: 6081} }, 0, "pods on Open vSwitch bridges, Geneve tunnels between these, as OVN"},
	"cni":            {func() network.Driver { return &network.CNI{} }, 0, "pods attached by CNI plugins, as a kubelet would, and routes between the hosts"},
	"flannel-vxlan":  {func() network.Driver { return &network.FlannelVXLAN{VNI: 1, Port: 8472} }, 0, "Flannel: pods on a bridge per host, flanneld's VXLAN devices between these"},
	"flannel-hostgw": {func() network.Driver { return &network.FlannelHostGW{} }, 0, "Flannel: pods on a bridge per host, flanneld's routes between these"},
	"flannel-udp":    {func() network.Driver { return &network.FlannelUDP{Port: 8285} }, 0, "Flannel: pods on a bridge per host, datagrams of flanneld's between these"},
	"canal":          {func() network.Driver { return &network.Canal{VNI: 1, Port: 8472, Rules: 100} }, 0, "Canal's data path: flanneld's VXLAN devices, a routed veth per pod, rules of a policy"},
}

// How Open vSwitch is used when nothing else is asked for.
const auto, veth = network.DatapathAuto, network.InterfaceVeth

// A Probe is an entry of the list of probes.
type Probe struct {
	New   func() probe.Probe // a fresh probe that holds its defaults
	About string
}

// Probes are by the name that a study uses.
var Probes = map[string]Probe{
	"tcp-stream": {func() probe.Probe { return &probe.TCPStream{} }, "TCP throughput that arrived (native)"},
	"udp-stream": {func() probe.Probe { return &probe.UDPStream{} }, "UDP throughput at a datagram size, with the ladder of losses (native)"},
	"udp-gso":    {func() probe.Probe { return &probe.UDPStream{Send: "gso", Recv: "gro"} }, "UDP throughput with UDP_SEGMENT and UDP_GRO: many datagrams per pass through the kernel (native)"},
	"udp-rate":   {func() probe.Probe { return &probe.UDPRate{} }, "UDP packets per second, small packets (native)"},
	"tcp-rr":     {func() probe.Probe { return &probe.TCPRR{} }, "TCP request and response time (native)"},
	"udp-rr":     {func() probe.Probe { return &probe.UDPRR{} }, "UDP request and response time, and what it consists of (native)"},
	"udp-open":   {func() probe.Probe { return &probe.UDPOpen{} }, "UDP response time at a fixed rate of requests, without coordinated omission (native)"},
	"tcp-crr":    {func() probe.Probe { return &probe.TCPCRR{} }, "time to connect, ask and be answered over TCP (native)"},
	"ping":       {func() probe.Probe { return &probe.Ping{} }, "ICMP echo time (native)"},
	"iperf3-tcp": {func() probe.Probe { return &probe.Iperf3{} }, "TCP throughput that arrived, by iperf3"},
	"iperf3-udp": {func() probe.Probe { return &probe.Iperf3{UDP: true} }, "UDP throughput that arrived, by iperf3"},
}

// FindNetwork returns an entry, or an error that lists the names.
func FindNetwork(name string) (Network, error) { return find(Networks, "network", name) }

// FindProbe returns an entry, or an error that lists the names.
func FindProbe(name string) (Probe, error) { return find(Probes, "probe", name) }

func find[T any](in map[string]T, what, name string) (T, error) {
	e, ok := in[name]
	if !ok {
		return e, fmt.Errorf("unknown %s %q; there are %s", what, name, strings.Join(Names(in), ", "))
	}
	return e, nil
}

// Names returns the names of a list, sorted.
func Names[T any](in map[string]T) []string { return slices.Sorted(maps.Keys(in)) }

// Spec fits a topology to what the network can connect: fewer hosts, and at
// least two ends.
func (n Network) Spec(s topo.Spec) topo.Spec {
	if n.Hosts > 0 && (s.Hosts == 0 || s.Hosts > n.Hosts) {
		s.Hosts = n.Hosts
	}
	if s.Hosts == 1 {
		s.Pods = max(s.Pods, 2)
	}
	return s
}

// Programs lists the programs that probes run and that networks consist of, and
// that are not this one, sorted.
func Programs() []string {
	found := map[string]bool{}
	for _, n := range Networks {
		t, err := topo.New(n.Spec(topo.Spec{}))
		if err != nil {
			continue // a test builds each of them so
		}
		if p, err := n.New().Plan(t); err == nil {
			for _, name := range p.Programs() {
				found[name] = true
			}
		}
	}
	for _, p := range Probes {
		for _, name := range probe.Programs(p.New()) {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
