package network

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// calicoRulesAtOnce are a policy's, at most. It is one word of a command line, which
// holds 128 KiB (execve(2)).
const calicoRulesAtOnce = 500

// calicoKey is where Calico keeps its policies for all namespaces in etcd.
const calicoKey = "/calico/resources/v3/projectcalico.org/globalnetworkpolicies/"

// policies puts Rules into the store, as calicoctl would: policies for all pods, each
// rule of which denies an address that no packet has. The last one lets pass what no
// rule has matched.
//
// Note: Felix lets pass what belongs to a connection before it asks a policy. So the
// rules cost the first packet of a flow alone, unlike those of Canal and Routed.
func (n CalicoNode) policies(t topo.Topology) ([]plan.Step, error) {
	if n.Rules < 0 || n.Rules > maxRules {
		return nil, fmt.Errorf("calico: %d rules is outside 0..%d", n.Rules, maxRules)
	}
	type rule map[string]any
	var steps []plan.Step
	addr := netip.MustParseAddr("240.0.0.0")
	for first := 0; first < n.Rules; first += calicoRulesAtOnce {
		var in, out []rule
		for range min(calicoRulesAtOnce, n.Rules-first) {
			addr = addr.Next()
			nets := map[string]any{"nets": []string{alone(addr).String()}}
			in = append(in, rule{"action": "Deny", "source": nets})
			out = append(out, rule{"action": "Deny", "destination": nets})
		}
		if first+len(in) == n.Rules {
			in, out = append(in, rule{"action": "Allow"}), append(out, rule{"action": "Allow"})
		}
		name := fmt.Sprint("default.weir-", len(steps)+1) // of the tier default
		b, err := json.Marshal(map[string]any{
			"apiVersion": "projectcalico.org/v3", "kind": "GlobalNetworkPolicy", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"tier": "default", "order": len(steps) + 1, "selector": "all()",
				"types": []string{"Ingress", "Egress"}, "ingress": in, "egress": out}})
		if err != nil {
			return nil, fmt.Errorf("calico: %w", err)
		}
		steps = append(steps, plan.Step{In: t.Hosts[0].Name, Exec: &plan.Exec{Argv: etcdPut(t, calicoKey+name, string(b))}})
	}
	return steps, nil
}
