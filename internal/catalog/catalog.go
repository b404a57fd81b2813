// Package catalog lists the networks and probes, one line each; nothing registers itself. It also
// checks and prepares the studies that name them.
package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/topo"
)

type Network struct {
	New   func() network.Driver // returns a fresh driver with its defaults
	Hosts int                   // maximum; 0 is unlimited
	Noun  string                // names it in a sentence, in the singular
	About string
	Properties
}

// Properties are the qualities by which users compare container networks, besides cost. They
// describe what weir builds and mention what the product of that name adds.
type Properties struct {
	Model     Model  `json:"model"`
	Addresses string `json:"addresses"` // how pods get them
	Isolation string `json:"isolation"` // what separates pods
	Discovery string `json:"discovery"` // how pods find a service by name
	External  string `json:"external"`  // how packets between pods and hosts outside of the network pass
}

// A Model is how pods connect to the hosts' underlay.
type Model string

const (
	Bridged  Model = "bridged"  // one segment inside a host
	Routed   Model = "routed"   // hosts route between pods
	Overlay  Model = "overlay"  // hosts encapsulate the packets of pods
	Underlay Model = "underlay" // pods attach to the underlay
	Found    Model = "found"    // the network exists; weir did not build it
)

// Networks maps names in studies to networks.
var Networks = map[string]Network{
	"host": {func() network.Driver { return &network.Host{} }, 0, "the host network", "programs on the hosts themselves: the baseline",
		Properties{Underlay, "static", "none", "none", "the host's own address"}},
	"bridge": {func() network.Driver { return &network.Bridge{} }, 1, "a bridge", "pods of one host on a Linux bridge",
		Properties{Bridged, "static", "none", "none", "none; products translate addresses at the host (NAT)"}},
	"bridged": {func() network.Driver { return &network.Bridged{} }, 0, "a bridge at the host's NIC", "pods on a bridge per host with the host's NIC as a port: vxlan-overlay without the tunnel",
		Properties{Underlay, "static", "none", "none", "an address on the hosts' Ethernet"}},
	// IANA assigned port 4789 to VXLAN; the kernel's default is the older 8472.
	"vxlan": {func() network.Driver { return &network.VXLAN{VNI: 1, Port: 4789} }, 0, "a VXLAN tunnel", "the kernel's VXLAN device between hosts, without pods",
		Properties{Overlay, "static", "network identifier", "none", "the host's own address"}},
	"vxlan-overlay": {func() network.Driver { return &network.VXLANOverlay{VNI: 1, Port: 4789} }, 0, "a VXLAN overlay", "pods on a bridge per host, VXLAN between the bridges",
		Properties{Overlay, "static", "network identifier", "none", "none; products translate addresses at the host (NAT)"}},
	"routed": {func() network.Driver { return &network.Routed{} }, 0, "a routed pod network", "pods behind veth and routes, no encapsulation (host-gw, layer-3 CNIs)",
		Properties{Routed, "static, a /24 per host", "none", "none", "routed, where other routers know the pods' subnets"}},
	"netkit": {func() network.Driver { return &network.Netkit{Mode: "l3"} }, 0, "a routed network of netkit pairs", "routed with netkit pairs instead of veths (Linux 6.7), as Cilium makes them",
		Properties{Routed, "static, a /24 per host", "none", "none", "routed, where other routers know the pods' subnets"}},
	"service-iptables": {func() network.Driver { return services(network.ServicesIPTables) }, 0, "a Service by iptables rules", "routed pods behind the cluster addresses of Services, by kube-proxy's iptables rules",
		Properties{Routed, "static, a /24 per host", "none", "cluster addresses; Kubernetes adds names", "routed; kube-proxy adds node ports"}},
	"service-nftables": {func() network.Driver { return services(network.ServicesNFTables) }, 0, "a Service by nftables maps", "routed pods behind the cluster addresses of Services, by kube-proxy's nftables maps",
		Properties{Routed, "static, a /24 per host", "none", "cluster addresses; Kubernetes adds names", "routed; kube-proxy adds node ports"}},
	"service-ipvs": {func() network.Driver { return services(network.ServicesIPVS) }, 0, "a Service by IPVS", "routed pods behind the cluster addresses of Services, by IPVS as kube-proxy sets it up",
		Properties{Routed, "static, a /24 per host", "none", "cluster addresses; Kubernetes adds names", "routed; kube-proxy adds node ports"}},
	"kube-proxy-iptables": {func() network.Driver { return kubeProxy(network.ProxyIPTables) }, 0, "kube-proxy in iptables mode", "routed pods behind the cluster addresses of Services, by the real kube-proxy in iptables mode",
		Properties{Routed, "static, a /24 per host", "none", "cluster addresses; Kubernetes adds names", "routed; kube-proxy adds node ports"}},
	"kube-proxy-nftables": {func() network.Driver { return kubeProxy(network.ProxyNFTables) }, 0, "kube-proxy in nftables mode", "routed pods behind the cluster addresses of Services, by the real kube-proxy in nftables mode",
		Properties{Routed, "static, a /24 per host", "none", "cluster addresses; Kubernetes adds names", "routed; kube-proxy adds node ports"}},
	"kube-proxy-ipvs": {func() network.Driver { return kubeProxy(network.ProxyIPVS) }, 0, "kube-proxy in ipvs mode", "routed pods behind the cluster addresses of Services, by the real kube-proxy in ipvs mode",
		Properties{Routed, "static, a /24 per host", "none", "cluster addresses; Kubernetes adds names", "routed; kube-proxy adds node ports"}},
	"tc-redirect": {func() network.Driver { return &network.TCRedirect{} }, 0, "BPF forwarding at tcx hooks", "routed, forwarded by BPF programs at tcx hooks instead of the IP stack (Linux 6.6), as in Cilium; needs root",
		Properties{Routed, "static, a /24 per host", "none", "none", "routed, where other routers know the pods' subnets"}},
	"xdp-redirect": {func() network.Driver { return &network.XDPRedirect{} }, 0, "XDP forwarding", "routed, forwarded by an XDP program instead of the IP stack; needs root",
		Properties{Routed, "static, a /24 per host", "none", "none", "routed, where other routers know the pods' subnets"}},
	"af-xdp": {func() network.Driver { return &network.AFXDP{} }, 0, "an AF_XDP switch", "bridged with a switch in user space behind AF_XDP sockets, as of Open vSwitch and VPP; needs root",
		Properties{Underlay, "static", "none", "none", "an address on the hosts' Ethernet"}},
	"proxy-l4": {func() network.Driver {
		return &network.Proxy{Program: network.HAProxy, At: network.ProxyBoth, Threads: 2}
	}, 0, "a pair of proxies", "bridged with a proxy at both ends that copies TCP, as the sidecars of a mesh",
		Properties{Underlay, "static", "none", "none; a mesh has its registry", "an address on the hosts' Ethernet"}},
	"proxy-l7": {func() network.Driver {
		return &network.Proxy{Program: network.HAProxy, L7: true, At: network.ProxyBoth, Threads: 2}
	}, 0, "a pair of HTTP proxies", "bridged with a proxy at both ends that reads HTTP/1.1, as the sidecars of a mesh",
		Properties{Underlay, "static", "none", "none; a mesh has its registry", "an address on the hosts' Ethernet"}},
	"macvlan": {func() network.Driver { return &network.Macvlan{} }, 0, "a macvlan device", "pods on macvlan devices of the host's NIC, in bridge mode",
		Properties{Underlay, "static", "pods cannot reach their own host", "none", "an address on the hosts' Ethernet"}},
	"calico-bgp-datapath": {func() network.Driver { return &network.CalicoBGP{} }, 0, "a BGP data path as of Calico", "pods behind veth, proxy ARP and routes that BIRD announces over BGP, as in Calico",
		Properties{Routed, "static, in a /26 block per host, as Calico's", "none; without Calico's policies", "none; Calico leaves it to Kubernetes", "routed, where other routers know the pods' subnets; Calico can also translate"}},
	"two-paths": {func() network.Driver { return &network.TwoPaths{Routes: network.StaticRoutes, Hold: 9} }, 2, "a routed network with two links", "routed between two hosts with a second link, by one route with two next hops (ECMP) or by BGP, with or without BFD",
		Properties{Routed, "static, a /24 per host", "none", "none", "routed, where other routers know the pods' subnets"}},
	"calico": {func() network.Driver { return calico(network.CalicoBGPMode) }, 0, "Calico", "Calico: pods behind veth and Felix's rules, routes that its BIRD announces over BGP; needs the files of its images",
		Properties{Routed, "calico-ipam, a /26 block per host", "Felix's rules; the policy allows all traffic", "none; Calico leaves it to Kubernetes", "routed; natOutgoing is off, Calico's default is on"}},
	"calico-ipip": {func() network.Driver { return calico(network.CalicoIPIP) }, 0, "Calico with IPIP", "calico with IPv4 in IPv4 between hosts",
		Properties{Overlay, "calico-ipam, a /26 block per host", "Felix's rules; the policy allows all traffic", "none; Calico leaves it to Kubernetes", "none; natOutgoing is off, Calico's default is on"}},
	"calico-vxlan": {func() network.Driver { return calico(network.CalicoVXLAN) }, 0, "Calico with VXLAN", "calico with Felix's VXLAN devices between hosts",
		Properties{Overlay, "calico-ipam, a /26 block per host", "Felix's rules; the policy allows all traffic", "none; Calico leaves it to Kubernetes", "none; natOutgoing is off, Calico's default is on"}},
	"cilium": {func() network.Driver { return &network.CiliumAgent{Mode: network.CiliumVXLAN, Dir: network.CiliumDir} }, 0, "Cilium", "Cilium: pods behind veth and the BPF programs of its agent, VXLAN between hosts; needs root and the files of its image",
		Properties{Overlay, "static, a /24 per host; Cilium's allocator is off", "none; policies are looked up but not enforced", "none; Cilium leaves it to Kubernetes", "none; masquerading is off, Cilium's default is on"}},
	"cilium-native": {func() network.Driver { return &network.CiliumAgent{Mode: network.CiliumNative, Dir: network.CiliumDir} }, 0, "Cilium with native routing", "cilium with routes between hosts instead of VXLAN",
		Properties{Routed, "static, a /24 per host; Cilium's allocator is off", "none; policies are looked up but not enforced", "none; Cilium leaves it to Kubernetes", "routed; masquerading is off, Cilium's default is on"}},
	"ovs": {func() network.Driver { return &network.OVS{Datapath: auto, Interface: veth} }, 1, "an Open vSwitch bridge", "pods of one host on an Open vSwitch bridge",
		Properties{Bridged, "static", "none", "none", "none; products translate addresses at the host (NAT)"}},
	"ovs-vlan": {func() network.Driver { return &network.OVSVLAN{Datapath: auto, Interface: veth, Tag: 42} }, 0, "an Open vSwitch VLAN", "pods on a VLAN of the underlay, at access ports of Open vSwitch",
		Properties{Underlay, "static", "VLAN", "none", "an address on the VLAN"}},
	"ovs-vxlan": {func() network.Driver { return &network.OVSVXLAN{Datapath: auto, Interface: veth, VNI: 1, Port: 4789} }, 0, "an Open vSwitch VXLAN tunnel", "pods on Open vSwitch bridges, VXLAN tunnels between them",
		Properties{Overlay, "static", "network identifier", "none", "none; OVN and Neutron route and translate at a gateway"}},
	"weave": {func() network.Driver { return &network.Weave{Mode: network.WeaveFastDP} }, 0, "Weave Net", "pods on one Ethernet segment that Weave Net's router provides; needs its program",
		Properties{Overlay, "static; Weave's allocator is off", "none; Weave's policies are off", "none; Weave's DNS is off", "none; weave expose adds NAT at the host"}},
	"weave-sleeve": {func() network.Driver { return &network.Weave{Mode: network.WeaveSleeve} }, 0, "Weave Net in sleeve mode", "weave, with frames through the router and UDP instead of the kernel's data path",
		Properties{Overlay, "static; Weave's allocator is off", "none; Weave's policies are off", "none; Weave's DNS is off", "none; weave expose adds NAT at the host"}},
	"weave-encrypted": {func() network.Driver { return &network.Weave{Mode: network.WeaveEncrypted} }, 0, "encrypted Weave Net", "weave, encrypted by the kernel's ESP",
		Properties{Overlay, "static; Weave's allocator is off", "none; Weave's policies are off", "none; Weave's DNS is off", "none; weave expose adds NAT at the host"}},
	"ovs-geneve": {func() network.Driver { return &network.OVSGeneve{Datapath: auto, Interface: veth, VNI: 1, Port: 6081} }, 0, "an Open vSwitch Geneve tunnel", "pods on Open vSwitch bridges, Geneve tunnels between them, as with OVN",
		Properties{Overlay, "static", "network identifier", "none", "none; OVN and Neutron route and translate at a gateway"}},
	"docker-bridge": {func() network.Driver { return &network.DockerBridge{Bridge: network.BridgeUser} }, 1, "a Docker bridge", "containers of one host on a Docker bridge",
		Properties{Bridged, "Docker's IPAM, fixed by --ip", "bridge, iptables", "Docker's DNS", "NAT at the host; Docker can publish ports"}},
	"docker-overlay": {func() network.Driver { return &network.DockerOverlay{Control: network.ControlSwarm} }, 0, "a Docker overlay", "containers on Docker's overlay: one engine per host, VXLAN between the hosts",
		Properties{Overlay, "Docker's IPAM, fixed by --ip", "network identifier", "Docker's DNS, through swarm or etcd", "NAT at the host, through docker_gwbridge; Docker can publish ports"}},
	"cni": {func() network.Driver { return &network.CNI{} }, 0, "the network of CNI plugins", "pods that CNI plugins attach, as a kubelet has them do, and routes between the hosts",
		Properties{Routed, "host-local", "none", "none", "routed, where other routers know the pods' subnets; the plugin bridge can also translate (ipMasq)"}},
	"flannel-vxlan": {func() network.Driver { return &network.FlannelVXLAN{VNI: 1, Port: 8472} }, 0, "Flannel with VXLAN", "Flannel: pods on a bridge per host, flanneld's VXLAN devices between the hosts",
		Properties{Overlay, "flanneld's subnet per host, host-local", "none", "none", "none; the option masq adds flanneld's NAT at the host"}},
	"flannel-hostgw": {func() network.Driver { return &network.FlannelHostGW{} }, 0, "Flannel with host-gw", "Flannel: pods on a bridge per host, flanneld's routes between the hosts",
		Properties{Routed, "flanneld's subnet per host, host-local", "none", "none", "none; the option masq adds flanneld's NAT at the host"}},
	"flannel-udp": {func() network.Driver { return &network.FlannelUDP{Port: 8285} }, 0, "Flannel with UDP", "Flannel: pods on a bridge per host, flanneld sends their packets in UDP datagrams",
		Properties{Overlay, "flanneld's subnet per host, host-local", "none", "none", "none; the option masq adds flanneld's NAT at the host"}},
	"canal": {func() network.Driver { return &network.Canal{VNI: 1, Port: 8472, Rules: 100} }, 0, "Canal's data path", "Canal's data path: flanneld's VXLAN devices, a routed veth per pod, policy rules",
		Properties{Overlay, "flanneld's subnet per host, host-local", "nftables rules", "none", "none; Canal's flanneld translates at the host (NAT)"}},
	"vxlan-hops": {func() network.Driver { return &network.VXLANHops{Hops: 2, VNI: 1, Port: 4789} }, 0, "a chain of VXLAN tunnels", "pods on a line of hosts, each of which bridges the VXLAN tunnels to its neighbors",
		Properties{Overlay, "static", "network identifier", "none", "none"}},
	"eni-shared": {func() network.Driver { return &network.ENIShared{} }, 0, "a shared NIC", "pods behind veth and policy routing, on a second NIC of the host (shared ENI)",
		Properties{Underlay, "static, from the underlay's subnet", "none", "none", "an address of the underlay's subnet"}},
	"eni-dedicated": {func() network.Driver { return &network.ENIDedicated{} }, 0, "a dedicated NIC", "a NIC for every pod (dedicated ENI, SR-IOV, host-device)",
		Properties{Underlay, "static, from the underlay's subnet", "a NIC of its own", "none", "an address of the underlay's subnet"}},
	"terway": {func() network.Driver { return &network.Terway{} }, 0, "a mix of shared and dedicated NICs", "on every host, one pod with a shared NIC and one with its own (Terway's two modes)",
		Properties{Underlay, "static, from the underlay's subnet", "a NIC of its own for half the pods", "none", "an address of the underlay's subnet"}},
	"ipip": {func() network.Driver { return &network.IPIP{} }, 0, "an IPIP tunnel", "pods behind veth and routes, IPv4 in IPv4 between hosts (Calico's IPIP mode)",
		Properties{Overlay, "static, a /24 per host", "none", "none", "none; Calico translates at the host (natOutgoing)"}},
	"wireguard": {func() network.Driver { return &network.WireGuard{Port: 51820} }, 0, "a WireGuard tunnel", "pods behind veth and routes, the kernel's WireGuard between hosts",
		Properties{Overlay, "static, a /24 per host", "keys per host", "none", "none; products translate addresses at the host (NAT)"}},
	"geneve-overlay": {func() network.Driver { return &network.GeneveOverlay{VNI: 1, Port: 6081} }, 2, "a Geneve overlay", "pods on a bridge per host, Geneve between two hosts",
		Properties{Overlay, "static", "network identifier", "none", "none; OVN and Neutron route and translate at a gateway"}},
	"relay": {func() network.Driver { return &network.Relay{Hops: 1, Port: 6783} }, 0, "a relay in user space", "pods on a line of hosts, whose frames pass weir's own relay program and UDP (the mechanism of Weave's sleeve)",
		Properties{Overlay, "static", "none", "none", "none; weave expose adds NAT at the host"}},
	"relay-encrypted": {func() network.Driver { return &network.Relay{Hops: 1, Port: 6783, Encrypt: true} }, 0, "an encrypted relay in user space", "relay with frames encrypted by NaCl's box",
		Properties{Overlay, "static", "keys per host", "none", "none; weave expose adds NAT at the host"}},
	"ipvlan": {func() network.Driver { return &network.IPvlan{Mode: "l2"} }, 0, "an ipvlan device", "pods on ipvlan devices of the host's NIC, switched (mode l2)",
		Properties{Underlay, "static", "pods cannot reach their own host", "none", "an address on the hosts' Ethernet"}},
	"ipvlan-l3": {func() network.Driver { return &network.IPvlan{Mode: "l3"} }, 0, "a routed ipvlan device", "pods on ipvlan devices of the host's NIC, routed (mode l3)",
		Properties{Underlay, "static", "none", "none", "routed, where other routers know which host has a pod"}},
	"vm-vlan": {func() network.Driver { return &network.VMVLAN{Switch: auto, Tag: 42, VM: guest} }, 0, "a VLAN of virtual machines", "virtual machines on a VLAN of the underlay, with TAP devices on a bridge or Open vSwitch",
		Properties{Underlay, "static", "VLAN, and a kernel of its own", "none", "an address on the VLAN"}},
	"vm-host": {func() network.Driver { return &network.VMHost{VM: guest} }, 0, "a virtual machine", "a virtual machine per host, with TAP devices on one switch; programs on the machines themselves: the baseline of vm-overlay",
		Properties{Underlay, "static", "a kernel of its own per host", "none", "the guest's own address on the switch"}},
	"vm-overlay": {func() network.Driver { return &network.VMOverlay{VNI: 1, Port: 4789, VM: guest} }, 0, "a VXLAN overlay inside virtual machines", "vxlan-overlay inside virtual machines: one per host, containers in it, VXLAN between the machines",
		Properties{Overlay, "static", "network identifier, and a kernel of its own per host", "none", "none; products translate addresses at the guest (NAT)"}},
	"vm-vxlan": {func() network.Driver {
		return &network.VMVXLAN{Switch: network.SwitchBridge, VNI: 1, Port: 4789, VM: guest}
	}, 0, "a VXLAN overlay between virtual machines", "virtual machines with TAP devices on a bridge per host, VXLAN between the bridges; or on Open vSwitch, as in OpenStack",
		Properties{Overlay, "static", "network identifier, and a kernel of its own", "none", "none; OVN and Neutron route and translate at a gateway"}},
	"via": {func() network.Driver { return &network.Via{} }, 0, "another device of the machines", "programs on machines or nodes, over another device of theirs (WireGuard, a second NIC)",
		Properties{Found, "the device's", "none", "none", "the machine's own address"}},
	"pod": {func() network.Driver { return &network.PodNetwork{} }, 0, "the pod network", "the network of a cluster's pods, by their own addresses",
		Properties{Found, "the cluster's", "the cluster's policies", "the cluster's DNS", "as in the cluster"}},
	"service": {func() network.Driver { return &network.ClusterIP{} }, 0, "a Service's cluster address", "the network of a cluster's pods, through a Service's cluster address",
		Properties{Found, "the cluster's", "the cluster's policies", "the cluster's DNS", "as in the cluster"}},
	"nodeport": {func() network.Driver { return &network.NodePort{} }, 0, "a node port", "the network of a cluster's pods, through a port of the server's node",
		Properties{Found, "the cluster's", "the cluster's policies", "the cluster's DNS", "a port of the node"}},
}

