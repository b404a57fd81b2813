package kube

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/kube/fakekube"
	"github.com/weir-bench/weir/internal/topo"
)

// Events change the labels of a pod and make a policy for it, both of the run, and undoing them leaves what was there.
func TestEvents(t *testing.T) {
	k, c := cluster(t)
	site := open(t, k, wants(t, 2, topo.Service)[0])
	place := site.Topology.Hosts[1].Pods[0].Name
	pod := k.seats["pod-2-1"].pod
	serves := func() bool {
		labels, _ := c.State(t).Objects["Pod/"+pod]["metadata"].(map[string]any)["labels"].(map[string]any)
		return labels[labelComponent] == "pod-2-1"
	}
	policies := func() (all []string) {
		for key := range c.State(t).Objects {
			if strings.HasPrefix(key, "NetworkPolicy/") {
				all = append(all, key)
			}
		}
		return all
	}
	apply := func(steps ...plan.Step) {
		t.Helper()
		if err := site.Apply(t.Context(), steps); err != nil {
			t.Error(err)
		}
	}
	do := []plan.Step{{In: place, Endpoint: &plan.Endpoint{Gone: true}}, {In: place, Policy: &plan.Policy{Deny: plan.Ingress}}}
	undo, err := plan.Plan{}.Inverse(do)
	if err != nil {
		t.Fatal(err)
	}
	apply(do...)
	if made := policies(); serves() || !slices.Equal(made, []string{"NetworkPolicy/" + k.seats["pod-2-1"].job + "-deny"}) {
		t.Errorf("serves %v, policies %v", serves(), made)
	}
	apply(undo...)
	if made := policies(); !serves() || made != nil {
		t.Errorf("after it was undone: serves %v, policies %v", serves(), made)
	}
	for want, step := range map[string]plan.Step{`weir has no pod "other"`: {In: "other", Endpoint: &plan.Endpoint{}}, "not weir's to change": {In: place, Set: &plan.Set{Dev: "lo", Down: true}}} {
		if err := site.Apply(t.Context(), []plan.Step{step}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c.Set(t, func(s *fakekube.State) { delete(s.Objects, "Pod/"+pod) })
	apply(plan.Step{In: place, Endpoint: &plan.Endpoint{}}) // a pod that is gone has nothing to undo
}

// A run whose events change objects asks for the permission before it makes anything.
func TestEventPermissions(t *testing.T) {
	k, c := cluster(t)
	c.Set(t, func(s *fakekube.State) { s.Denied = []string{"patch pods", "create networkpolicies"} })
	if err := k.Connect(t.Context()); err != nil {
		t.Errorf("without events: %v", err)
	}
	k.connected, k.Events = false, []plan.Event{{Do: []plan.Step{{Endpoint: &plan.Endpoint{Gone: true}}, {Policy: &plan.Policy{Deny: plan.Ingress}}}}}
	if err := k.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "patch pods, create networkpolicies") {
		t.Errorf("%v, want the permissions that are missing", err)
	}
}

// The pod of a DaemonSet that the user has named is deleted on the node of an end, and the event is undone when there is another one.
func TestRestart(t *testing.T) {
	k, c := cluster(t)
	daemon := func(name, node, ready string) {
		c.Set(t, func(s *fakekube.State) {
			s.Objects["Pod/"+name] = fakekube.Object{"kind": "Pod", "metadata": fakekube.Object{"name": name, "namespace": "net", "labels": fakekube.Object{},
				"ownerReferences": []any{fakekube.Object{"kind": "DaemonSet", "name": "agent"}}},
				"spec": fakekube.Object{"nodeName": node}, "status": fakekube.Object{"conditions": []any{fakekube.Object{"type": "Ready", "status": ready}}}}
		})
	}
	site := open(t, k, wants(t, 2, topo.PodNet)[0])
	place := site.Topology.Hosts[1].Pods[0].Name
	end := []plan.Step{{In: place, Daemon: &plan.Daemon{Name: "net/agent", Do: plan.Terminate}}}
	undo, err := plan.Plan{}.Inverse(end)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(steps []plan.Step, want string) {
		t.Helper()
		if err := site.Apply(t.Context(), steps); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	apply(end, "add --allow net/agent to weir run")
	if err := k.Allow([]string{"agent"}); err == nil || !strings.Contains(err.Error(), "want NAMESPACE/NAME") {
		t.Errorf("a DaemonSet of no namespace: %v", err)
	}
	if err := k.Allow([]string{"net/agent"}); err != nil {
		t.Fatal(err)
	}
	daemon("on-node1", "node1", "True")
	apply(end, "the DaemonSet net/agent has no pod on node node2")
	daemon("on-node2", "node2", "True")
	c.Set(t, func(s *fakekube.State) { s.Namespaces["net"] = map[string]string{} })
	apply(end, "")
	if all := c.State(t).Objects; all["Pod/on-node2"] != nil || all["Pod/on-node1"] == nil {
		t.Errorf("the pods that are left: %v", all)
	}
	daemon("again", "node2", "True")
	apply(undo, "")
	daemon("again", "node2", "False")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := site.Apply(ctx, undo); err == nil || !strings.Contains(err.Error(), "no ready pod on node node2") {
		t.Errorf("a pod that is not ready: %v", err)
	}
	c.Set(t, func(s *fakekube.State) { s.Denied = []string{"delete pods"} })
	k.connected, k.Events = false, []plan.Event{{Do: end}}
	if err := k.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "delete pods (in net)") {
		t.Errorf("%v, want the permission that is missing", err)
	}
}
