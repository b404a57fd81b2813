package kube

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

var update = flag.Bool("update", false, "write golden files")

// A coordinator requests the memory of a large run, and keeps to what it requests.
func TestCoordinatorMemory(t *testing.T) {
	for asked, want := range map[string]string{"": coordinatorMemory, "1Gi": "1Gi", "1.5G": "1.5G", "300M": "300M"} {
		limit := map[string]string{"": "1024Mi", "1Gi": "2Gi", "1.5G": "3G", "300M": "600M"}[asked]
		b, err := (&Target{Kube: study.Kube{Nodes: []string{"a"}, Image: "i", InCluster: true, Memory: asked}}).Manifests(wants(t, 1, topo.PodNet))
		if err != nil {
			t.Fatal(err)
		}
		coordinator, _, _ := strings.Cut(string(b[strings.Index(string(b), "coordinate"):]), "volumes:")
		for _, part := range []string{"limits:\n            memory: ", limit, "memory: " + want, "name: GOMEMLIMIT", "resource: requests.memory"} {
			if !strings.Contains(coordinator, part) {
				t.Errorf("memory: %q: no %q in\n%s", asked, part, coordinator)
			}
		}
	}
}

// script matches the only long line of a manifest.
var script = regexp.MustCompile(`(?m)^( +- ).{300,}$`)

func TestManifests(t *testing.T) {
	six, err := topo.New(topo.Spec{Hosts: 1, Pods: 2, PodsIPv6: true, Find: topo.Find{Kind: topo.NodePort}})
	if err != nil {
		t.Fatal(err)
	}
	named := study.Kube{Namespace: "team", Nodes: []string{"node1", "node2"}, Image: "registry.example/weir:1"}
	made := named
	made.Namespace, made.Image = "", ""
	for name, c := range map[string]struct {
		target *Target
		wants  []topo.Topology
	}{
		"pod":       {&Target{Kube: named}, wants(t, 2, topo.PodNet)},
		"host":      {&Target{Kube: made}, wants(t, 2, topo.Hosts)},
		"service":   {&Target{Kube: named}, wants(t, 2, topo.Service, topo.PodNet)},
		"nodeport6": {&Target{Kube: study.Kube{Namespace: "team", Nodes: []string{"no"}, Image: "i", Keep: true}, HostNetwork: true}, []topo.Topology{six}},
		"tainted": {&Target{Kube: named, machines: []*Machine{{Name: "node1", number: 1, taints: []taint{{"dedicated", "yes", "NoSchedule"}, {"gpu", "", "NoExecute"}}}}},
			wants(t, 1, topo.PodNet)},
		"incluster": {&Target{Kube: study.Kube{Namespace: "team", Nodes: []string{"node1", "node2"}, Image: "registry.example/weir:1", InCluster: true, Volume: "results",
			PullSecret: "registry", Tolerations: []string{"dedicated=net:NoSchedule", "gpu"}, CPU: "500m", Memory: "1Gi"}}, wants(t, 2, topo.Hosts, topo.Service)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.target.Manifests(c.wants)
			if err != nil {
				t.Fatal(err)
			}
			got = script.ReplaceAll(got, []byte("${1}SCRIPT")) // it is package remote's
			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(got) != string(want) {
				t.Errorf("%v; got:\n%s", err, got)
			}
		})
	}
	if _, err := (&Target{}).Manifests(wants(t, 2, topo.Hosts)); err == nil || !strings.Contains(err.Error(), "--nodes") {
		t.Errorf("nodes that nobody knows: %v", err)
	}
}

// The page for users lists every permission that a run asks for.
func TestDocumentedPermissions(t *testing.T) {
	b, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	needed := (&Target{Kube: study.Kube{Namespace: "team"}}).permissions()
	for _, p := range append(needed, (&Target{Kube: study.Kube{Namespace: "team", InCluster: true}}).permissions()...) {
		resource := p.Resource
		if p.Subresource != "" {
			resource += "/" + p.Subresource
		}
		rule := regexp.MustCompile(`apiGroups: \["` + p.Group + `"\], resources: \[[^\]]*\b` + resource + `\b[^\]/]*\], verbs: \[[^\]]*\b` + p.Verb + `\b`)
		if !rule.Match(b) {
			t.Errorf("docs/kubernetes.md does not list %s", p)
		}
	}
}
