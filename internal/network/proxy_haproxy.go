package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// haproxy connects from ports of its own, by which the rules know its connections.
func (n Proxy) haproxy(pod topo.Pod) proxyProgram {
	return proxyProgram{conf: "haproxy.cfg", content: n.haproxyConf(pod), version: []string{"haproxy", "-v"}, service: plan.Service{Name: HAProxy,
		Argv: []string{"haproxy", "-db", "-f", plan.Dir + "/haproxy.cfg"}, Ready: plan.Ready{File: plan.Dir + "/haproxy.sock"}}}
}

func (n Proxy) haproxyConf(pod topo.Pod) string {
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