func calico(mode string) *network.CalicoNode {
	return &network.CalicoNode{Mode: mode, Filter: network.CalicoIPTablesNFT, Dir: network.CalicoDir}
}

func kubeProxy(mode string) *network.KubeProxy {
	return &network.KubeProxy{Mode: mode, Services: 10}
}

func services(mode string) *network.ServiceRules {
	return &network.ServiceRules{Mode: mode, Services: 10}
}

// Defaults of networks with virtual switches.
const auto, veth = network.DatapathAuto, network.InterfaceVeth

// guest has the smallest virtual machine that runs the kernel and the probes' programs.
var guest = network.VM{CPUs: 1, Queues: 1, VHost: auto, Memory: 256 << 20}

// Probes maps names in studies to functions that return a fresh probe with its defaults.
var Probes = map[string]func() probe.Probe{
	"tcp-stream":     func() probe.Probe { return &probe.TCPStream{} },
	"udp-stream":     func() probe.Probe { return &probe.UDPStream{} },
	"udp-gso":        func() probe.Probe { return &probe.UDPStream{Send: "gso", Recv: "gro"} },
	"udp-rate":       func() probe.Probe { return &probe.UDPRate{} },
	"udp-capacity":   func() probe.Probe { return &probe.UDPCapacity{} },
	"tcp-rr":         func() probe.Probe { return &probe.TCPRR{} },
	"udp-rr":         func() probe.Probe { return &probe.UDPRR{} },
	"udp-open":       func() probe.Probe { return &probe.UDPOpen{} },
	"tcp-crr":        func() probe.Probe { return &probe.TCPCRR{} },
	"ping":           func() probe.Probe { return &probe.Ping{} },
	"udp-outage":     func() probe.Probe { return &probe.UDPOutage{} },
	"tcp-outage":     func() probe.Probe { return &probe.TCPOutage{} },
	"connect-outage": func() probe.Probe { return &probe.ConnectOutage{} },

	"http-rr":      func() probe.Probe { return &probe.HTTPRR{} },
	"http-connect": func() probe.Probe { return &probe.HTTPRR{Connect: true} },
	"tls-rr":       func() probe.Probe { return &probe.HTTPRR{TLS: true} },
	"tls-connect":  func() probe.Probe { return &probe.HTTPRR{TLS: true, Connect: true} },
	"tls-resume":   func() probe.Probe { return &probe.HTTPRR{TLS: true, Connect: true, Resume: true} },
	"h2-rr":        func() probe.Probe { return &probe.HTTPRR{H2: true} },
	"grpc-rr":      func() probe.Probe { return &probe.HTTPRR{GRPC: true} },
	"quic-rr":      func() probe.Probe { return &probe.QUICRR{} },
	"dns-rr":       func() probe.Probe { return &probe.DNSRR{} },
	"dns-tcp":      func() probe.Probe { return &probe.DNSRR{TCP: true} },
	"dns-lookup":   func() probe.Probe { return &probe.DNSRR{Lookup: true} },

	"iperf3-tcp":        func() probe.Probe { return &probe.Iperf3{} },
	"iperf3-udp":        func() probe.Probe { return &probe.Iperf3{UDP: true} },
	"iperf2-tcp":        func() probe.Probe { return &probe.Iperf2{} },
	"iperf2-udp":        func() probe.Probe { return &probe.Iperf2{UDP: true} },
	"iperf2-bounceback": func() probe.Probe { return &probe.Iperf2Bounceback{} },
	"nuttcp-tcp":        func() probe.Probe { return &probe.Nuttcp{} },
	"nuttcp-udp":        func() probe.Probe { return &probe.Nuttcp{UDP: true} },
	"sockperf-rr":       func() probe.Probe { return &probe.SockperfRR{} },
	"sockperf-load":     func() probe.Probe { return &probe.SockperfLoad{} },
	"qperf-tcp":         func() probe.Probe { return &probe.Qperf{} },
	"qperf-udp":         func() probe.Probe { return &probe.Qperf{UDP: true} },
	"qperf-tcp-rr":      func() probe.Probe { return &probe.QperfRR{} },
	"qperf-udp-rr":      func() probe.Probe { return &probe.QperfRR{UDP: true} },
	"netperf-tcp":       func() probe.Probe { return &probe.Netperf{} },
	"netperf-udp":       func() probe.Probe { return &probe.Netperf{UDP: true} },
	"netperf-tcp-rr":    func() probe.Probe { return &probe.NetperfRR{} },
	"netperf-udp-rr":    func() probe.Probe { return &probe.NetperfRR{UDP: true} },
	"netperf-crr":       func() probe.Probe { return &probe.NetperfRR{Connect: true} },
	"fping":             func() probe.Probe { return &probe.Fping{} },

	"mpi-latency":   func() probe.Probe { return &probe.MPI{} },
	"mpi-bandwidth": func() probe.Probe { return &probe.MPI{Bandwidth: true} },
	"osu-latency":   func() probe.Probe { return &probe.MPI{Tool: "osu"} },
	"osu-bandwidth": func() probe.Probe { return &probe.MPI{Tool: "osu", Bandwidth: true} },
	"netpipe-tcp":   func() probe.Probe { return &probe.NetPIPE{} },

	"sparkyfish": func() probe.Probe { return &probe.Sparkyfish{} },

	"redis-get":      func() probe.Probe { return &probe.Redis{} },
	"redis-set":      func() probe.Probe { return &probe.Redis{Set: true} },
	"nginx-http":     func() probe.Probe { return &probe.HTTP{} },
	"nginx-h2":       func() probe.Probe { return &probe.HTTP{H2: true} },
	"memcached":      func() probe.Probe { return &probe.Memcached{} },
	"nats":           func() probe.Probe { return &probe.NATS{} },
	"unbound-dns":    func() probe.Probe { return &probe.DNSPerf{} },
	"pgbench-select": func() probe.Probe { return &probe.PGBench{} },
	"pgbench-tpcb":   func() probe.Probe { return &probe.PGBench{Write: true} },
}

