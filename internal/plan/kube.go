package plan

import (
	"net/netip"
	"strconv"
)

// APIPort is where a plan's stand-in for a Kubernetes API server listens, on its host.
const APIPort = 6443

// KubeObjects are what a stand-in for a Kubernetes API server tells (package kubeapi).
type KubeObjects struct {
	Nodes    map[string]netip.Addr `json:"nodes"`
	Services []KubeService         `json:"services"`
}

// A KubeService is a Service with one endpoint.
type KubeService struct {
	Name     string     `json:"name"`
	Addr     netip.Addr `json:"addr"`     // its cluster address
	Endpoint netip.Addr `json:"endpoint"` // a pod
	Ports    [][2]int   `json:"ports"`    // ranges, ends included
	Protos   []string   `json:"protos"`   // of each port: TCP, UDP
}

// EachPort calls f for each port and protocol, with a name as Kubernetes wants one.
func (s KubeService) EachPort(f func(name, protocol string, port int)) {
	for _, r := range s.Ports {
		for port := r[0]; port <= r[1]; port++ {
			for _, proto := range s.Protos {
				f("p"+strconv.Itoa(port)+map[string]string{"TCP": "t", "UDP": "u"}[proto], proto, port)
			}
		}
	}
}

// An Endpoint changes the endpoint of a Service, in an event: the stand-in for an API server in the place tells those who watch.
// In a cluster, the place is the pod behind the Service, whose selector it no longer matches.
type Endpoint struct {
	Service string `json:"service"`        // named like the pod behind it; none in a cluster
	Gone    bool   `json:"gone,omitempty"` // remove it, instead of adding it again
}

// A Policy is a NetworkPolicy of Kubernetes for the pod of the place, in an event in a cluster.
type Policy struct {
	Deny string `json:"deny"`           // Ingress
	Gone bool   `json:"gone,omitempty"` // remove it instead
}

// Ingress is everything that others send to the pod.
const Ingress = "ingress"
