package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// CalicoNode connects the pods with Calico itself: Felix routes and filters their packets, Calico's
// CNI plugin attaches them, and confd and Calico's BIRD announce each host's address blocks to the
// others. The store is etcd on the first host; Kubernetes is not needed.
//
// No distribution packages its programs. They come in the images calico/node and calico/cni; Dir
// holds the files of both. All modes and filters were tested with v3.31.7, as root and as an
// ordinary user, and IPIP in a guest.
type CalicoNode struct {
	Mode   string `yaml:"mode"`   // bgp: no encapsulation; ipip: IPv4 in IPv4; vxlan: VXLAN, without BIRD
	Filter string `yaml:"filter"` // packet filter for Felix's rules: iptables-nft, iptables-legacy or nftables
	Rules  int    `yaml:"rules"`  // policy rules for what pods send, and as many for what they receive, 0 to 10000; no packet matches
	Dir    string `yaml:"dir"`    // directory with the files of the two images
}

// Calico's modes between hosts.
const (
	CalicoBGPMode = "bgp"
	CalicoIPIP    = "ipip"
	CalicoVXLAN   = "vxlan"
)

// Packet filters that Calico supports. By default it uses the one that has rules; a new host has
// none.
const (
	CalicoIPTablesNFT    = "iptables-nft"
	CalicoIPTablesLegacy = "iptables-legacy"
	CalicoNFTables       = "nftables"
)

// calicoFilters lists for each filter Felix's settings, the programs that it runs, and the output
// that proves that packets pass its rules.
var calicoFilters = map[string]struct {
	env, programs []string
	rules         plan.Output
}{
	CalicoIPTablesNFT: {[]string{"FELIX_NFTABLESMODE=Disabled", "FELIX_IPTABLESBACKEND=nft"}, []string{"iptables-nft", "ipset"},
		plan.Output{Argv: []string{"iptables-nft", "-S", "FORWARD"}, Lines: []string{"-j cali-FORWARD"}}},
	CalicoIPTablesLegacy: {[]string{"FELIX_NFTABLESMODE=Disabled", "FELIX_IPTABLESBACKEND=legacy"}, []string{"iptables-legacy", "ipset"},
		plan.Output{Argv: []string{"iptables-legacy", "-S", "FORWARD"}, Lines: []string{"-j cali-FORWARD"}}},
	CalicoNFTables: {[]string{"FELIX_NFTABLESMODE=Enabled"}, []string{"nft"},
		plan.Output{Argv: []string{"nft", "list", "chain", "ip", "calico", "filter-FORWARD"}, Lines: []string{"hook forward", "jump filter-cali-FORWARD"}}},
}

// calicoNet names the pods' network and therefore their profile.
const calicoNet = "calico"

// CalicoDir is the default directory with the files of Calico's images.
const CalicoDir = "/opt/calico"

// calicoModes describes the modes: how an address pool encapsulates (always or never), the device
// that Felix makes for it, and its overhead in bytes over IPv4.
var calicoModes = map[string]struct {
	backend, ipip, vxlan string
	dev, kind            string
	overhead             int
}{
	CalicoBGPMode: {backend: "bird", ipip: "Never", vxlan: "Never"},
	CalicoIPIP:    {backend: "bird", ipip: "Always", vxlan: "Never", dev: "tunl0", kind: "ipip", overhead: 20},
	CalicoVXLAN:   {backend: "vxlan", ipip: "Never", vxlan: "Always", dev: "vxlan.calico", kind: "vxlan", overhead: 50},
}

// Plan starts the store, makes the hosts nodes of Calico, attaches their pods, starts Felix and,
// except for VXLAN, BIRD, and waits until every host has routes to all blocks.
func (n CalicoNode) Plan(t topo.Topology) (plan.Plan, error) {
	mode, filter := calicoModes[n.Mode], calicoFilters[n.Filter]
	p, err := newPlan("calico", t, 1, mode.overhead,
		checkOneOf("calico", "mode", n.Mode, CalicoBGPMode, CalicoIPIP, CalicoVXLAN),
		checkOneOf("calico", "filter", n.Filter, CalicoIPTablesNFT, CalicoIPTablesLegacy, CalicoNFTables),
		checkRules("calico", n.Rules), checkAbs("calico", n.Dir),
		refuse(any6(t), "calico: hosts and pods must be IPv4; for IPv6 use calico-bgp-datapath"))
	if err != nil {
		return plan.Plan{}, err
	}
	mtu := p.Path.MTU
	p.Steps = append(etcd(t), n.policies(t)...)
	for _, h := range t.Hosts {
		for _, program := range filter.programs {
			p.Steps = append(p.Steps, find(h, program+".version", program, "--version"))
		}
		p.Steps = append(p.Steps, n.join(t, h, mtu)...)
	}
	for _, h := range t.Hosts {
		felix := &plan.Service{Name: "felix", Argv: []string{n.node(), "-felix"}, Env: slices.Concat(n.env(t, h), n.felix(t, h), filter.env),
			Ready: plan.Ready{Argv: []string{n.node(), "-felix-ready"}, Timeout: calicoWait}}
		if mode.dev != "" {
			felix.Makes, felix.Kernel = []string{mode.dev}, []string{mode.kind}
			p.Expect = append(p.Expect, expectTunnel(h.Name, mode.dev, mtu))
		}
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Forwards: forwards(felix.Name, mode.dev, h.Dev), Service: felix})
		if mode.backend == bird {
			p.Steps = append(p.Steps, n.bird(t, h)...)
		}
		if t.NoOffload {
			p.Steps = append(p.Steps, n.noOffload(h)...)
		}
	}
	p = expect(t, p)
	for _, h := range t.Hosts {
		if routes := n.routes(t, h); len(routes.Lines) > 0 {
			p.Steps = append(p.Steps, plan.Step{In: h.Name, Await: &plan.Await{Output: routes, Timeout: calicoWait}})
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Output: &routes}})
		}
		p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: h.Name, Output: &filter.rules}})
	}
	return p, nil
}

