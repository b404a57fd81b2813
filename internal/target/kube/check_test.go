package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/topo"
)

func TestCheck(t *testing.T) {
	k, c := cluster(t)
	var got []string
	for _, f := range k.Check(t.Context()) {
		got = append(got, fmt.Sprintf("%s %v %s", f.Name, f.OK, f.Detail))
		if f.OK != (f.Fix == "") {
			t.Errorf("%+v: a fix belongs to what is wrong", f)
		}
	}
	want := []string{"kubectl true v1.32.0", "cluster true v1.33.13", "nodes true node1, node2", "namespace true default", "permissions true all that a run needs",
		"host network true not forbidden by the namespace's labels", "CPU limit true no LimitRange sets one"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	c.Set(t, func(s *fakekube.State) {
		s.Denied = []string{"create pods/attach", "delete services"}
		s.Namespaces["default"]["pod-security.kubernetes.io/enforce"] = "baseline"
	})
	fs := k.Check(t.Context())
	last := fs[len(fs)-1]
	if last.Name != "permissions" || last.OK || last.Detail != "the cluster forbids in namespace default: create pods/attach, delete services" || !strings.Contains(last.Fix, "docs/kubernetes.md") {
		t.Errorf("%+v", last)
	}
	c.Set(t, func(s *fakekube.State) { s.Denied = nil })
	fs = k.Check(t.Context())
	if last := fs[len(fs)-2]; last.Name != "host network" || last.OK || !strings.Contains(last.Fix, "kubectl label namespace default pod-security.kubernetes.io/enforce=privileged") {
		t.Errorf("%+v", last)
	}
	if n := len(c.State(t).Objects); n > 0 {
		t.Errorf("Check made %d objects", n)
	}
}

// A LimitRange that limits containers is told before a run, whichever way it does so; other ones are not.
func TestCPULimit(t *testing.T) {
	for _, c := range []struct {
		limits fakekube.Object
		want   string
	}{
		{fakekube.Object{"type": "Container", "default": fakekube.Object{"cpu": "200m"}, "max": fakekube.Object{"cpu": "4"}}, "limits weir's containers (cpu: 200m)"},
		{fakekube.Object{"type": "Container", "max": fakekube.Object{"cpu": "2"}}, "limits weir's containers (cpu: 2)"},
		{fakekube.Object{"type": "Container", "default": fakekube.Object{"memory": "1Gi"}}, ""},
		{fakekube.Object{"type": "Pod", "max": fakekube.Object{"cpu": "8"}}, ""},
	} {
		k, of := cluster(t)
		of.Set(t, func(s *fakekube.State) { s.Limits = []fakekube.Object{c.limits} })
		said := hears(k)
		fs := k.Check(t.Context())
		if last := fs[len(fs)-1]; last.Name != "CPU limit" || last.OK != (c.want == "") || !strings.Contains(last.Detail, c.want) {
			t.Errorf("%v: %+v", c.limits, last)
		}
		if err := k.Connect(t.Context()); err != nil || strings.Contains(strings.Join(*said, "\n"), "limits weir's containers") != (c.want != "") {
			t.Errorf("%v: said %q, %v", c.limits, *said, err)
		}
		of.Set(t, func(s *fakekube.State) {
			s.Fail = []fakekube.Failure{{Call: "get limitranges", Said: `Error from server (Forbidden): limitranges is forbidden: User "u" cannot list resource "limitranges" in API group "" in the namespace "default"`}}
		})
		if fs = k.Check(t.Context()); !fs[len(fs)-1].OK {
			t.Errorf("not allowed to look: %+v", fs[len(fs)-1])
		}
	}
}

// A pod whose kernel is not the node's is in a sandbox.
func TestSandbox(t *testing.T) {
	k, c := cluster(t)
	c.Set(t, func(s *fakekube.State) {
		s.Nodes[1]["status"].(map[string]any)["nodeInfo"] = fakekube.Object{"kernelVersion": "2.6.32", "operatingSystem": "linux"}
	})
	said := hears(k)
	site := open(t, k, wants(t, 2, topo.PodNet)[0])
	for name, want := range map[string]string{"node1-p1": "", "node2-p1": "sandboxed"} {
		if f, err := site.Nodes[name].Host().Facts(t.Context()); err != nil || f.Sandbox != want {
			t.Errorf("%s: sandbox %q, %v, want %q", name, f.Sandbox, err, want)
		}
	}
	if got := site.Found[foundSandboxed]; !strings.HasPrefix(got, "node2: pods have kernel ") || !strings.HasSuffix(got, ", the node 2.6.32") {
		t.Errorf("found %q", got)
	}
	if len(*said) != 1 || !strings.Contains((*said)[0], "CPU time of the node is unknown") {
		t.Errorf("warnings %q", *said)
	}
	run := k.run
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if open(t, k, wants(t, 2, topo.PodNet)[0]); k.run == run {
		t.Errorf("two runs are called %s", run)
	}
}

// The nodes of a label are those that can run pods.
func TestLabeled(t *testing.T) {
	k, c := cluster(t)
	c.Set(t, func(s *fakekube.State) {
		s.Nodes = nil
		for name, pool := range map[string]string{"n1": "old", "n2": "old", "n3": "new", "n4": "new", "n5": "new"} {
			n := fakekube.Node(name, "")
			n["metadata"].(fakekube.Object)["labels"] = fakekube.Object{"pool": pool}
			n["spec"].(fakekube.Object)["unschedulable"] = name == "n4"
			s.Nodes = append(s.Nodes, n)
		}
	})
	for label, want := range map[string]string{"pool=old": "n1 n2", "pool=new": "n3 n5", "pool=none": ""} {
		if got, err := k.Labeled(t.Context(), label); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v, want %s", label, got, err, want)
		}
	}
}
