package network

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// CiliumAgent connects the pods with Cilium itself: the BPF programs that its agent compiles and loads on
// every host forward the pods' packets, encapsulate them and look up policies and connections. The
// store is etcd on the first host; Kubernetes is not needed.
//
// No distribution packages its programs. They come in the image cilium/cilium; Dir holds its files.
// The agent runs the image's clang. Where that clang does not start, link a newer one of the
// distribution in its place. Both modes were tested with v1.20.2, without its BGP control plane, and clang 19.
//
// The agent runs with its defaults, as after an installation that keeps kube-proxy: packets pass the
// host's IP stack after Cilium's programs (legacy host routing), and nothing is attached to the
// machine's control groups. Policies are looked up but not enforced: without Kubernetes pods have no
// labels, and the agent's default would isolate them. weir registers the pods with the agent itself
// instead of running Cilium's CNI plugin, which would give them other addresses than the topology's.
//
// No host has a route to its pods' devices, so no packet reaches a pod without Cilium's programs.
type CiliumAgent struct {
	Mode string `yaml:"mode"` // vxlan: VXLAN between hosts; native: routes between hosts
	Dir  string `yaml:"dir"`  // directory with the files of the image
}

// Cilium's modes between hosts.
const (
	CiliumVXLAN  = "vxlan"
	CiliumNative = "native"
)

// CiliumDir is the default directory with the files of Cilium's image.
const CiliumDir = "/opt/cilium"

// ciliumDev is the agent's VXLAN device.
const ciliumDev = "cilium_vxlan"

// ciliumRouter is the host's end of a veth pair that the agent uses as the pods' router.
const ciliumRouter = "cilium_host"

// ciliumWait is how many seconds an agent can take to compile and load its programs.
const ciliumWait = 180

// Plan starts the store and the agents, and attaches the pods.
func (n CiliumAgent) Plan(t topo.Topology) (plan.Plan, error) {
	overhead := 0
	if n.Mode == CiliumVXLAN {
		overhead = 50 // over IPv4; see vxlanOverhead
	}
	p, err := newPlan("cilium", t, 1, overhead,
		checkOneOf("cilium", "mode", n.Mode, CiliumVXLAN, CiliumNative), checkAbs("cilium", n.Dir),
		refuse(any6(t), "cilium: supports only IPv4, for pods and hosts; use routed"))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Steps = etcd(t)
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, n.agent(t, h)...)
		p.Steps = append(p.Steps, n.attach(h, p.Path.MTU)...)
		if n.Mode == CiliumVXLAN {
			if t.NoOffload {
				p.Steps = append(p.Steps, plan.Step{In: h.Name, Offload: &plan.Offload{Dev: ciliumDev, Features: noOffload("vxlan")}})
			}
			p.Expect = append(p.Expect, expectTunnel(h.Name, ciliumDev, t.MTU))
		}
	}
	return expect(t, p), nil
}

// agent starts Cilium's agent on h. It would also set keys that apply to the whole machine
// (kernel.unprivileged_bpf_disabled, kernel.timer_migration). Here they are read-only, which the
// agent tolerates (cilium 1.20.2, pkg/datapath/loader/base.go).
func (n CiliumAgent) agent(t topo.Topology, h topo.Host) []plan.Step {
	program := n.Dir + "/usr/bin/cilium-agent"
	dev := ciliumRouter // the last device that the agent makes
	if n.Mode == CiliumVXLAN {
		dev = ciliumDev
	}
	argv := []string{program, "--enable-k8s=false", "--kvstore=etcd", "--kvstore-opt=etcd.address=http://" + etcdAddr(t),
		"--identity-allocation-mode=kvstore", "--lib-dir=" + n.Dir + "/var/lib/cilium",
		"--ipam=kubernetes", "--ipv4-range=" + h.PodNet.String(),
		"--enable-ipv6=false", "--enable-ipv4-masquerade=false", "--enable-policy=never",
		"--ipv4-node=" + h.Addr.Addr().String(), "--devices=" + h.Dev, fmt.Sprint("--mtu=", t.MTU),
		"--enable-l7-proxy=false", "--enable-health-checking=false", "--enable-endpoint-health-checking=false"}
	d := &plan.Service{Name: "cilium-agent", Root: true, Env: n.env(),
		Ready: plan.Ready{Argv: []string{"sh", "-c", "curl -sf --unix-socket " + ciliumSocket + " http://cilium/v1/healthz && ip link show dev " + dev}, Timeout: ciliumWait}}
	if n.Mode == CiliumVXLAN {
		argv = append(argv, "--routing-mode=tunnel", "--tunnel-protocol=vxlan")
		d.Makes, d.Kernel, d.Forwards = []string{ciliumDev}, []string{"vxlan"}, []string{ciliumDev}
	} else {
		argv = append(argv, "--routing-mode=native", "--auto-direct-node-routes", "--ipv4-native-routing-cidr="+t.PodAll.String())
		d.Forwards = []string{h.Dev}
	}
	d.Argv = argv
	for i := range h.Pods {
		d.Forwards = append(d.Forwards, ciliumPort(i))
	}
	return []plan.Step{
		find(h, "iptables.version", "iptables", "--version"),
		find(h, "cilium.version", program, "--version"),
		run(h, "sh", "-c", "mount -o bind,ro /proc/sys/kernel /proc/sys/kernel"),
		// The agent adopts the router's address that it finds on this device; otherwise it would choose one.
		{In: h.Name, Link: &plan.Link{Name: ciliumRouter, Kind: "veth", MTU: t.MTU, Peer: "cilium_net", PeerIn: h.Name}},
		{In: h.Name, Addr: &plan.Addr{Dev: ciliumRouter, Prefix: hostPrefix(h.Gateway())}},
		{In: h.Name, Forwards: forwards(d.Name, dev, h.Dev), Service: d},
	}
}

