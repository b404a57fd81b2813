package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// ClusterIP is the pod network with a Service in front of every server: clients call the Service's
// cluster address, which kube-proxy or its replacement translates to the pod's.
type ClusterIP struct{}

func (ClusterIP) Where() []Where { return []Where{InKube} }

func (ClusterIP) Shape(s topo.Spec) topo.Spec {
	s.Find = topo.Find{Kind: topo.Service}
	return s
}

func (ClusterIP) Plan(t topo.Topology) (plan.Plan, error) {
	return found("service", t, foundPods(t))
}
