package network_test

import (
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/topo"
)

// Networks that cannot be built give an error with the value, its bounds, and a remedy.
func TestErrors(t *testing.T) {
	two, inside := topology(t, topo.Spec{}), topology(t, topo.Spec{Shape: topo.Guests})
	steered := topology(t, topo.Spec{Hosts: 1, Pods: 2})
	steered.RPS = topo.RPSAll
	many, one, nic := two, topology(t, topo.Spec{Hosts: 1, Pods: 2}), two
	many.Segments = [][]topo.Port{make([]topo.Port, 1024)}
	kernel := topology(t, topo.Spec{Kernel: topo.Kernel{OVS: true}})
	kernel.NoOffload = true
	one.NoOffload = true
	nic.NIC = "half"
	joined, split := topology(t, topo.Spec{Hosts: 1, Pods: 2}), two
	joined.GRO, split.GRO = topo.GROOn, topo.GROOff
	for _, c := range []struct {
		d    network.Driver
		t    topo.Topology
		want string
	}{
		{network.VXLAN{VNI: 0, Port: 4789}, two, "vxlan: invalid vni 0: want 1 to 16777215"},
		{network.VXLAN{VNI: 1 << 24, Port: 4789}, two, "vxlan: invalid vni 16777216: want 1 to 16777215"},
		{network.VXLANOverlay{VNI: 1, Port: 0}, two, "vxlan-overlay: invalid port 0: want 1 to 65535"},
		{network.VXLANOverlay{VNI: 1, Port: 65536}, two, "vxlan-overlay: invalid port 65536: want 1 to 65535"},
		{network.Host{}, topo.Topology{}, "underlay: topology has no hosts"},
		{network.Host{}, many, "underlay: 1024 devices are more than the 1023 ports of a switch"},
		{network.Host{}, nic, `underlay: invalid nic "half": want "", "none" or "tso"`},
		{network.VXLANHops{Hops: 0, VNI: 1, Port: 1}, two, "vxlan-hops: invalid hops 0: want 1 to 5"},
		{network.VXLANHops{Hops: 6, VNI: 1, Port: 1}, two, "vxlan-hops: invalid hops 6: want 1 to 5"},
		{network.VXLANHops{Hops: 1, VNI: 1, Port: 1}, two, `vxlan-hops: needs a line of 2 hosts, topology has 2 hosts and shape ""`},
		{network.VXLANHops{Hops: 2, VNI: 1<<24 - 1, Port: 1}, topology(t, topo.Spec{Hosts: 3, Shape: topo.Line}), "vxlan-hops: invalid vni 16777216: want 1 to 16777215"},
		{network.ENIShared{}, two, `eni-shared: needs NICs for pods (shape "host-nics"), topology has shape ""`},
		{network.ENIDedicated{}, two, `eni-dedicated: needs NICs for pods (shape "pod-nics"), topology has shape ""`},
		{network.Relay{Hops: 7, Port: 1}, two, "relay: invalid hops 7: want 1 to 5"},
		{network.Relay{Hops: 1, Port: 0}, topology(t, topo.Spec{Shape: topo.Line}), "relay: invalid port 0: want 1 to 65535"},
		{network.Relay{Hops: 1, Port: 1, Wait: 2 * time.Second}, topology(t, topo.Spec{Shape: topo.Line}), "relay: invalid wait 2s: want 0 to 1s"},
		{network.Relay{Hops: 1, Port: 1, Delay: network.Delays{2 * time.Second}}, topology(t, topo.Spec{Shape: topo.Line}), "relay: invalid delay 2s: want whole microseconds from 0 to 1s"},
		{network.Relay{Hops: 1, Port: 1, Delay: network.Delays{time.Nanosecond}}, topology(t, topo.Spec{Shape: topo.Line}), "relay: invalid delay 1ns: want whole microseconds from 0 to 1s"},
		{network.VXLANHops{Hops: 1, VNI: 1, Port: 1, Delay: network.Delays{0, 0}}, topology(t, topo.Spec{Shape: topo.Line}), "vxlan-hops: 2 delays, but hops is 1; give one for all segments, or one for each"},
		{network.IPvlan{Mode: "l4"}, two, `ipvlan: invalid mode "l4": want l2 or l3`},
		{network.IPvlan{Mode: "l2"}, one, "ipvlan: cannot switch off segmentation between pods of one host; use 2 hosts, or leave the offloads on"},
		{network.GeneveOverlay{VNI: 1, Port: 6081}, one, "geneve-overlay: needs exactly 2 hosts, topology has 1"},
		{network.WireGuard{Port: 0}, two, "wireguard: invalid port 0: want 1 to 65535"},
		{network.IPIP{}, topology(t, topo.Spec{IPv6: true}), "ipip: supports only IPv4, for pods and hosts; use vxlan-overlay or wireguard"},
		{network.Proxy{Program: "squid", At: network.ProxyBoth, Threads: 2}, two, `proxy-l4: invalid proxy "squid": want haproxy or envoy`},
		{network.Proxy{Program: "nginx", At: network.ProxyBoth, Threads: 2}, two, "proxy-l4: nginx cannot be the proxy: it does not find out where a redirected connection was going (docs/sidecars.md); use haproxy or envoy"},
		{network.Proxy{Program: network.Envoy, MTLS: true, At: network.ProxyServer, Threads: 2}, two, "proxy-l4: mtls needs a proxy at both ends, not at: server; leave one of them out"},
		{network.OVS{Datapath: "dpdk", Interface: "veth"}, one, `ovs: invalid datapath "dpdk": want auto, system or netdev`},
		{network.OVS{Datapath: "auto", Interface: "tap"}, one, `ovs: invalid interface "tap": want veth or internal`},
		{network.OVS{Datapath: "auto", Interface: "veth"}, two, "ovs: needs exactly 1 host, topology has 2"},
		{network.OVS{Datapath: "system", Interface: "internal"}, one, "ovs: cannot switch off segmentation by internal ports of the kernel datapath; use interface veth, or datapath netdev"},
		{network.OVSVXLAN{Datapath: "auto", Interface: "veth", VNI: 1, Port: 4789}, kernel, "ovs-vxlan: cannot switch off segmentation by the tunnels of the kernel datapath; use datapath netdev"},
		{network.OVSGeneve{Datapath: "auto", Interface: "veth", VNI: 1}, two, "ovs-geneve: invalid port 0: want 1 to 65535"},
		{network.OVSVLAN{Datapath: "auto", Interface: "veth", Tag: 4095}, two, "ovs-vlan: invalid tag 4095: want 1 to 4094"},
		{network.DockerBridge{Bridge: "docker1"}, one, `docker-bridge: invalid bridge "docker1": want user or docker0`},
		{network.DockerBridge{Bridge: "user"}, two, "docker-bridge: needs exactly 1 host, topology has 2"},
		{network.DockerOverlay{Control: "consul"}, two, `docker-overlay: invalid control "consul": want swarm or etcd`},
		{network.DockerOverlay{Control: "swarm"}, one, "docker-overlay: needs 2 hosts or more, topology has 1"},
		{network.DockerOverlay{Control: "swarm"}, kernel, "docker-overlay: cannot switch off segmentation: Docker's vxlan devices, which join segments, are in its own namespaces; use vxlan-overlay"},
		{network.CalicoNode{}, two, `calico: invalid mode "": want bgp, ipip or vxlan`},
		{network.CalicoNode{Mode: "bgp", Filter: "ebpf"}, two, `calico: invalid filter "ebpf": want iptables-nft, iptables-legacy or nftables`},
		{network.CalicoNode{Mode: "bgp", Filter: "nftables", Dir: "calico"}, two, `calico: invalid dir "calico": want an absolute path`},
		{network.CalicoNode{Mode: "bgp", Filter: "nftables", Dir: "/x", Rules: 10001}, two, "calico: invalid rules 10001: want 0 to 10000"},
		{network.Weave{Mode: "pcap"}, two, `weave: invalid mode "pcap": want fastdp, sleeve or encrypted`},
		{network.Weave{Mode: "sleeve", Hops: 6}, two, "weave: invalid hops 6: want 1 to 5"},
		{network.Weave{Mode: "sleeve", Hops: 1}, two, `weave: needs a line of 2 hosts, topology has 2 hosts and shape ""`},
		{network.Weave{Mode: "sleeve", Delay: network.Delays{0}}, two, "weave: delay is of the segments of a line; give hops, 1 to 5"},
		{network.Weave{Mode: "sleeve"}, kernel, "weave: cannot switch off segmentation by the devices of the router; use nic none"},
		{network.CNI{Plugin: "bridge", Conflist: "{}"}, two, "cni: both plugin and conflist are given; use one of them"},
		{network.CNI{Conflist: "{}"}, two, "cni: the conflist has no plugins, or one that is null"},
		{network.CNI{Conflist: `{"plugins":[null]}`}, two, "cni: the conflist has no plugins, or one that is null"},
		{network.CNI{Conflist: "[]"}, two, "cni: conflist: json: cannot unmarshal array into Go value of type network.conflist"},
		{network.CNI{Conflist: `{"plugins": [{"type": "ptp", "mtu": 1501}]}`}, two, "cni: the conflist's MTU 1501 is above the underlay's 1500; lower it, or raise the underlay's"},
		{network.CNI{Conflist: `{"plugins": [{"type": "ptp", "mtu": -1}]}`}, two, "cni: invalid MTU -1 in the conflist: want whole bytes from 576 to the underlay's 1500; 0 is the underlay's"},
		{network.CNI{Conflist: `{"plugins": [{"type": "ptp", "mtu": 1400.5}]}`}, two, "cni: invalid MTU 1400.5 in the conflist: want whole bytes from 576 to the underlay's 1500; 0 is the underlay's"},
		{network.CNI{Dir: "bin"}, two, `cni: invalid dir "bin": want an absolute path`},
		{network.CNI{Plugin: "vlan"}, two, `cni: invalid plugin "vlan": want bridge, ptp, macvlan or ipvlan; any other needs a conflist`},
		{network.CNI{Plugin: "ipvlan"}, one, "cni: cannot switch off segmentation between pods of one host on ipvlan; use 2 hosts, or leave the offloads on"},
		{network.FlannelVXLAN{VNI: 1}, two, "flannel-vxlan: invalid port 0: want 1 to 65535"},
		{network.FlannelVXLAN{VNI: 1<<24 - 1, Port: 8472}, two, "flannel-vxlan: device name flannel.16777215 is longer than 15 bytes; use a smaller vni"},
		{network.FlannelUDP{Port: -1}, two, "flannel-udp: invalid port -1: want 1 to 65535"},
		{network.Canal{VNI: 1, Port: 8472, Rules: 10001}, two, "canal: invalid rules 10001: want 0 to 10000"},
		{network.Routed{Rules: -1}, two, "routed: invalid rules -1: want 0 to 10000"},
		{network.VMVLAN{Switch: "hub", Tag: 42, VM: network.VM{CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}}, two, `vm-vlan: invalid switch "hub": want auto, bridge or ovs`},
		{network.VMVLAN{Switch: "auto", Tag: 0, VM: network.VM{CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}}, two, "vm-vlan: invalid tag 0: want 1 to 4094"},
		{network.VMVXLAN{VNI: 1, Port: 0, VM: network.VM{CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}}, two, "vm-vxlan: invalid port 0: want 1 to 65535"},
		{network.VMVXLAN{VNI: 1, Port: 1, VM: network.VM{CPUs: 0, Queues: 1, VHost: "auto", Memory: 1 << 30}}, two, "vm-vxlan: invalid cpus 0: want 1 to 255"},
		{network.VMVXLAN{VNI: 1, Port: 1, VM: network.VM{CPUs: 2, Queues: 3, VHost: "auto", Memory: 1 << 30}}, two, "vm-vxlan: invalid queues 3: want 1 to 2"},
		{network.VMVXLAN{VNI: 1, Port: 1, VM: network.VM{CPUs: 1, Queues: 1, VHost: "yes", Memory: 1 << 30}}, two, `vm-vxlan: invalid vhost "yes": want auto, on or off`},
		{network.VMHost{VM: network.VM{CPUs: 1, Queues: 2, VHost: "auto", Memory: 1 << 30}}, inside, "vm-host: invalid queues 2: want 1 to 1"},
		{network.VMOverlay{VNI: 0, Port: 1, VM: network.VM{CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}}, inside, "vm-overlay: vxlan-overlay: invalid vni 0: want 1 to 16777215"},
		{network.VMVXLAN{VNI: 1, Port: 1, VM: network.VM{CPUs: 1, Queues: 1, VHost: "auto", Memory: 256}}, two, "vm-vxlan: invalid memory 256: want 268435456 bytes (256 MiB) or more, for the kernel and the programs"},
		{network.DockerBridge{Bridge: "user"}, steered, "rps: a container engine makes the pods' network namespaces, in which weir cannot set the mask before their devices exist; leave out this network"},
		{network.Netkit{Mode: "l4"}, two, `netkit: invalid mode "l4": want l2 or l3`},
		{network.ServiceRules{Mode: "ebpf", Services: 1}, two, `service: invalid mode "ebpf": want iptables-nft, iptables-legacy, nftables or ipvs`},
		{network.ServiceRules{Mode: "iptables-nft"}, two, "service-iptables: invalid services 0: want 1 to 10000"},
		{network.ServiceRules{Mode: "ipvs", Services: 1 << 30}, two, "service-ipvs: invalid services 1073741824: want 1 to 10000"},
		{network.ServiceRules{Mode: "nftables", Services: 1}, topology(t, topo.Spec{PodsIPv6: true}), "service-nftables: supports only IPv4, for pods and hosts; use routed"},
		{network.KubeProxy{Mode: "ebpf", Services: 1}, two, `kube-proxy: invalid mode "ebpf": want iptables, nftables or ipvs`},
		{network.KubeProxy{Mode: "nftables", Services: 10001}, two, "kube-proxy-nftables: invalid services 10001: want 1 to 10000"},
		{network.TwoPaths{Routes: "ospf", Hold: 9}, two, `two-paths: invalid routes "ospf": want static or bgp`},
		{network.TwoPaths{Routes: "bgp", Hold: 1}, two, "two-paths: invalid hold 1: want 3 to 240"},
		{network.TwoPaths{Routes: "static", Hold: 9, BFD: true}, two, "two-paths: bfd watches the neighbors of BGP; use routes: bgp, or leave it out"},
		{network.TwoPaths{Routes: "bgp", Hold: 9}, topology(t, topo.Spec{Far: true}), "two-paths: its second link has no distance; leave out delay, jitter and loss"},
		{network.Netkit{Mode: "l3", Program: true}, topology(t, topo.Spec{IPv6: true, PodsIPv6: true}), "netkit: forwards only IPv4; use IPv4 for pods and hosts, or routed"},
		{network.XDPRedirect{}, topology(t, topo.Spec{IPv6: true}), "xdp-redirect: forwards only IPv4; use IPv4 for pods and hosts, or routed"},
		{network.XDPRedirect{}, topology(t, topo.Spec{Rate: 1e9}), "xdp-redirect: cannot limit a link's rate: redirected frames bypass queueing disciplines; leave out link, or use routed"},
		{network.XDPRedirect{}, split, "xdp-redirect: cannot switch off GRO: a veth receives redirected frames only with it; leave out gro"},
		{network.DockerBridge{Bridge: "user"}, joined, "gro: a program makes eth0 of h1p1, so weir does not know whether it can join packets; leave out this network"},
		{network.Macvlan{}, one, "macvlan: cannot switch off segmentation between pods of one host; use 2 hosts, or leave the offloads on"},
	} {
		if _, err := network.Build(c.d, c.t); err == nil || err.Error() != c.want {
			t.Errorf("%+v: error %v, want %q", c.d, err, c.want)
		}
	}
	for name, d := range drivers {
		if _, err := d.Plan(topo.Topology{}); err == nil {
			t.Errorf("%s: no error without hosts", name)
		}
	}
}
