package network

import (
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// PodNetwork is the network that a cluster gives to pods, whatever its CNI plugin builds. Programs run in
// pods and use the addresses of pods. Hosts are ends, too, where the cluster admits a pod to the host's
// network.
type PodNetwork struct{}

func (PodNetwork) Where() []Where                          { return []Where{InKube} }
func (PodNetwork) Shape(s topo.Spec) topo.Spec             { return finding(s, topo.PodNet) }
func (PodNetwork) Plan(t topo.Topology) (plan.Plan, error) { return found("pod", t, foundPods(t)) }

// ClusterIP is the pod network with a Service in front of every server: clients call the Service's
// cluster address, which kube-proxy or its replacement translates to the pod's.
type ClusterIP struct{}

func (ClusterIP) Where() []Where                          { return []Where{InKube} }
func (ClusterIP) Shape(s topo.Spec) topo.Spec             { return finding(s, topo.Service) }
func (ClusterIP) Plan(t topo.Topology) (plan.Plan, error) { return found("service", t, foundPods(t)) }

// NodePort is the pod network with a Service in front of every server, which opens a port on all nodes:
// clients call that port of the node that runs the server's pod.
type NodePort struct{}

func (NodePort) Where() []Where                          { return []Where{InKube} }
func (NodePort) Shape(s topo.Spec) topo.Spec             { return finding(s, topo.NodePort) }
func (NodePort) Plan(t topo.Topology) (plan.Plan, error) { return found("nodeport", t, foundPods(t)) }

func finding(s topo.Spec, kind topo.Kind) topo.Spec {
	s.Find = topo.Find{Kind: kind}
	return s
}
