package kube

import (
	"slices"
	"strings"
	"testing"

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
