package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// FlannelVXLAN connects the pods of all hosts with the real flanneld and its
// backend vxlan. The bridge plugin of CNI puts the pods of a host on a bridge,
// cni0. flanneld learns from etcd, on the first host, which subnet each host has,
// makes the VXLAN device flannel.1, and sets a route to the pods of every other
// host over it. The kernel forwards; flanneld sees no packet.
type FlannelVXLAN struct {
	VNI  int  `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1; flanneld's own is 1
	Port int  `yaml:"port"` // UDP destination port, 1 to 65535; flanneld's own is 8472
	Masq bool `yaml:"masq"` // flanneld's -ip-masq, with which the kernel tracks connections
}

// Plan starts flanneld everywhere and attaches the pods.
func (n FlannelVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	f, err := vxlanBackend("flannel-vxlan", n.VNI, n.Port, n.Masq)
	if err != nil {
		return plan.Plan{}, err
	}
	return f.plan(t, bridgePlugin, 0)
}

// FlannelHostGW is FlannelVXLAN with the backend host-gw: the routes lead to the
// other hosts themselves, and nothing is encapsulated. Hosts must be on one
// segment.
type FlannelHostGW struct {
	Masq bool `yaml:"masq"` // flanneld's -ip-masq, with which the kernel tracks connections
}

// Plan starts flanneld everywhere and attaches the pods.
func (n FlannelHostGW) Plan(t topo.Topology) (plan.Plan, error) {
	f := flannel{name: "flannel-hostgw", backend: map[string]any{"Type": "host-gw"}, masq: n.Masq}
	return f.plan(t, bridgePlugin, 0)
}

// FlannelUDP is FlannelVXLAN with the backend udp: flanneld itself reads packets
// from a TUN device, flannel0, and sends them in datagrams. So each packet is
// copied to a program and back, at both ends.
type FlannelUDP struct {
	Port int  `yaml:"port"` // UDP port of flanneld, 1 to 65535; its own is 8285
	Masq bool `yaml:"masq"` // flanneld's -ip-masq, with which the kernel tracks connections
}

// Plan starts flanneld everywhere and attaches the pods.
func (n FlannelUDP) Plan(t topo.Topology) (plan.Plan, error) {
	if n.Port < 1 || n.Port > 65535 {
		return plan.Plan{}, fmt.Errorf("flannel-udp: port %d is outside 1..65535", n.Port)
	}
	const ip4, udp = 20, 8 // all that it adds (pkg/backend/udp/udp_network_amd64.go, encapOverhead)
	f := flannel{name: "flannel-udp", backend: map[string]any{"Type": "udp", "Port": n.Port}, masq: n.Masq,
		dev: "flannel0", kind: "tun", overhead: ip4 + udp}
	return f.plan(t, bridgePlugin, 0)
}

// Canal is Flannel's data path between hosts with Calico's inside them: flanneld
// with the backend vxlan, a routed veth for each pod and no bridge, and the rules of
// a policy. The rules are nftables' own and not Calico's, whose daemon is not there.
type Canal struct {
	VNI   int `yaml:"vni"`   // virtual network identifier, 1 to 1<<24-1
	Port  int `yaml:"port"`  // UDP destination port, 1 to 65535
	Rules int `yaml:"rules"` // that a forwarded packet is compared with on each host, 0 to 10000
}

// Plan starts flanneld everywhere, attaches the pods and makes the rules.
func (n Canal) Plan(t topo.Topology) (plan.Plan, error) {
	f, err := vxlanBackend("canal", n.VNI, n.Port, false)
	if err != nil {
		return plan.Plan{}, err
	}
	return f.plan(t, ptpPlugin, n.Rules)
}

// A flannel is what these networks have in common.
type flannel struct {
	name     string
	backend  map[string]any // of the network's configuration
	masq     bool
	dev      string // that the backend makes, "" for none
	kind     string // of dev
	overhead int
}

func vxlanBackend(name string, vni, port int, masq bool) (flannel, error) {
	if err := checkVXLAN(name, vni, port); err != nil {
		return flannel{}, err
	}
	const overhead = 50 // over IPv4, as vxlanOverhead has it
	return flannel{name: name, backend: map[string]any{"Type": "vxlan", "VNI": vni, "Port": port}, masq: masq,
		dev: "flannel." + strconv.Itoa(vni), kind: "vxlan", overhead: overhead}, nil
}

// plan starts etcd on the first host and flanneld on all, and attaches the pods.
func (f flannel) plan(t topo.Topology, plugins func(mtu int) []plugin, rules int) (plan.Plan, error) {
	if err := checkHosts(f.name, t, 1); err != nil {
		return plan.Plan{}, err
	}
	if underlay6(t) || is6(t.PodAll.Addr()) {
		// With etcd it always gives out a subnet of IPv4 (flannel 0.28.4,
		// pkg/subnet/etcd/local_manager.go, allocateSubnet).
		return plan.Plan{}, errors.New(f.name + ": hosts and pods are IPv4 only: without Kubernetes flanneld knows no other")
	}
	if len(f.dev) > maxDevName {
		return plan.Plan{}, fmt.Errorf("%s: the device %s has more than %d letters: use a smaller vni", f.name, f.dev, maxDevName)
	}
	mtu, err := podMTU(f.name, t, f.overhead)
	if err != nil {
		return plan.Plan{}, err
	}
	store, err := f.store(t)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Ends: podEnds(t, podDev), Path: path(t, mtu, f.overhead), Steps: store}
	var tunnels []plan.Expect
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, router(h, false, true)...)
		p.Steps = append(p.Steps, f.flanneld(t, h)...)
		list := conflist{Version: cniVersion, Name: f.name, Plugins: plugins(mtu)}
		pods, err := list.attach(t, h, "")
		if err != nil {
			return plan.Plan{}, fmt.Errorf("%s: %w", f.name, err)
		}
		p.Steps = append(p.Steps, pods...)
		if features := noOffload(f.kind); t.NoOffload && len(features) > 0 {
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Offload: &plan.Offload{Dev: f.dev, Features: features}})
		}
		pol, err := policy(f.name, h, rules)
		if err != nil {
			return plan.Plan{}, err
		}
		p.Steps = append(p.Steps, pol...)
		if f.dev != "" {
			tunnels = append(tunnels, plan.Expect{State: plan.State{In: h.Name, Dev: f.dev, MTU: mtu}, Proof: plan.Proof{MustCarry: true, Across: true, Near: plan.Pod}})
		}
	}
	p.Expect = expect(t, p, tunnels...)
	return p, nil
}

// maxDevName is how long the name of a device may be (include/uapi/linux/if.h, IFNAMSIZ).
const maxDevName = 15

// flannelPrefix is where flanneld looks in etcd.
const flannelPrefix = "/coreos.com/network"

// store starts etcd, and puts the network's configuration there.
func (f flannel) store(t topo.Topology) ([]plan.Step, error) {
	config, err := json.Marshal(map[string]any{"Network": t.PodAll, "SubnetLen": t.Hosts[0].PodNet.Bits(), "Backend": f.backend})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	put := etcdPut(t, flannelPrefix+"/config", string(config))
	return append(etcd(t), plan.Step{In: t.Hosts[0].Name, Exec: &plan.Exec{Argv: put}}), nil
}

// flanneld starts it on h. It takes the subnet that the file of its last life names,
// if that is free (Documentation/reservations.md): so each host has the subnet of
// the topology.
//
// Note: it calls iptables to let forwarded packets pass, as it does everywhere.
func (f flannel) flanneld(t topo.Topology, h topo.Host) []plan.Step {
	const file = "flannel/subnet.env"
	argv := []string{"flanneld", "-etcd-endpoints=http://" + etcdAddr(t), "-iface=" + h.Dev, "-subnet-file=" + plan.Dir + "/" + file}
	if f.masq {
		argv = append(argv, "-ip-masq")
	}
	d := &plan.Service{Name: "flanneld", Argv: argv, Ready: plan.Ready{Line: "Running backend."}}
	if f.dev != "" {
		d.Makes = []string{f.dev}
	}
	if f.kind == "tun" {
		d.Opens = []string{"/dev/net/tun"}
	}
	return []plan.Step{
		{In: h.Name, File: &plan.File{Name: file, Content: fmt.Sprintf("FLANNEL_NETWORK=%v\nFLANNEL_SUBNET=%v\n", t.PodAll, h.PodNet)}},
		{In: h.Name, Exec: &plan.Exec{Argv: []string{"iptables", "--version"}, Found: "iptables.version"}},
		{In: h.Name, Exec: &plan.Exec{Argv: []string{"flanneld", "-version"}, Found: "flannel.version"}},
		{In: h.Name, Service: d},
	}
}
