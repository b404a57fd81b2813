package network

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// KubeProxy is Routed with a Service in front of every pod, whose rules the real kube-proxy of every host writes, in one of its
// modes. A program of weir on the first host (`weir kube-api`) stands in for the API server that kube-proxy watches; an event can
// remove the endpoint of a Service and add it again (endpoint).
//
// Every setting of kube-proxy is its own default, except that it leaves the limits of the connection table alone. The other
// Services have one port and the endpoint of the last pod, and no packet calls them. The Services of the pods have the ports of weir's
// servers.
//
// Note: an API server of a cluster answers after it has stored a change, and a controller notices first that a pod is gone. Neither
// is part of this.
type KubeProxy struct {
	Mode     string `yaml:"mode"`     // iptables, nftables or ipvs
	Services int    `yaml:"services"` // how many there are, 1 to 10000; every pod has one, even if there are more pods
}

// Modes of KubeProxy.
const (
	ProxyIPTables = "iptables"
	ProxyNFTables = "nftables"
	ProxyIPVS     = "ipvs"
)

// kubeAPIService is the name of the stand-in for an API server.
const kubeAPIService = "kube-api"

// proxySynced begins the line of kube-proxy's metrics with the time at which it had written its rules, seconds since 1970; before
// that it is 0.
const proxySynced = `kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} 1.`

// wait is how long a kube-proxy can take to be ready on a busy machine, s: with iptables it writes 10,000 Services in minutes.
func (n KubeProxy) wait() int { return 300 + n.Services/20 }

func (n KubeProxy) Plan(t topo.Topology) (plan.Plan, error) {
	name := "kube-proxy-" + n.Mode
	bad := checkOneOf("kube-proxy", "mode", n.Mode, ProxyIPTables, ProxyNFTables, ProxyIPVS)
	services := ServiceRules{Services: n.Services}.services(t)
	p, err := routed(name, t, func(topo.Host) []plan.Step { return nil }, bad,
		checkRange(name, "services", n.Services, 1, maxServices),
		refuse(any6(t), name+": supports only IPv4, for pods and hosts; use routed"))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Steps = append(p.Steps, kubeAPI(t, services)...)
	for _, h := range t.Hosts {
		// In a real host the default route leads a cluster address to its rules.
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Route: &plan.Route{Dst: serviceNet, Dev: h.Dev}})
		p.Steps = append(p.Steps, n.proxy(t, h)...)
	}
	for _, h := range t.Hosts {
		p.Steps = append(p.Steps, plan.Step{In: h.Name, Await: &plan.Await{Timeout: n.wait(), Output: plan.Output{
			Argv: []string{"curl", "-sf", "http://127.0.0.1:10249/metrics"}, Lines: []string{proxySynced}}}})
	}
	for i, e := range p.Ends {
		at := slices.IndexFunc(services, func(s clusterService) bool { return s.pod == e.Addr })
		p.Ends[i].Call = services[at].addr
	}
	return p, nil
}

// kubeAPI starts the stand-in for an API server on the first host.
func kubeAPI(t topo.Topology, services []clusterService) []plan.Step {
	const file = "objects.json"
	objects := plan.KubeObjects{}
	objects.Nodes = map[string]netip.Addr{}
	for _, h := range t.Hosts {
		objects.Nodes[h.Name] = h.Addr.Addr()
	}
	last := services[len(services)-1]
	for _, s := range services {
		k := plan.KubeService{Name: s.name, Addr: s.addr, Endpoint: s.pod, Ports: servicePorts, Protos: []string{"TCP", "UDP"}}
		if !s.pod.IsValid() {
			k.Endpoint, k.Ports, k.Protos = last.pod, [][2]int{{unusedPort, unusedPort}}, []string{"TCP"}
		}
		objects.Services = append(objects.Services, k)
	}
	h := t.Hosts[0].Name
	return []plan.Step{
		{In: h, File: &plan.File{Name: file, Content: toJSON(objects)}},
		{In: h, Service: &plan.Service{Name: kubeAPIService, Argv: []string{"weir", "kube-api", fmt.Sprintf(":%d", plan.APIPort), plan.Dir + "/" + file},
			Ready: plan.Ready{Line: "kube-api: ready"}}},
	}
}

// proxy starts kube-proxy on h.
func (n KubeProxy) proxy(t topo.Topology, h topo.Host) []plan.Step {
	const file = "kube-proxy.json"
	config := toJSON(map[string]any{"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode": n.Mode, "clusterCIDR": t.PodAll, "hostnameOverride": h.Name,
		// Those of the machine, which a namespace cannot change (net/netfilter/nf_conntrack_standalone.c).
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0}})
	argv := []string{"kube-proxy", "--config", plan.Dir + "/" + file, "--master", fmt.Sprintf("http://%v:%d", t.Hosts[0].Addr.Addr(), plan.APIPort)}
	var needs []plan.Step // programs that it runs
	switch n.Mode {
	case ProxyNFTables:
		needs = []plan.Step{find(h, "nft.version", "nft", "--version")}
	case ProxyIPVS:
		needs = []plan.Step{needIPVS(h), find(h, "ipset.version", "ipset", "--version"), find(h, "iptables.version", "iptables", "--version")}
	default:
		needs = []plan.Step{find(h, "iptables.version", "iptables", "--version")}
	}
	return append(needs, []plan.Step{
		find(h, "kube-proxy.version", "kube-proxy", "--version"),
		{In: h.Name, File: &plan.File{Name: file, Content: config}},
		{In: h.Name, Service: &plan.Service{Name: "kube-proxy", Argv: argv,
			Ready: plan.Ready{Argv: []string{"curl", "-sf", "http://127.0.0.1:10256/healthz"}, Timeout: n.wait()}}},
	}...)
}