func (n CalicoNode) node() string { return n.Dir + "/usr/bin/calico-node" }

// env returns the environment that all of node's commands on h share.
func (n CalicoNode) env(t topo.Topology, h topo.Host) []string {
	return []string{"DATASTORE_TYPE=etcdv3", "ETCD_ENDPOINTS=http://" + etcdAddr(t), "NODENAME=" + h.Name,
		"CALICO_NODENAME_FILE=" + plan.Dir + "/nodename", "CALICO_NETWORKING_BACKEND=" + calicoModes[n.Mode].backend}
}

// felix returns settings whose names only Felix uses, and switches off unneeded features.
func (n CalicoNode) felix(t topo.Topology, h topo.Host) []string {
	return []string{"FELIX_DATASTORETYPE=etcdv3", "FELIX_ETCDENDPOINTS=http://" + etcdAddr(t), "FELIX_FELIXHOSTNAME=" + h.Name,
		"FELIX_HEALTHENABLED=true", "FELIX_IPV6SUPPORT=false", "FELIX_LOGFILEPATH=none", "FELIX_LOGSEVERITYSYS=none",
		"FELIX_XDPENABLED=false",            // only the image has the programs for it
		"FELIX_DebugSkipCTLBCleanup=true",   // it would search the machine's control groups for leftovers
		"FELIX_USAGEREPORTINGENABLED=false", // it would report to the Internet
	}
}

// pool describes the only address pool, which the first host makes, and h's address.
func (n CalicoNode) pool(t topo.Topology, h topo.Host) []string {
	mode := calicoModes[n.Mode]
	return []string{"CALICO_IPV4POOL_CIDR=" + t.PodAll.String(), fmt.Sprint("CALICO_IPV4POOL_BLOCK_SIZE=", calicoBlock),
		"CALICO_IPV4POOL_IPIP=" + mode.ipip, "CALICO_IPV4POOL_VXLAN=" + mode.vxlan, "CALICO_IPV4POOL_NAT_OUTGOING=false",
		"IP=" + h.Addr.String(), "IP6=none", fmt.Sprint("AS=", calicoAS)}
}

// run runs a command of node on h. Each one makes directories in /var/lib and /var/log, and Felix
// writes a file there.
func (n CalicoNode) run(t topo.Topology, h topo.Host, env []string, args ...string) plan.Step {
	return plan.Step{In: h.Name, Exec: &plan.Exec{Argv: append([]string{n.node()}, args...), Env: append(n.env(t, h), env...),
		Private: []string{"/var/lib", "/var/log"}}}
}

// join makes h a node of Calico and attaches its pods. A host gets the blocks that contain its
// pods' addresses; its tunnel's address comes from them, too.
func (n CalicoNode) join(t topo.Topology, h topo.Host, mtu int) []plan.Step {
	list := conflist{Version: cniVersion, Name: calicoNet, Plugins: []plugin{{
		"type": "calico", "ipam": map[string]any{"type": "calico-ipam"}, "ipam_lock_file": plan.Dir + "/ipam.lock",
		"datastore_type": "etcdv3", "etcd_endpoints": "http://" + etcdAddr(t),
		"nodename": h.Name, "nodename_file": plan.Dir + "/nodename",
		"mtu": mtu, "log_file_path": plan.Dir + "/cni.log"}}}
	plugins := n.Dir + "/opt/cni/bin"
	steps := append(router(h, false, true),
		plan.Step{In: h.Name, Route: &plan.Route{Dst: calicoGateway, Dev: h.Dev}}, // as in CalicoBGP
		n.run(t, h, n.pool(t, h), "-startup"),
		find(h, "calico.version", plugins+"/calico", "-v"),
		list.file(h, cmp.Or(calicoModes[n.Mode].dev, h.Dev)))
	for _, pod := range h.Pods {
		steps = append(steps, addPod(h, pod, []string{"CNI_PATH=" + plugins}))
	}
	if calicoModes[n.Mode].dev != "" {
		steps = append(steps, n.run(t, h, nil, "-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once"))
	}
	return steps
}

