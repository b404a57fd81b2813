package network_test

import (
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/topo"
)

// What cannot be built is refused, with the value, its bounds, and what to do.
func TestErrors(t *testing.T) {
	two := topology(t, topo.Spec{})
	many, one, nic := two, topology(t, topo.Spec{Hosts: 1, Pods: 2}), two
	many.Segments = [][]topo.Port{make([]topo.Port, 1024)}
	kernel := topology(t, topo.Spec{Kernel: topo.Kernel{OVS: true}})
	kernel.NoOffload = true
	one.NoOffload = true
	nic.NIC = "half"
	for _, c := range []struct {
		d    network.Driver
		t    topo.Topology
		want string
	}{
		{network.VXLAN{VNI: 0, Port: 4789}, two, "vxlan: vni 0 is outside 1..16777215"},
		{network.VXLAN{VNI: 1 << 24, Port: 4789}, two, "vxlan: vni 16777216 is outside 1..16777215"},
		{network.VXLANOverlay{VNI: 1, Port: 0}, two, "vxlan-overlay: port 0 is outside 1..65535"},
		{network.VXLANOverlay{VNI: 1, Port: 65536}, two, "vxlan-overlay: port 65536 is outside 1..65535"},
		{network.Host{}, topo.Topology{}, "underlay: topology has no hosts"},
		{network.Host{}, many, "underlay: 1024 devices are more than the 1023 ports of a switch"},
		{network.Host{}, nic, `underlay: nic "half" is unknown (known: "", "none", "tso")`},
		{network.VXLANHops{Hops: 0, VNI: 1, Port: 1}, two, "vxlan-hops: hops 0 is outside 1..5"},
		{network.VXLANHops{Hops: 6, VNI: 1, Port: 1}, two, "vxlan-hops: hops 6 is outside 1..5"},
		{network.VXLANHops{Hops: 1, VNI: 1, Port: 1}, two, `vxlan-hops: needs a line of 2 hosts, topology has 2 hosts and shape ""`},
		{network.VXLANHops{Hops: 2, VNI: 1<<24 - 1, Port: 1}, topology(t, topo.Spec{Hosts: 3, Shape: topo.Line}), "vxlan-hops: vni 16777216 is outside 1..16777215"},
		{network.ENIShared{}, two, `eni-shared: needs NICs for pods (shape "host-nics"), topology has shape ""`},
		{network.ENIDedicated{}, two, `eni-dedicated: needs NICs for pods (shape "pod-nics"), topology has shape ""`},
		{network.Relay{Hops: 7, Port: 1}, two, "relay: hops 7 is outside 1..5"},
		{network.Relay{Hops: 1, Port: 0}, topology(t, topo.Spec{Shape: topo.Line}), "relay: port 0 is outside 1..65535"},
		{network.Relay{Hops: 1, Port: 1, Wait: 2 * time.Second}, topology(t, topo.Spec{Shape: topo.Line}), "relay: wait 2s is outside 0..1s"},
		{network.Relay{Hops: 1, Port: 1, Delay: network.Delays{2 * time.Second}}, topology(t, topo.Spec{Shape: topo.Line}), "relay: delay 2s is not in whole microseconds from 0 to 1s"},
		{network.Relay{Hops: 1, Port: 1, Delay: network.Delays{time.Nanosecond}}, topology(t, topo.Spec{Shape: topo.Line}), "relay: delay 1ns is not in whole microseconds from 0 to 1s"},
		{network.VXLANHops{Hops: 1, VNI: 1, Port: 1, Delay: network.Delays{0, 0}}, topology(t, topo.Spec{Shape: topo.Line}), "vxlan-hops: 2 delays, but hops is 1; give one for all segments, or one for each"},
		{network.IPvlan{Mode: "l4"}, two, `ipvlan: mode "l4" is neither l2 nor l3`},
		{network.IPvlan{Mode: "l2"}, one, "ipvlan: segmentation between pods of one host cannot be switched off; use 2 hosts, or leave the offloads on"},
		{network.GeneveOverlay{VNI: 1, Port: 6081}, one, "geneve-overlay: needs exactly 2 hosts, topology has 1"},
		{network.WireGuard{Port: 0}, two, "wireguard: port 0 is outside 1..65535"},
		{network.IPIP{}, topology(t, topo.Spec{IPv6: true}), "ipip: takes IPv4 alone, in pods and between hosts; use vxlan-overlay or wireguard"},
		{network.OVS{Datapath: "dpdk", Interface: "veth"}, one, `ovs: datapath "dpdk" is none of auto, system and netdev`},
		{network.OVS{Datapath: "auto", Interface: "tap"}, one, `ovs: interface "tap" is neither veth nor internal`},
		{network.OVS{Datapath: "auto", Interface: "veth"}, two, "ovs: needs exactly 1 host, topology has 2"},
		{network.OVS{Datapath: "system", Interface: "internal"}, one, "ovs: segmentation by internal ports of the kernel datapath is not switched off here; use interface veth, or datapath netdev"},
		{network.OVSVXLAN{Datapath: "auto", Interface: "veth", VNI: 1, Port: 4789}, kernel, "ovs-vxlan: segmentation by the tunnels of the kernel datapath is not switched off here; use datapath netdev"},
		{network.OVSGeneve{Datapath: "auto", Interface: "veth", VNI: 1}, two, "ovs-geneve: port 0 is outside 1..65535"},
		{network.OVSVLAN{Datapath: "auto", Interface: "veth", Tag: 4095}, two, "ovs-vlan: tag 4095 is outside 1..4094"},
		{network.DockerBridge{Bridge: "docker1"}, one, `docker-bridge: bridge "docker1" is neither user nor docker0`},
		{network.DockerBridge{Bridge: "user"}, two, "docker-bridge: needs exactly 1 host, topology has 2"},
		{network.DockerOverlay{Control: "consul"}, two, `docker-overlay: control "consul" is neither swarm nor etcd`},
		{network.DockerOverlay{Control: "swarm"}, one, "docker-overlay: needs 2 hosts or more, topology has 1"},
		{network.DockerOverlay{Control: "swarm"}, kernel, "docker-overlay: segmentation is not switched off here: Docker's vxlan devices, which join segments, are in namespaces of its own; use vxlan-overlay"},
		{network.CalicoNode{}, two, `calico: mode "" is none of bgp, ipip and vxlan`},
		{network.CalicoNode{Mode: "bgp", Filter: "ebpf"}, two, `calico: filter "ebpf" is none of iptables-nft, iptables-legacy and nftables`},
		{network.CalicoNode{Mode: "bgp", Filter: "nftables", AS: 1 << 32}, two, "calico: as 4294967296 is outside 1..4294967295"},
		{network.CalicoNode{Mode: "bgp", Filter: "nftables", AS: 1, Dir: "calico"}, two, `calico: dir "calico" is not an absolute path`},
		{network.CalicoNode{Mode: "bgp", Filter: "nftables", AS: 1, Dir: "/x", Rules: 10001}, two, "calico: 10001 rules is outside 0..10000"},
		{network.CalicoBGP{}, two, "calico-bgp-datapath: as 0 is outside 1..4294967295"},
		{network.Weave{Mode: "pcap"}, two, `weave: mode "pcap" is none of fastdp, sleeve and encrypted`},
		{network.Weave{Mode: "sleeve"}, kernel, "weave: segmentation by the devices of the router is not switched off here; use nic none"},
		{network.CNI{Plugin: "bridge", Conflist: "{}"}, two, "cni: plugin and conflist are given, use one of them"},
		{network.CNI{Conflist: "{}"}, two, "cni: the conflist has no plugins"},
		{network.CNI{Conflist: "[]"}, two, "cni: conflist: json: cannot unmarshal array into Go value of type network.conflist"},
		{network.CNI{Conflist: `{"plugins": [{"type": "ptp", "mtu": 1501}]}`}, two, "cni: the conflist's MTU 1501 is above the underlay's 1500"},
		{network.CNI{Dir: "bin"}, two, `cni: dir "bin" is not an absolute path`},
		{network.CNI{Plugin: "vlan"}, two, `cni: plugin "vlan" is none of bridge, ptp, macvlan and ipvlan; another one needs a conflist`},
		{network.CNI{Plugin: "ipvlan"}, one, "cni: segmentation between pods of one host on ipvlan cannot be switched off; use 2 hosts, or leave the offloads on"},
		{network.FlannelVXLAN{VNI: 1}, two, "flannel-vxlan: port 0 is outside 1..65535"},
		{network.FlannelVXLAN{VNI: 1<<24 - 1, Port: 8472}, two, "flannel-vxlan: the device flannel.16777215 has more than 15 letters: use a smaller vni"},
		{network.FlannelUDP{Port: -1}, two, "flannel-udp: port -1 is outside 1..65535"},
		{network.Canal{VNI: 1, Port: 8472, Rules: 10001}, two, "canal: 10001 rules is outside 0..10000"},
		{network.Routed{Rules: -1}, two, "routed: -1 rules is outside 0..10000"},
		{network.VMVLAN{Switch: "hub", Tag: 42, CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}, two, `vm-vlan: switch "hub" is none of auto, bridge and ovs`},
		{network.VMVLAN{Switch: "auto", Tag: 0, CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}, two, "vm-vlan: tag 0 is outside 1..4094"},
		{network.VMVXLAN{VNI: 1, Port: 0, CPUs: 1, Queues: 1, VHost: "auto", Memory: 1 << 30}, two, "vm-vxlan: port 0 is outside 1..65535"},
		{network.VMVXLAN{VNI: 1, Port: 1, CPUs: 0, Queues: 1, VHost: "auto", Memory: 1 << 30}, two, "vm-vxlan: cpus 0 is outside 1..255"},
		{network.VMVXLAN{VNI: 1, Port: 1, CPUs: 2, Queues: 3, VHost: "auto", Memory: 1 << 30}, two, "vm-vxlan: queues 3 is outside 1..2, the number of cpus"},
		{network.VMVXLAN{VNI: 1, Port: 1, CPUs: 1, Queues: 1, VHost: "yes", Memory: 1 << 30}, two, `vm-vxlan: vhost "yes" is none of auto, on and off`},
		{network.VMVXLAN{VNI: 1, Port: 1, CPUs: 1, Queues: 1, VHost: "auto", Memory: 256}, two, "vm-vxlan: memory 256 is below 268435456 bytes (256 MiB), which kernel and programs need"},
		{network.Macvlan{}, one, "macvlan: segmentation between pods of one host cannot be switched off; use 2 hosts, or leave the offloads on"},
	} {
		if _, err := network.Build(c.d, c.t); err == nil || err.Error() != c.want {
			t.Errorf("%+v: error %v, want %q", c.d, err, c.want)
		}
	}
	for name, d := range drivers {
		if _, err := d.Plan(topo.Topology{}); err == nil {
			t.Errorf("%s: no hosts, no error", name)
		}
	}
}
