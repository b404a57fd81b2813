package targettest

import (
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/topo"
)

// inPod opens a pod of a cluster whose kubectl is this program: a process that becomes weir through its
// shell. A real cluster passes the same tests in kube/clustertest.
func inPod(t *testing.T) subject {
	loopback(t)
	cluster := fakekube.Start(t)
	k := &kube.Target{}
	want, err := topo.New(topo.Spec{Hosts: 1, Find: topo.Find{Kind: topo.PodNet}})
	if err != nil {
		t.Fatal(err)
	}
	site, err := k.Open(t.Context(), want, "")
	if err != nil {
		t.Fatal(err)
	}
	site.Close = k.Close
	return subject{site, site.Topology.Hosts[0].Pods[0].Name, func() {
		for name := range cluster.State(t).Objects {
			if pod, ok := strings.CutPrefix(name, "Pod/"); ok {
				_ = syscall.Kill(cluster.Attached(t, pod), syscall.SIGTERM)
			}
		}
	}}
}
