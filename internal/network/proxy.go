package network

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Proxy is Bridged with a proxy beside the programs of every pod, as the sidecars of a service mesh: HAProxy or Envoy, in
// the pod's network namespace. Rules of nftables redirect the pod's TCP connections to it, those that begin in the pod (at the client's
// end) and those that arrive (at the server's), so that a request passes two proxies. Each ends the connection and makes
// another one to the original destination. UDP and ICMP bypass it: weir skips their probes.
//
// A proxy copies bytes. With l7 it reads what looks like HTTP/1.1, request by request, and makes requests of its own; anything
// else, TLS included, it still copies. A mesh also counts, retries and asks a control plane: it costs more than this.
//
// With mtls the two proxies speak TLS 1.3 with each other, and each checks the other's certificate; the programs notice
// nothing. The certificates come from an authority that the run makes, and are checked around every trial.
//
// Note: the server sees connections from its own pod's address. HAProxy connects from ports 50001 to 65535, by which the
// rules know its connections; others of the pod get lower ones. Envoy marks its connections. It has no control plane here, and
// no filters but those that find the destination and read HTTP; nothing can administer it.
type Proxy struct {
	Program string `yaml:"proxy"`   // haproxy or envoy
	L7      bool   `yaml:"l7"`      // read HTTP/1.1, instead of copying bytes
	At      string `yaml:"at"`      // both: at the client's and the server's end; client or server: there alone
	MTLS    bool   `yaml:"mtls"`    // encrypt between the two proxies, each with a certificate that the other checks
	Threads int    `yaml:"threads"` // of each proxy, 1 to 64; 2 is Istio's default
}

// Ends of a path that have a proxy.
const (
	ProxyBoth   = "both"
	ProxyClient = "client"
	ProxyServer = "server"
)

// Programs that can be the proxy.
const (
	HAProxy = "haproxy"
	Envoy   = "envoy"
)

func (n Proxy) name() string {
	if n.L7 {
		return "proxy-l7"
	}
	return "proxy-l4"
}

func (n Proxy) Plan(t topo.Topology) (plan.Plan, error) {
	name := n.name()
	p, err := bridged(name, t, refuse(n.Program == "nginx", name+": nginx cannot be the proxy: it does not find out where a redirected connection was going (docs/sidecars.md); use haproxy or envoy"),
		checkOneOf(name, "proxy", n.Program, HAProxy, Envoy), checkOneOf(name, "at", n.At, ProxyBoth, ProxyClient, ProxyServer), checkRange(name, "threads", n.Threads, 1, 64),
		refuse(n.MTLS && n.At != ProxyBoth, fmt.Sprintf("%s: mtls needs a proxy at both ends, not at: %s; leave one of them out", name, n.At)),
		refuse(any6(t), name+": supports only IPv4, for pods and hosts; use bridged"))
	if err != nil {
		return plan.Plan{}, err
	}
	p.Path.TCPOnly = true
	for _, h := range t.Hosts {
		for _, pod := range h.Pods {
			p.Steps = append(p.Steps, n.sidecar(pod)...)
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: pod.Name, Dev: "lo"}, Proof: plan.Proof{MustCarry: n.At == ProxyBoth, Joined: true, Near: plan.Pod, Far: plan.Pod}})
			if n.MTLS {
				p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: pod.Name, Output: &plan.Output{
					Argv: []string{"openssl", "verify", "-CAfile", plan.Dir + "/" + proxyCA, plan.Dir + "/" + proxyPEM}, Lines: []string{": OK"}}}})
			}
		}
	}
	return p, nil
}

// Ports of a sidecar: Istio's, and those from which it connects.
const (
	proxyOut, proxyIn         = 15001, 15006
	proxyFirst, proxyLast     = 50001, 65535
	proxyRules                = "redirect.nft"
	proxyCA, proxyPEM         = "ca.pem", "proxy.pem"
	podFirstPort, podLastPort = 32768, proxyFirst - 1
)

// A proxyProgram is how a proxy is started: its configuration, and the command that prints its version.
type proxyProgram struct {
	conf, content string
	service       plan.Service
	version       []string
}

// sidecar gives a pod its proxy, and then the rules that lead to it. A connection that the server's program ended waits on the
// pod's own side for a minute, and there are more of them than ports: tcp_tw_reuse lets a new one have the port.
func (n Proxy) sidecar(pod topo.Pod) []plan.Step {
	steps := []plan.Step{
		sysctl(pod.Name, "net.ipv4.ip_local_port_range", fmt.Sprintf("%d\t%d", podFirstPort, podLastPort)),
		sysctl(pod.Name, "net.ipv4.tcp_tw_reuse", "1"),
	}
	if n.MTLS {
		steps = append(steps, plan.Step{In: pod.Name, File: &plan.File{Name: proxyCA, Content: plan.CA}},
			plan.Step{In: pod.Name, File: &plan.File{Name: proxyPEM, Content: plan.Identity, Mode: 0o600}})
	}
	is := n.haproxy(pod)
	if n.Program == Envoy {
		is = n.envoy()
	}
	is.service.Carries = true
	return append(steps, []plan.Step{
		{In: pod.Name, File: &plan.File{Name: is.conf, Content: is.content}},
		{In: pod.Name, Service: &is.service},
		{In: pod.Name, Exec: &plan.Exec{Argv: is.version, Found: n.Program + ".version"}},
		{In: pod.Name, File: &plan.File{Name: proxyRules, Content: n.rules()}},
		{In: pod.Name, Exec: &plan.Exec{Argv: []string{"nft", "-f", plan.Dir + "/" + proxyRules}}},
	}...)
}

// rules redirect TCP, except what a proxy sends, and what stays in the pod.
func (n Proxy) rules() string {
	own := fmt.Sprintf("tcp sport %d-%d", proxyFirst, proxyLast)
	if n.Program == Envoy {
		own = fmt.Sprintf("meta mark %d", envoyMark)
	}
	var b strings.Builder
	b.WriteString("table ip proxy {\n")
	if n.At != ProxyServer {
		fmt.Fprintf(&b, "\tchain output {\n\t\ttype nat hook output priority -100\n\t\toif lo return\n\t\t%s return\n\t\tmeta l4proto tcp redirect to :%d\n\t}\n", own, proxyOut)
	}
	if n.At != ProxyClient {
		fmt.Fprintf(&b, "\tchain prerouting {\n\t\ttype nat hook prerouting priority -100\n\t\tiif lo return\n\t\tmeta l4proto tcp redirect to :%d\n\t}\n", proxyIn)
	}
	b.WriteString("}\n")
	return b.String()
}