func FindNetwork(name string) (Network, error) { return find(Networks, "network", name) }

// FindProbe returns a fresh probe, or an error that suggests a name.
func FindProbe(name string) (probe.Probe, error) {
	fresh, err := find(Probes, "probe", name)
	if err != nil {
		return nil, err
	}
	return fresh(), nil
}

func find[T any](in map[string]T, what, name string) (T, error) {
	e, ok := in[name]
	if !ok {
		meant := ""
		if c := strictyaml.Closest(name, Names(in)); c != "" {
			meant = fmt.Sprintf("did you mean %q? ", c)
		}
		return e, fmt.Errorf("unknown %s %q; %sweir list %ss lists all", what, name, meant, what)
	}
	return e, nil
}

func Names[T any](in map[string]T) []string { return slices.Sorted(maps.Keys(in)) }

// Spec fits a topology to what driver d can connect: no more hosts than its limit, and at least two
// ends.
func (n Network) Spec(d network.Driver, s topo.Spec) topo.Spec {
	s = network.Shape(d, s)
	if n.Hosts > 0 && (s.Hosts == 0 || s.Hosts > n.Hosts) {
		s.Hosts = n.Hosts
	}
	if s.Hosts == 1 {
		s.Pods = max(s.Pods, 2)
	}
	return s
}