// env lets the agent find the programs of its image before the machine's.
func (n CiliumAgent) env() []string {
	return []string{"PATH=" + n.Dir + "/usr/local/bin:" + n.Dir + "/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
}

// attach gives every pod of h a veth, as Cilium's CNI plugin does, and makes it an endpoint of the
// agent. The steps return when the agent has attached the endpoint's programs.
func (n CiliumAgent) attach(h topo.Host, mtu int) []plan.Step {
	var steps []plan.Step
	for i, pod := range h.Pods {
		port, a := ciliumPort(i), pod.Addr.Addr()
		near, far := ciliumMAC(0, a), ciliumMAC(1, a)
		body := toJSON(map[string]any{"container-id": pod.Name, "container-interface-name": podDev, "state": "waiting-for-identity",
			"addressing": map[string]any{"ipv4": a}, "mac": far, "host-mac": near, "interface-name": port, "interface-index": json.Number("0"),
			"datapath-configuration": map[string]any{"external-ipam": true}, "sync-build-endpoint": true})
		steps = append(steps,
			plan.Step{In: h.Name, Link: &plan.Link{Name: port, Kind: "veth", MTU: mtu, Peer: podDev, PeerIn: pod.Name}},
			run(h, "ip", "link", "set", "dev", port, "address", near),
			run(h, "ip", "-netns", pod.Name, "link", "set", "dev", podDev, "address", far),
			plan.Step{In: pod.Name, Addr: &plan.Addr{Dev: podDev, Prefix: hostPrefix(a)}},
			plan.Step{In: pod.Name, Route: &plan.Route{Dst: hostPrefix(h.Gateway()), Dev: podDev}},
			plan.Step{In: pod.Name, Route: &plan.Route{Dst: defaultRoute(a), Via: h.Gateway(), Dev: podDev}},
			plan.Step{In: h.Name, Exec: &plan.Exec{Argv: []string{"sh", "-c", "cat /sys/class/net/" + port + "/ifindex"}, Keep: "index"}},
			plan.Step{In: h.Name, Exec: &plan.Exec{Timeout: ciliumWait, Argv: []string{"curl", "-sS", "--fail-with-body", "--unix-socket", ciliumSocket, "-X", "PUT",
				"-H", "Content-Type: application/json", "-d", strings.Replace(body, `"interface-index":0`, `"interface-index":{index}`, 1), "http://cilium/v1/endpoint/cilium-local:0"}}})
	}
	return steps
}

// ciliumPort names the host's end of the veth of a host's pod i.
func ciliumPort(i int) string { return "lxc" + strconv.Itoa(i+1) }

// ciliumSocket is where the agent serves its API.
const ciliumSocket = "/var/run/cilium/cilium.sock"

// ciliumMAC returns a locally administered MAC address for an end of the veth of the pod with address a.
func ciliumMAC(end byte, a netip.Addr) string {
	b := a.As4()
	return net.HardwareAddr{2, end, b[0], b[1], b[2], b[3]}.String()
}
