package kube

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
)

// setName matches the name of a DaemonSet: NAMESPACE/NAME.
var setName = regexp.MustCompile(`^[a-z0-9][-a-z0-9]*/[a-z0-9][-.a-z0-9]*$`)

// Allow lets events restart pods of DaemonSets, NAMESPACE/NAME each, on the nodes of the ends. Its error is a usage error.
func (t *Target) Allow(sets []string) error {
	for _, s := range sets {
		if !setName.MatchString(s) {
			return fmt.Errorf("--allow %q: want NAMESPACE/NAME, a DaemonSet whose pod an event restarts, such as kube-system/kube-proxy", s)
		}
	}
	t.allowed = append(t.allowed, sets...)
	return nil
}

// Allows returns an error for a step of an event that restarts a pod of a DaemonSet that the user has not named.
func (t *Target) Allows(s plan.Step) error {
	if s.Daemon == nil || slices.Contains(t.allowed, s.Daemon.Name) {
		return nil
	}
	return fmt.Errorf("it restarts the pod of the DaemonSet %s on the node of the %s, which weir has not made: if that is meant, add --allow %[1]s to weir run", s.Daemon.Name, s.In)
}

// restart deletes the pod of a DaemonSet on the node of a seat, and returns when it is gone, or waits until the DaemonSet has another one
// there that is ready.
func (t *Target) restart(ctx context.Context, s *seat, d *plan.Daemon) error {
	if err := t.Allows(plan.Step{In: s.at.Name, Daemon: d}); err != nil {
		return err
	}
	namespace, set, _ := strings.Cut(d.Name, "/")
	k := t.outside()
	k.namespace = namespace
	for {
		p, err := k.podOf(ctx, set, s.at.Name)
		switch {
		case err != nil:
			return err
		case d.Do == plan.Terminate && p.Metadata.Name == "":
			return advise("see what it selects: kubectl describe daemonset -n "+namespace+" "+set, "the DaemonSet %s has no pod on node %s", d.Name, s.at.Name)
		case d.Do == plan.Terminate:
			_, err := k.call(ctx, nil, "delete", "pod", p.Metadata.Name)
			return err
		case p.Metadata.Name != "" && find(p.Status.Conditions, "Ready").Status == "True":
			return nil
		}
		if err := pause(ctx, pollTime); err != nil {
			return fmt.Errorf("the DaemonSet %s has no ready pod on node %s: %w", d.Name, s.at.Name, err)
		}
	}
}

// podOf returns the pod of a DaemonSet on a node, which is not about to end; the zero pod if there is none.
func (k kubectl) podOf(ctx context.Context, set, node string) (pod, error) {
	var all list[pod]
	if err := k.get(ctx, &all, "pods", "--field-selector=spec.nodeName="+node); err != nil {
		return pod{}, err
	}
	i := slices.IndexFunc(all.Items, func(p pod) bool {
		return p.Spec.Node == node && !p.over() && slices.ContainsFunc(p.Metadata.Owners, func(o owner) bool { return o.Kind == "DaemonSet" && o.Name == set })
	})
	if i < 0 {
		return pod{}, nil
	}
	return all.Items[i], nil
}

// restarts returns the namespaces of the DaemonSets whose pods the events of a study restart.
func (t *Target) restarts() (namespaces []string) {
	for _, e := range t.Events {
		for _, s := range e.Do {
			if s.Daemon == nil {
				continue
			}
			if ns, _, _ := strings.Cut(s.Daemon.Name, "/"); !slices.Contains(namespaces, ns) {
				namespaces = append(namespaces, ns)
			}
		}
	}
	return namespaces
}
