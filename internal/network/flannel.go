package network

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// FlannelVXLAN connects the pods of all hosts with the real flanneld and its vxlan backend. CNI's
// bridge plugin puts the pods of a host on the bridge cni0. flanneld learns each host's subnet from
// etcd on the first host, makes the VXLAN device flannel.1 and routes the other hosts' pods over
// it. The kernel forwards; flanneld sees no packets.
type FlannelVXLAN struct {
	VNI  int  `yaml:"vni"`  // virtual network identifier, 1 to 1<<24-1; flanneld's default is 1
	Port int  `yaml:"port"` // UDP destination port, 1 to 65535; flanneld's default is 8472
	Masq bool `yaml:"masq"` // flanneld's -ip-masq, which makes the kernel track connections
}

func (n FlannelVXLAN) Plan(t topo.Topology) (plan.Plan, error) {
	f, err := vxlanBackend("flannel-vxlan", n.VNI, n.Port, n.Masq)
	if err != nil {
		return plan.Plan{}, err
	}
	return f.plan(t, bridgePlugin, 0)
}

// FlannelHostGW is FlannelVXLAN with the host-gw backend: the routes lead directly to the other
// hosts, without encapsulation. All hosts must be on one segment.
type FlannelHostGW struct {
	Masq bool `yaml:"masq"` // flanneld's -ip-masq, which makes the kernel track connections
}

func (n FlannelHostGW) Plan(t topo.Topology) (plan.Plan, error) {
	f := flannel{name: "flannel-hostgw", backend: map[string]any{"Type": "host-gw"}, masq: n.Masq}
	return f.plan(t, bridgePlugin, 0)
}

// FlannelUDP is FlannelVXLAN with the udp backend: flanneld itself reads packets from a TUN device,
// flannel0, and sends them in datagrams, so both ends copy each packet to a program and back.
type FlannelUDP struct {
	Port int  `yaml:"port"` // UDP port of flanneld, 1 to 65535; its default is 8285
	Masq bool `yaml:"masq"` // flanneld's -ip-masq, which makes the kernel track connections
}

func (n FlannelUDP) Plan(t topo.Topology) (plan.Plan, error) {
	if err := checkPort("flannel-udp", n.Port); err != nil {
		return plan.Plan{}, err
	}
	const ip4, udp = 20, 8 // the only headers that it adds (pkg/backend/udp/udp_network_amd64.go, encapOverhead)
	f := flannel{name: "flannel-udp", backend: map[string]any{"Type": "udp", "Port": n.Port}, masq: n.Masq,
		dev: "flannel0", kind: "tun", overhead: ip4 + udp}
	return f.plan(t, bridgePlugin, 0)
}

// Canal combines Flannel's datapath between hosts with Calico's inside them: flanneld with the
// vxlan backend, a routed veth per pod, no bridge, and policy rules. The rules are plain nftables
// because Calico's daemon does not run.
type Canal struct {
	VNI   int `yaml:"vni"`   // virtual network identifier, 1 to 1<<24-1
	Port  int `yaml:"port"`  // UDP destination port, 1 to 65535
	Rules int `yaml:"rules"` // policy rules that a forwarded packet is compared with on each host, 0 to 10000
}

func (n Canal) Plan(t topo.Topology) (plan.Plan, error) {
	f, err := vxlanBackend("canal", n.VNI, n.Port, false)
	if err := cmp.Or(err, checkRules("canal", n.Rules)); err != nil {
		return plan.Plan{}, err
	}
	return f.plan(t, ptpPlugin, n.Rules)
}

// A flannel holds the differences between these networks.
type flannel struct {
	name     string
	backend  map[string]any // of the network's configuration
	masq     bool
	dev      string // device that the backend makes, or ""
	kind     string // kind of dev
	overhead int
}

func vxlanBackend(name string, vni, port int, masq bool) (flannel, error) {
	if err := checkVXLAN(name, vni, port); err != nil {
		return flannel{}, err
	}
	const overhead = 50 // over IPv4; see vxlanOverhead
	return flannel{name: name, backend: map[string]any{"Type": "vxlan", "VNI": vni, "Port": port}, masq: masq,
		dev: "flannel." + strconv.Itoa(vni), kind: "vxlan", overhead: overhead}, nil
}

// plan starts etcd on the first host and flanneld on all, and attaches the pods.
func (f flannel) plan(t topo.Topology, plugins func(mtu int) []plugin, rules int) (plan.Plan, error) {
	// With etcd, flanneld always assigns an IPv4 subnet (flannel 0.28.4,
	// pkg/subnet/etcd/local_manager.go, allocateSubnet).
	p, err := newPlan(f.name, t, 1, f.overhead,
		refuse(any6(t), f.name+": hosts and pods must be IPv4: without Kubernetes, flanneld supports nothing else"),
		refuse(len(f.dev) > maxDevName, fmt.Sprintf("%s: device name %s is longer than %d bytes; use a smaller vni", f.name, f.dev, maxDevName)))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	p.Steps = f.store(t)
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, router(h, false, true)...)
		p.Steps = append(p.Steps, f.flanneld(t, h)...)
		list := conflist{Version: cniVersion, Name: f.name, Plugins: plugins(mtu)}
		p.Steps = append(p.Steps, list.attach(t, h, "", cmp.Or(f.dev, h.Dev))...)
		if features := noOffload(f.kind); t.NoOffload && len(features) > 0 {
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Offload: &plan.Offload{Dev: f.dev, Features: features}})
		}
		p.Steps = append(p.Steps, policy(h, rules)...)
		if f.dev != "" {
			p.Expect = append(p.Expect, expectTunnel(h.Name, f.dev, mtu))
		}
	}
	return expect(t, p), nil
}

// maxDevName is the longest name of a device in bytes (include/uapi/linux/if.h, IFNAMSIZ).
const maxDevName = 15

// flannelPrefix is the etcd key prefix of flanneld's network.
const flannelPrefix = "/coreos.com/network"

func (f flannel) store(t topo.Topology) []plan.Step {
	config := toJSON(map[string]any{"Network": t.PodAll, "SubnetLen": t.Hosts[0].PodNet.Bits(), "Backend": f.backend})
	return append(etcd(t), run(t.Hosts[0], etcdPut(t, flannelPrefix+"/config", config)...))
}

// flanneld starts the daemon on h. The daemon reuses the subnet in the file of its previous run if
// it is free (Documentation/reservations.md), so each host gets the topology's subnet. It calls
// iptables to accept forwarded packets, as in every installation.
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
		d.Opens, d.Carries = []string{"/dev/net/tun"}, true
	}
	return []plan.Step{
		{In: h.Name, File: &plan.File{Name: file, Content: fmt.Sprintf("FLANNEL_NETWORK=%v\nFLANNEL_SUBNET=%v\n", t.PodAll, h.PodNet)}},
		find(h, "iptables.version", "iptables", "--version"),
		find(h, "flannel.version", "flanneld", "-version"),
		{In: h.Name, Forwards: forwards(d.Name, f.dev, h.Dev), Service: d},
	}
}
