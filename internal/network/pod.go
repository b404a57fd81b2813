package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// PodNetwork is the network that a cluster gives to pods, whatever its CNI plugin builds. Programs run in
// pods and use the addresses of pods. Hosts are ends, too, where the cluster admits a pod to the host's
// network.
type PodNetwork struct{}

func (PodNetwork) Where() []Where { return []Where{InKube} }

func (PodNetwork) Shape(s topo.Spec) topo.Spec {
	s.Find = topo.Find{Kind: topo.PodNet}
	return s
}

func (PodNetwork) Plan(t topo.Topology) (plan.Plan, error) {
	return found("pod", t, foundPods(t))
}
