package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// Whether the product that a network stands for passes bridged packets to netfilter.
const (
	nfOff = topo.BridgeNFOff
	nfOn  = topo.BridgeNFOn
)

// bridgeNF returns the steps that state whether the bridges in a host pass packets to netfilter:
// as usual, unless the topology asks for something else. Every plan with a bridge in the host's
// network namespace has them. The kernel's own default depends on the machine's past: 1 if anything
// has ever loaded br_netfilter, absent otherwise; and 1 costs about a third of what an overlay adds.
//
// A bridge passes packets if either the namespace's key or its own attribute nf_call_iptables is
// set (net/bridge/br_netfilter_hooks.c, br_nf_pre_routing); the attribute of a new bridge is 0.
//
// A kernel without br_netfilter passes nothing, even if the product would switch it on; results then
// record bridge.nf=absent. Only a topology that asks for it fails there.
func bridgeNF(t topo.Topology, host string, usual topo.BridgeNF) []plan.Step {
	if t.Exists { // weir does not change these hosts; results record what they do
		return nil
	}
	value := "0"
	if t.BridgeNF == topo.BridgeNFOn || t.BridgeNF == topo.BridgeNFUsual && usual == nfOn {
		value = "1"
	}
	var steps []plan.Step
	for _, table := range topo.BridgeNFTables {
		steps = append(steps, plan.Step{In: host, Sysctl: &plan.Sysctl{
			Key: plan.BridgeNF + table, Value: value, Optional: t.BridgeNF != topo.BridgeNFOn}})
	}
	return steps
}
