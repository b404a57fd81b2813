package network

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// nftServices gives h the rules of kube-proxy's mode nftables (kubernetes v1.33,
// pkg/proxy/nftables/proxier.go): a map from address, protocol and port to the chain of a Service.
func nftServices(t topo.Topology, h topo.Host, services []clusterService) []plan.Step {
	var pods strings.Builder
	var addrs, calls []string
	for _, s := range services {
		addrs = append(addrs, s.addr.String())
		if !s.pod.IsValid() {
			calls = append(calls, fmt.Sprintf("%v . tcp . %d : goto service-other", s.addr, unusedPort))
			continue
		}
		fmt.Fprintf(&pods, "\tchain endpoint-%s {\n\t\tip saddr %v jump mark-for-masquerade\n\t\tdnat to %v\n\t}\n", s.name, s.pod, s.pod)
		fmt.Fprintf(&pods, "\tchain service-%s {\n\t\tip daddr %v ip saddr != %v jump mark-for-masquerade\n\t\tnumgen random mod 1 vmap { 0 : goto endpoint-%s }\n\t}\n", s.name, s.addr, t.PodAll, s.name)
		for _, ports := range servicePorts {
			for port := ports[0]; port <= ports[1]; port++ {
				for _, proto := range []string{"tcp", "udp"} {
					calls = append(calls, fmt.Sprintf("%v . %s . %d : goto service-%s", s.addr, proto, port, s.name))
				}
			}
		}
	}
	files := []string{fmt.Sprintf(`table ip kube-proxy {
	set cluster-ips {
		type ipv4_addr
	}
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
	}
	map no-endpoint-services {
		type ipv4_addr . inet_proto . inet_service : verdict
	}
	chain mark-for-masquerade {
		meta mark set meta mark or 0x4000
	}
	chain masquerading {
		meta mark and 0x4000 == 0 return
		meta mark set meta mark xor 0x4000
		masquerade fully-random
	}
	chain service-other {
	}
%s	chain services {
		ip daddr . meta l4proto . th dport vmap @service-ips
	}
	chain service-endpoints-check {
		ip daddr . meta l4proto . th dport vmap @no-endpoint-services
	}
	chain cluster-ips-check {
		ip daddr @cluster-ips reject
		ip daddr %v drop
	}
	chain filter-forward {
		type filter hook forward priority -110
		ct state new jump service-endpoints-check
		ct state new jump cluster-ips-check
	}
	chain nat-prerouting {
		type nat hook prerouting priority dstnat
		jump services
	}
	chain nat-output {
		type nat hook output priority -100
		jump services
	}
	chain nat-postrouting {
		type nat hook postrouting priority srcnat
		jump masquerading
	}
}
`, pods.String(), serviceNet)}
	files = append(files, elements("cluster-ips", addrs)...)
	files = append(files, elements("service-ips", calls)...)
	return append(load(h, nil, files, ".nft", "nft", "-f"), find(h, "nft.version", "nft", "--version"))
}

// elements returns files that add the elements to a set or map, few enough in each for an ordinary
// user's socket buffer.
func elements(set string, all []string) []string {
	var files []string
	for first := 0; first < len(all); first += rulesAtOnce {
		part := all[first:min(first+rulesAtOnce, len(all))]
		files = append(files, fmt.Sprintf("add element ip kube-proxy %s {\n\t%s\n}\n", set, strings.Join(part, ",\n\t")))
	}
	return files
}
