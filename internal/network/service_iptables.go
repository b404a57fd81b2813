package network

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// iptablesServices gives h the rules of kube-proxy's mode iptables (kubernetes v1.33,
// pkg/proxy/iptables/proxier.go): a chain with a rule for every Service, a chain for each of them
// that picks a pod, and a chain for the pod that translates. Services that nobody calls share one
// chain, which no packet enters.
//
// iptables-nft sends a file's rules at once, and as many as a policy's fit an ordinary user's socket
// buffer.
func iptablesServices(t topo.Topology, h topo.Host, filter string, services []clusterService) []plan.Step {
	files := []string{`*filter
:KUBE-FORWARD - [0:0]
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
*nat
:KUBE-SERVICES - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-SVC-OTHER - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000
-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000
COMMIT
`}
	var chains, rules []string
	write := func() {
		files = append(files, "*nat\n"+strings.Join(chains, "")+strings.Join(rules, "")+"COMMIT\n")
		chains, rules = nil, nil
	}
	rule := func(format string, args ...any) { rules = append(rules, "-A "+fmt.Sprintf(format, args...)+"\n") }
	for _, s := range services {
		if !s.pod.IsValid() {
			rule(`KUBE-SERVICES -d %v/32 -p tcp -m comment --comment "weir/%s cluster IP" -m tcp --dport %d -j KUBE-SVC-OTHER`, s.addr, s.name, unusedPort)
		}
		for _, proto := range []string{"tcp", "udp"} {
			if !s.pod.IsValid() {
				break
			}
			svc, sep := fmt.Sprintf("KUBE-SVC-%s-%s", s.name, proto), fmt.Sprintf("KUBE-SEP-%s-%s", s.name, proto)
			chains = append(chains, ":"+svc+" - [0:0]\n", ":"+sep+" - [0:0]\n")
			for _, ports := range servicePorts {
				rule(`KUBE-SERVICES -d %v/32 -p %s -m comment --comment "weir/%s cluster IP" -m %s --dport %d:%d -j %s`, s.addr, proto, s.name, proto, ports[0], ports[1], svc)
			}
			rule(`%s ! -s %v -d %v/32 -p %s -m comment --comment "weir/%s cluster IP" -j KUBE-MARK-MASQ`, svc, t.PodAll, s.addr, proto, s.name)
			rule(`%s -m comment --comment "weir/%s -> %v" -j %s`, svc, s.name, s.pod, sep)
			rule(`%s -s %v/32 -m comment --comment "weir/%s" -j KUBE-MARK-MASQ`, sep, s.pod, s.name)
			rule(`%s -p %s -m comment --comment "weir/%s" -m %s -j DNAT --to-destination %v`, sep, proto, s.name, proto, s.pod)
		}
		if len(chains)+len(rules) >= rulesAtOnce {
			write()
		}
	}
	write()
	restore := filter + "-restore"
	env := []string{"XTABLES_LOCKFILE=" + plan.Dir + "/xtables.lock"} // an ordinary user cannot write to /run
	return append(load(h, env, files, ".rules", restore, "--noflush"), find(h, filter+".version", restore, "--version"))
}
