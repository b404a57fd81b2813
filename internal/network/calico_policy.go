package network

import (
	"fmt"
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// calicoRulesAtOnce is the most rules that one policy has. A policy is one word of a
// command line, which holds 128 KiB (execve(2)).
const calicoRulesAtOnce = 500

// calicoKey is the prefix of Calico's profiles and policies in etcd.
const calicoKey = "/calico/resources/v3/projectcalico.org/"

// policies writes to the store, as calicoctl would, the profile of all pods, which
// accepts everything as that of a Kubernetes namespace does (the CNI plugin's own
// would keep hosts out). If there are Rules, it adds policies for all pods, in which
// every rule denies an address that no packet has. The last policy accepts packets
// that no rule has matched.
//
// Note: Felix accepts packets of known connections before it consults a policy. So
// the rules delay only the first packet of a flow, unlike those of Canal and Routed.
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

// calicoPut writes a resource to the store.
func calicoPut(t topo.Topology, kind, key, name string, spec map[string]any) plan.Step {
	resource := map[string]any{"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
	return run(t.Hosts[0], etcdPut(t, calicoKey+key+name, toJSON(resource))...)
}
