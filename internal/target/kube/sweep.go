package kube

import (
	"context"
	"time"
)

// abandoned is how old an empty namespace must be for sweep: a run fills its own within seconds.
const abandoned = time.Hour

// sweep removes namespaces that killed runs have left empty. Nothing in a namespace can own it, so the
// next run does what the cluster cannot. What the role does not allow, it leaves.
func (t *Target) sweep(ctx context.Context) {
	var all list[namespaceObject]
	if err := t.outside().get(ctx, &all, "namespaces", "-l", labelManager+"=weir"); err != nil {
		return
	}
	for _, ns := range all.Items {
		name, run := ns.Metadata.Name, ns.Metadata.Labels[labelRun]
		made, err := time.Parse(time.RFC3339, ns.Metadata.Created)
		if err != nil || time.Since(made) < abandoned || run == "" || name != "weir-"+run || ns.Status.Phase == "Terminating" {
			continue
		}
		var left list[stored]
		if err := (kubectl{t.outside().context, name}).get(ctx, &left, "jobs,pods,services,persistentvolumeclaims"); err != nil || len(left.Items) > 0 {
			continue
		}
		if _, err := t.outside().call(ctx, nil, "delete", "namespace", name, "--ignore-not-found", "--wait=false"); err == nil {
			t.warn("removed the namespace %s, which a killed run left empty", name)
		}
	}
}
