package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// NodePort is the pod network with a Service in front of every server, which opens a port on all nodes:
// clients call that port of the node that runs the server's pod.
type NodePort struct{}

func (NodePort) Where() []Where { return []Where{InKube} }

func (NodePort) Shape(s topo.Spec) topo.Spec {
	s.Find = topo.Find{Kind: topo.NodePort}
	return s
}

func (NodePort) Plan(t topo.Topology) (plan.Plan, error) {
	return found("nodeport", t, foundPods(t))
}
