package network

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// ipvsDev has the cluster addresses, so that packets for them reach IPVS, which acts on what a host
// receives for itself.
const ipvsDev = "kube-ipvs0"

// needIPVS fails without IPVS in the kernel: ipvsadm loads its module.
func needIPVS(h topo.Host) plan.Step {
	version := find(h, "ipvsadm.version", "ipvsadm", "--version")
	version.Exec.Remedy = "not supported by this kernel unless it has CONFIG_IP_VS; load its module as root (modprobe ip_vs), or boot a kernel built with it, as weir run --in-vm does"
	return version
}

// ipvsServices gives h what kube-proxy's mode ipvs makes (kubernetes v1.33, pkg/proxy/ipvs/proxier.go):
// a virtual server for every address, protocol and port. What a host itself sends has a cluster
// address as its source there and must be masqueraded; one nftables rule does that, where kube-proxy has
// iptables and sets.
func ipvsServices(h topo.Host, services []clusterService) []plan.Step {
	steps := []plan.Step{needIPVS(h),
		sysctl(h.Name, "net.ipv4.vs.conntrack", "1"),
		{In: h.Name, Link: &plan.Link{Name: ipvsDev, Kind: "dummy"}}}
	var servers strings.Builder
	for _, s := range services {
		steps = append(steps, plan.Step{In: h.Name, Addr: &plan.Addr{Dev: ipvsDev, Prefix: hostPrefix(s.addr)}})
		if !s.pod.IsValid() {
			fmt.Fprintf(&servers, "-A -t %v:%d -s rr\n", s.addr, unusedPort)
			continue
		}
		for _, ports := range servicePorts {
			for port := ports[0]; port <= ports[1]; port++ {
				for _, proto := range []string{"-t", "-u"} {
					fmt.Fprintf(&servers, "-A %s %v:%d -s rr\n-a %s %v:%d -r %v:%d -m\n", proto, s.addr, port, proto, s.addr, port, s.pod, port)
				}
			}
		}
	}
	masquerade := fmt.Sprintf("table ip kube-proxy {\n\tchain nat-postrouting {\n\t\ttype nat hook postrouting priority srcnat\n\t\tip saddr %v masquerade\n\t}\n}\n", serviceNet)
	steps = append(steps, load(h, nil, []string{masquerade}, ".nft", "nft", "-f")...)
	return append(steps,
		plan.Step{In: h.Name, File: &plan.File{Name: "services.ipvs", Content: servers.String()}},
		run(h, "sh", "-c", "ipvsadm --restore <"+plan.Dir+"/services.ipvs"))
}
