package kube

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/weir-bench/weir/internal/target/agent"
)

// launched matches what Launch returns.
var launched = regexp.MustCompile(`^weir-([a-z0-9]{1,40})$`)

// ErrEnded means that a run's coordinator is gone, and with it what only it had.
var ErrEnded = errors.New("the coordinator has ended")

// Adopt makes the run that an earlier Launch started this target's own. The error is a *UsageError if the
// name or the namespace is wrong.
func (t *Target) Adopt(ctx context.Context, job string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := launched.FindStringSubmatch(job)
	if m == nil {
		return &UsageError{fmt.Errorf("%q is not the Job of a coordinator, such as weir-x7ab2c9d; kubectl get jobs -A -l %s=%s lists them", job, labelComponent, coordination)}
	}
	t.run = m[1]
	t.name()
	for _, look := range []func(context.Context) (string, error){t.checkKubectl, t.checkCluster, t.checkNamespace} {
		if _, err := look(ctx); err != nil {
			return err
		}
	}
	if t.Namespace == "" {
		if err := t.checkOwn(ctx); err != nil {
			return err
		}
	}
	t.connected = true
	return nil
}

// checkOwn returns an error unless the namespace with the run's name is one that weir made for it, which
// Close can delete.
func (t *Target) checkOwn(ctx context.Context) error {
	var ns namespaceObject
	name := t.inside().namespace
	err := t.outside().get(ctx, &ns, "namespace", name)
	if l := ns.Metadata.Labels; err == nil && (l[labelManager] != "weir" || l[labelRun] != t.run) {
		err = fmt.Errorf("weir has not made the namespace %s", name)
	} else if err != nil && !notFound(err) {
		return err
	}
	if err != nil {
		return &UsageError{advise("correct --attach, or name the namespace of the run (-N)", "the cluster has no run weir-%s in a namespace of its own: %w", t.run, unadvised(err))}
	}
	return nil
}

// View starts an agent next to the coordinator of the run, to look at it and to bring its results home.
// The caller closes it. The error wraps ErrEnded if there is no coordinator any more.
func (t *Target) View(ctx context.Context) (*agent.Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in, job := t.inside(), t.coordinatorName()
	var pods list[pod]
	if err := in.get(ctx, &pods, "pods", "-l", t.selector()+","+labelComponent+"="+coordination); err != nil {
		return nil, err
	}
	why := ""
	for _, p := range pods.Items {
		s := &seat{what: "the coordinator", at: &Machine{Name: oneLine(p.Spec.Node)}, job: job, pod: p.Metadata.Name}
		if why = p.end(); why == "" {
			return t.dial(ctx, s, coordination, nil, "exec", "--stdin", "--quiet", "--container=weir", "pod/"+s.pod, "--", "/weir", "agent")
		}
	}
	if why != "" {
		return nil, fmt.Errorf("%w: %s in the namespace %s: %s", ErrEnded, job, in.namespace, why)
	}
	return nil, fmt.Errorf("%w: the cluster has no pod of %s in the namespace %s%s", ErrEnded, job, in.namespace, in.jobEnd(ctx, seat{job: job}))
}
