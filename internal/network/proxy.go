package network

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Proxy is Bridged with a proxy beside the programs of every pod, as the sidecars of a service mesh: HAProxy, in the pod's
// network namespace. Rules of nftables redirect the pod's TCP connections to it, those that begin in the pod (at the client's
// end) and those that arrive (at the server's), so that a request passes two proxies. Each ends the connection and makes
// another one to the original destination. UDP and ICMP pass by: weir skips their probes.
//
// A proxy copies bytes. With l7 it reads what looks like HTTP/1.1, request by request, and makes requests of its own; anything
// else, TLS included, it still copies. A mesh also counts, retries and asks a control plane: it costs more than this.
//
// With mtls the two proxies speak TLS 1.3 with each other, and each checks the other's certificate; the programs notice
// nothing. The certificates are by an authority that the run makes, and are checked around every trial.
//
// Note: the server sees connections from its own pod's address. HAProxy connects from ports 50001 to 65535, by which the
// rules know its connections; others of the pod get lower ones.
type Proxy struct {
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

func (n Proxy) name() string {
	if n.L7 {
		return "proxy-l7"
	}
	return "proxy-l4"
}

func (n Proxy) Plan(t topo.Topology) (plan.Plan, error) {
	name := n.name()
	p, err := bridged(name, t, checkOneOf(name, "at", n.At, ProxyBoth, ProxyClient, ProxyServer), checkRange(name, "threads", n.Threads, 1, 64),
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
	proxyConf, proxyRules     = "haproxy.cfg", "redirect.nft"
	proxyCA, proxyPEM         = "ca.pem", "proxy.pem"
	podFirstPort, podLastPort = 32768, proxyFirst - 1
)

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
	return append(steps, []plan.Step{
		{In: pod.Name, File: &plan.File{Name: proxyConf, Content: n.conf(pod)}},
		{In: pod.Name, Service: &plan.Service{Name: "haproxy", Argv: []string{"haproxy", "-db", "-f", plan.Dir + "/" + proxyConf},
			Ready: plan.Ready{File: plan.Dir + "/haproxy.sock"}, Carries: true}},
		{In: pod.Name, Exec: &plan.Exec{Argv: []string{"haproxy", "-v"}, Found: "haproxy.version"}},
		{In: pod.Name, File: &plan.File{Name: proxyRules, Content: n.rules()}},
		{In: pod.Name, Exec: &plan.Exec{Argv: []string{"nft", "-f", plan.Dir + "/" + proxyRules}}},
	}...)
}

func (n Proxy) conf(pod topo.Pod) string {
	to := fmt.Sprintf("\tserver original 0.0.0.0 source %v:%d-%d", pod.Addr.Addr(), proxyFirst, proxyLast)
	backends := n.backends("original", "http", to)
	out, in := n.read("original", "http"), n.read("original", "http")
	accept := ""
	if n.MTLS {
		const tls = "ssl crt {dir}/" + proxyPEM + " ca-file {dir}/" + proxyCA + " verify required ssl-min-ver TLSv1.3"
		accept = " " + tls
		out = n.read("peer", "peer-http")
		backends += n.backends("peer", "peer-http", fmt.Sprintf("%s %s sni str(%[3]s) verifyhost %[3]s", to, tls, plan.IdentityName))
	}
	return fmt.Sprintf(`global
	nbthread %d
	maxconn 4000
	stats socket {dir}/haproxy.sock
defaults
	mode tcp
	timeout connect 5s
	timeout client 1h
	timeout server 1h
frontend out
	bind :%d
%sfrontend in
	bind :%d%s
%s%s`, n.Threads, proxyOut, out, proxyIn, accept, in, backends)
}

// read returns the lines of a frontend that say which backend gets its connections: bytes, or what it reads as HTTP.
func (n Proxy) read(bytes, http string) string {
	read := ""
	if n.L7 {
		read = fmt.Sprintf("\ttcp-request inspect-delay 5s\n\ttcp-request content switch-mode http if HTTP\n\tuse_backend %s if HTTP\n", http)
	}
	return read + fmt.Sprintf("\tdefault_backend %s\n", bytes)
}

func (n Proxy) backends(bytes, http, server string) string {
	b := fmt.Sprintf("backend %s\n%s\n", bytes, server)
	if n.L7 {
		b += fmt.Sprintf("backend %s\n\tmode http\n%s\n", http, server)
	}
	return b
}

// rules redirect TCP, except what a proxy sends, and what stays in the pod.
func (n Proxy) rules() string {
	var b strings.Builder
	b.WriteString("table ip proxy {\n")
	if n.At != ProxyServer {
		fmt.Fprintf(&b, "\tchain output {\n\t\ttype nat hook output priority -100\n\t\toif lo return\n\t\ttcp sport %d-%d return\n\t\tmeta l4proto tcp redirect to :%d\n\t}\n", proxyFirst, proxyLast, proxyOut)
	}
	if n.At != ProxyClient {
		fmt.Fprintf(&b, "\tchain prerouting {\n\t\ttype nat hook prerouting priority -100\n\t\tiif lo return\n\t\tmeta l4proto tcp redirect to :%d\n\t}\n", proxyIn)
	}
	b.WriteString("}\n")
	return b.String()
}