// Plan returns the steps of the network between as few hosts as it has.
func (n Network) Plan() (p plan.Plan, err error) {
	d := n.New()
	t, err := topo.New(n.Spec(d, topo.Spec{}))
	if err != nil {
		return p, err
	}
	return d.Plan(t)
}

// ProbeTools lists all programs that probes need besides weir, sorted by name.
func ProbeTools() []facts.ToolInfo {
	found := map[string]facts.ToolInfo{}
	for _, fresh := range Probes {
		for _, t := range fresh().Info().Tools {
			found[t.Program] = t
		}
	}
	return byProgram(found)
}

func byProgram(tools map[string]facts.ToolInfo) []facts.ToolInfo {
	return slices.SortedFunc(maps.Values(tools), func(a, b facts.ToolInfo) int { return strings.Compare(a.Program, b.Program) })
}

// Tools lists all programs that probes and networks need besides weir, sorted by name.
func Tools() []facts.ToolInfo {
	found := map[string]facts.ToolInfo{}
	for _, n := range Networks {
		p, _ := n.Plan() // a test builds each of them
		for _, name := range p.Programs() {
			found[name] = facts.Lookup(name)
		}
	}
	for _, t := range ProbeTools() {
		found[t.Program] = t
	}
	return byProgram(found)
}