// bird makes confd write the configuration of Calico's BIRD on h, and starts BIRD. confd runs once
// because hosts and blocks do not change.
func (n CalicoNode) bird(t topo.Topology, h topo.Host) []plan.Step {
	const confd = plan.Dir + "/confd"
	// confd looks for templates below its directory; enough "../" reach the root.
	templates := strings.Repeat("../", 16) + n.Dir[1:] + "/etc/calico/confd/templates/"
	var steps []plan.Step
	for _, name := range []string{"bird_aggr.cfg", "bird_ipam.cfg", "bird.cfg"} { // the last includes the others
		steps = append(steps, plan.Step{In: h.Name, File: &plan.File{Name: "confd/conf.d/" + name + ".toml",
			Content: fmt.Sprintf("[template]\nprefix = \"/calico\"\nkeys = [\"/\"]\nsrc = %q\ndest = %q\n", templates+name+".template", confd+"/"+name)}})
	}
	program := n.Dir + "/usr/bin/bird"
	return append(steps,
		n.run(t, h, nil, "-confd", "-confd-run-once", "-confd-confdir", confd),
		plan.Step{In: h.Name, Service: &plan.Service{Name: bird,
			Argv:  []string{program, "-R", "-d", "-s", birdControl, "-c", confd + "/bird.cfg"},
			Ready: plan.Ready{File: birdControl}}},
		find(h, "calico.bird", program, "--version"))
}

// noOffload switches off the offloads of the devices that Calico made on h, except the host ends of
// the pods' veths, where packets are already segmented.
func (n CalicoNode) noOffload(h topo.Host) []plan.Step {
	steps := pluggedNoOffload(h, "")
	if m := calicoModes[n.Mode]; m.dev != "" {
		steps = append(steps, plan.Step{In: h.Name, Offload: &plan.Offload{Dev: m.dev, Features: noOffload(m.kind)}})
	}
	return steps
}

// routes returns the routes over the mode's device that h must have to every block of other hosts.
func (n CalicoNode) routes(t topo.Topology, h topo.Host) plan.Output {
	if n.Mode == CalicoBGPMode {
		return bgpRoutes(t, h)
	}
	return plan.Output{Argv: []string{"ip", "-4", "route", "show", "dev", calicoModes[n.Mode].dev},
		Lines: toBlocks(t, h, func(b netip.Prefix, _ topo.Host) string { return fmt.Sprintf("%v via ", b) })}
}

// calicoRulesAtOnce is the maximum number of rules per policy: a policy is one word of a command
// line, at most 128 KiB (execve(2)).
const calicoRulesAtOnce = 500

const calicoKey = "/calico/resources/v3/projectcalico.org/"

// policies writes to the store, as calicoctl would, the profile of all pods, which accepts
// everything as a Kubernetes namespace's does (the CNI plugin's default profile would keep hosts
// out). With Rules, it adds policies for all pods in which every rule denies an address that no
// packet has; the last policy accepts the rest. Felix accepts packets of known connections before
// it consults a policy, so the rules delay only the first packet of a flow, unlike those of Canal
// and Routed.
func (n CalicoNode) policies(t topo.Topology) []plan.Step {
	type rule map[string]any
	allow := rule{"action": "Allow"}
	steps := []plan.Step{calicoPut(t, "Profile", "profiles/", calicoNet, map[string]any{"ingress": []rule{allow}, "egress": []rule{allow}})}
	addr := netip.MustParseAddr("240.0.0.0")
	for first := 0; first < n.Rules; first += calicoRulesAtOnce {
		var in, out []rule
		for range min(calicoRulesAtOnce, n.Rules-first) {
			addr = addr.Next()
			nets := map[string]any{"nets": []string{hostPrefix(addr).String()}}
			in = append(in, rule{"action": "Deny", "source": nets})
			out = append(out, rule{"action": "Deny", "destination": nets})
		}
		if first+len(in) == n.Rules {
			in, out = append(in, allow), append(out, allow)
		}
		order := len(steps) // among the policies of the tier default
		steps = append(steps, calicoPut(t, "GlobalNetworkPolicy", "globalnetworkpolicies/", fmt.Sprint("default.weir-", order), map[string]any{
			"tier": "default", "order": order, "selector": "all()",
			"types": []string{"Ingress", "Egress"}, "ingress": in, "egress": out}))
	}
	return steps
}

func calicoPut(t topo.Topology, kind, key, name string, spec map[string]any) plan.Step {
	resource := map[string]any{"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
	return run(t.Hosts[0], etcdPut(t, calicoKey+key+name, toJSON(resource))...)
}
