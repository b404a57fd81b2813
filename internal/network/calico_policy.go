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

// calicoKey is where Calico keeps profiles and policies in etcd.
const calicoKey = "/calico/resources/v3/projectcalico.org/"

// policies puts into the store, as calicoctl would, the profile of all pods, which lets
// all pass as that of a Kubernetes namespace does (the plugin's own would keep hosts
// out), and Rules: policies for all pods, each rule of which denies an address that no
// packet has. The last one lets pass what no rule has matched.
//
// Note: Felix lets pass what belongs to a connection before it asks a policy. So the
// rules cost the first packet of a flow alone, unlike those of Canal and Routed.
func (n CalicoNode) policies(t topo.Topology) ([]plan.Step, error) {
	if err := checkRules("calico", n.Rules); err != nil {
		return nil, err
	}
	type rule map[string]any
	allow := rule{"action": "Allow"}
	steps, err := calicoPut(t, nil, "Profile", "profiles/", calicoNet, map[string]any{"ingress": []rule{allow}, "egress": []rule{allow}})
	if err != nil {
		return nil, err
	}
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
			in, out = append(in, allow), append(out, allow)
		}
		order := len(steps) // of those in the tier default
		steps, err = calicoPut(t, steps, "GlobalNetworkPolicy", "globalnetworkpolicies/", fmt.Sprint("default.weir-", order), map[string]any{
			"tier": "default", "order": order, "selector": "all()",
			"types": []string{"Ingress", "Egress"}, "ingress": in, "egress": out})
		if err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// calicoPut adds to steps that a resource gets into the store.
func calicoPut(t topo.Topology, steps []plan.Step, kind, key, name string, spec map[string]any) ([]plan.Step, error) {
	b, err := json.Marshal(map[string]any{
		"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("calico: %w", err)
	}
	return append(steps, plan.Step{In: t.Hosts[0].Name, Exec: &plan.Exec{Argv: etcdPut(t, calicoKey+key+name, string(b))}}), nil
}
