package network

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// ServiceRules is Routed with a Service in front of every pod: clients call its cluster address,
// which the client's host translates to the pod's. The rules are those that kube-proxy writes in
// three modes: chains in the tables of iptables, nftables with verdict maps, and IPVS. weir writes
// them: no kube-proxy runs, and nothing changes them later.
//
// The Services of the pods come last. With iptables the first packet of a connection is compared with
// all others before them, on the hosts of both ends; the other two modes look an address up. Later
// packets of a connection follow its entry in the connection table, which is most of what a Service
// costs a long one: the probe tcp-crr shows the rules, the others show the table.
//
// Note: the other Services have no pods of their own, and no packet calls them. Every Service has the
// ports of weir's servers, where kube-proxy has a rule for each of its own.
type ServiceRules struct {
	Mode     string `yaml:"mode"`     // iptables-nft, iptables-legacy, nftables or ipvs
	Services int    `yaml:"services"` // how many each host has rules for, 1 to 10000; every pod has one, even if there are more pods
}

// Modes of ServiceRules.
const (
	ServicesIPTables       = "iptables-nft" // what iptables is on today's distributions
	ServicesIPTablesLegacy = "iptables-legacy"
	ServicesNFTables       = "nftables"
	ServicesIPVS           = "ipvs"
)

const maxServices = 10000

// serviceNet holds the cluster addresses, as OpenShift's default does. Kubernetes' own default is
// inside the range of topologies' pods.
var serviceNet = netip.MustParsePrefix("172.30.0.0/16")

// servicePorts are the ports at which a server of weir can listen in the lab (package trial): of
// tools, loads and engines, and of engines for further clients.
var servicePorts = [][2]int{{5201, 5208}, {7001, 7008}}

// unusedPort is the port of Services that no packet calls.
const unusedPort = 80

// A clusterService is a Service with one pod, or none that anyone calls.
type clusterService struct {
	name string
	addr netip.Addr // its cluster address
	pod  netip.Addr // zero: none
}

func (n ServiceRules) Plan(t topo.Topology) (plan.Plan, error) {
	name := "service-" + n.Mode
	bad := checkOneOf("service", "mode", n.Mode, ServicesIPTables, ServicesIPTablesLegacy, ServicesNFTables, ServicesIPVS)
	if n.Mode == ServicesIPTables || n.Mode == ServicesIPTablesLegacy {
		name = "service-iptables"
	}
	services := n.services(t)
	p, err := routed(name, t, func(h topo.Host) []plan.Step { return n.rules(t, h, services) }, bad,
		checkRange(name, "services", n.Services, 1, maxServices),
		refuse(any6(t), name+": supports only IPv4, for pods and hosts; use routed"),
		refuse(len(services) > 1<<16-2, fmt.Sprintf("%s: %d services do not fit into %v", name, len(services), serviceNet)))
	if err != nil {
		return plan.Plan{}, err
	}
	for i, e := range p.Ends {
		at := slices.IndexFunc(services, func(s clusterService) bool { return s.pod == e.Addr })
		p.Ends[i].Call = services[at].addr
	}
	return p, nil
}

// services returns those of t, the pods' last.
func (n ServiceRules) services(t topo.Topology) []clusterService {
	var pods []clusterService
	for _, e := range podEnds(t, podDev) {
		pods = append(pods, clusterService{name: e.Node, pod: e.Addr})
	}
	var all []clusterService
	for i := range min(n.Services, maxServices) - len(pods) {
		all = append(all, clusterService{name: fmt.Sprintf("other-%d", i+1)})
	}
	all = append(all, pods...)
	addr := serviceNet.Addr()
	for i := range all {
		addr = addr.Next()
		all[i].addr = addr
	}
	return all
}

// rules gives h the rules of services.
func (n ServiceRules) rules(t topo.Topology, h topo.Host, services []clusterService) []plan.Step {
	// A host routes a cluster address before its rules translate it. In a real one the default route
	// does that.
	steps := []plan.Step{{In: h.Name, Route: &plan.Route{Dst: serviceNet, Dev: h.Dev}}}
	switch n.Mode {
	case ServicesNFTables:
		return append(steps, nftServices(t, h, services)...)
	case ServicesIPVS:
		return append(steps, ipvsServices(h, services)...)
	}
	return append(steps, iptablesServices(t, h, n.Mode, services)...)
}

// load writes the files and runs argv with the name of each.
func load(h topo.Host, env []string, files []string, ext string, argv ...string) []plan.Step {
	var steps []plan.Step
	for i, content := range files {
		name := fmt.Sprintf("services-%d%s", i+1, ext)
		steps = append(steps,
			plan.Step{In: h.Name, File: &plan.File{Name: name, Content: content}},
			plan.Step{In: h.Name, Exec: &plan.Exec{Env: env, Argv: append(slices.Clone(argv), plan.Dir+"/"+name)}})
	}
	return steps
}
