package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

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

// replaceTime bounds the wait for the pod that replaces a lost one. Another node may have to give up the volume first:
// the cluster waits six minutes for a node that does not answer (kube-controller-manager, attach_detach_controller.go).
const replaceTime = 8 * time.Minute

// View starts an agent next to the coordinator of the run, to look at it and to bring its results home, and returns it
// with the name of the pod. It waits for a pod that takes the place of a lost one. The caller closes the agent. The error
// wraps ErrEnded if what only the coordinator had is lost.
func (t *Target) View(ctx context.Context) (n *agent.Node, pod string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lead *seat
	for begin := time.Now(); lead == nil; {
		if lead, err = t.lead(ctx); err != nil {
			return nil, "", err
		}
		if lead.pod != "" {
			break
		}
		if time.Since(begin) > cmp.Or(t.ready, replaceTime) {
			return nil, "", advise("kubectl describe pods shows more", "no pod of %s runs after %v (%s)", lead.job, replaceTime, lead.said)
		}
		lead = nil
		if err := pause(ctx, pollTime); err != nil {
			return nil, "", err
		}
	}
	n, err = t.dial(ctx, lead, coordination, nil, "exec", "--stdin", "--quiet", "--container=weir", "pod/"+lead.pod, "--", "/weir", "agent")
	return n, lead.pod, err
}

// lead returns the seat of the coordinator; without a pod, what it waits for.
func (t *Target) lead(ctx context.Context) (*seat, error) {
	in, s := t.inside(), &seat{what: "the coordinator", at: &Machine{}, job: t.coordinatorName(), said: "its Job has no pod"}
	var pods list[pod]
	if err := in.get(ctx, &pods, "pods", "-l", t.selector()+","+labelComponent+"="+coordination); err != nil {
		return nil, err
	}
	var j jobObject
	err := in.get(ctx, &j, "job", s.job)
	if err != nil && !notFound(err) {
		return nil, err
	}
	t.kept = j.claimed()
	lost, why := j.Status.Failed+len(j.Status.Uncounted.Failed) > 0, "the cluster has no pod of it"
	for _, p := range pods.Items {
		runs, how, _ := p.state()
		switch {
		case p.over():
			lost, why = true, how
		case runs:
			s.pod, s.at = p.Metadata.Name, &Machine{Name: oneLine(p.Spec.Node)}
			for _, c := range p.Status.Containers {
				if c.Last.Terminated != nil {
					why = c.Last.Terminated.how()
					t.replaced(why)
				}
			}
		default:
			s.said = how
		}
	}
	switch {
	case notFound(err) || j.finished() || lost && !t.kept:
		return nil, fmt.Errorf("%w: %s in the namespace %s: %s%s", ErrEnded, s.job, in.namespace, why, j.end())
	case lost && s.pod != "":
		t.replaced(why)
	}
	return s, nil
}

// replaced warns once why a coordinator has not ended its run.
func (t *Target) replaced(why string) {
	if t.told != why {
		t.warn("the coordinator was lost (%s); another one hands out what it had measured", why)
	}
	t.told = why
}
