package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/weir-bench/weir/internal/topo"
)

// Manifests returns the objects that Open makes for networks with these topologies, as YAML. Connect
// must have chosen the nodes, unless they are named. The Services lack ownerReferences, because the UIDs
// of their Jobs are not known yet.
func (t *Target) Manifests(wants []topo.Topology) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	plan := &Target{Kube: t.Kube, Ports: t.Ports, Wants: wants, HostNetwork: t.HostNetwork, run: "plan", machines: t.machines, class: t.class}
	if len(plan.machines) == 0 && !plan.any() && !plan.all() {
		plan.machines = named(t.Nodes)
	}
	if len(plan.machines) == 0 {
		return nil, fmt.Errorf("the nodes are not known yet: connect to the cluster, or name them (--nodes)")
	}
	seats, services, err := plan.needs(wants...)
	if err != nil {
		return nil, err
	}
	in := t.Namespace
	if in == "" {
		in = "weir-RANDOM"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# weir makes these objects in the namespace %s, with random characters instead of \"plan\",\n"+
		"# makes the Jobs the owners of their Services, and deletes everything at the end.\n", in)
	var objects []any
	if t.Namespace == "" {
		objects = append(objects, plan.namespaceOf(plan.inHosts(seats)))
	}
	if t.InCluster {
		objects = append(objects, plan.launches(groupsOf(seats), services)...)
		seats, services = nil, nil
	}
	for _, s := range seats {
		s.job = plan.jobName(s)
		objects = append(objects, plan.job(s))
	}
	for _, v := range services {
		objects = append(objects, plan.service(v.seat, v.kind, v.v6, ""))
	}
	for _, o := range objects {
		j, err := json.Marshal(o)
		if err == nil {
			j, err = yaml.JSONToYAML(j)
		}
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(j)
	}
	return b.Bytes(), nil
}

// launches returns what Launch makes, with placeholders for what only a run knows.
func (t *Target) launches(groups []*group, needs []need) []any {
	objects := []any{t.coordinator(groups, 0), t.order(map[string][]byte{tokenFile: []byte("RANDOM"), studyFile: {}, clusterFile: {}})}
	if t.claimName() == t.coordinatorName() {
		objects = append(objects, t.claim(nil))
	}
	services, _ := t.servicesOf(groups, needs)
	for _, v := range services {
		objects = append(objects, v)
	}
	for _, g := range groups {
		objects = append(objects, t.agents(g, "COORDINATOR:"+strconv.Itoa(coordinatorPort), 0))
	}
	return objects
}
