package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
)

// A networkPolicy denies everything in its directions to the pods that it selects.
type networkPolicy struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   meta       `json:"metadata"`
	Spec       policySpec `json:"spec"`
}

type policySpec struct {
	Pods struct {
		Labels map[string]string `json:"matchLabels"`
	} `json:"podSelector"`
	Types []string `json:"policyTypes"`
}

// labelJob is the label that its Job gives a pod.
const labelJob = "job-name"

// changing returns a Site.Apply that carries out the steps of events, which change only objects of the run, and DaemonSets that
// the user names. Agents run commands, and nothing else: pods and nodes are not weir's to change.
func (t *Target) changing(agents func(context.Context, []plan.Step) error) func(context.Context, []plan.Step) error {
	return func(ctx context.Context, steps []plan.Step) error {
		if !slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Command == nil }) {
			return agents(ctx, steps)
		}
		for i, step := range steps {
			var err error
			switch s := t.seatOf(step.In); {
			case s == nil || s.pod == "":
				err = fmt.Errorf("weir has no pod %q", step.In)
			case step.Daemon != nil:
				err = t.restart(ctx, s, step.Daemon)
			case step.Endpoint == nil && step.Policy == nil:
				err = errors.New("this pod is not weir's to change")
			case step.Endpoint != nil:
				err = t.serve(ctx, s, !step.Endpoint.Gone)
			default:
				err = t.deny(ctx, s, !step.Policy.Gone)
			}
			if err != nil {
				return fmt.Errorf("step %d of %d, in %s: %w", i+1, len(steps), step.In, err)
			}
		}
		return nil
	}
}

// seatOf returns the pod of a place; nil if there is none.
func (t *Target) seatOf(place string) *seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.seats {
		if !s.host && t.nodeName(s) == place {
			return s
		}
	}
	return nil
}

// serve makes the pod of a seat an endpoint of its Services, whose selectors want its label, or stops that.
func (t *Target) serve(ctx context.Context, s *seat, yes bool) error {
	label := labelComponent + "-"
	if yes {
		label = labelComponent + "=" + s.component()
	}
	_, err := t.inside().call(ctx, nil, "label", "pod", s.pod, label, "--overwrite")
	if yes && notFound(err) {
		return nil // it is gone, and nothing of it is left to undo
	}
	return err
}

// deny denies everything that others send to the pod of a seat, or stops that. The NetworkPolicy goes with the Job.
func (t *Target) deny(ctx context.Context, s *seat, yes bool) error {
	name := s.job + "-deny"
	if !yes {
		_, err := t.inside().call(ctx, nil, "delete", "networkpolicies", name, "--ignore-not-found")
		return err
	}
	p := networkPolicy{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy", Metadata: t.meta(name, s.component()), Spec: policySpec{Types: []string{"Ingress"}}}
	p.Spec.Pods.Labels = map[string]string{labelJob: s.job}
	p.Metadata.Owners = []owner{{"batch/v1", "Job", s.job, s.uid}}
	_, err := t.inside().create(ctx, []any{p})
	return err
}

// changes lists the permissions that the events of a study need.
func (t *Target) changes(add func(group, resource, sub string, verbs ...string)) {
	any := func(is func(plan.Step) bool) bool {
		return slices.ContainsFunc(t.Events, func(e plan.Event) bool { return slices.ContainsFunc(e.Do, is) })
	}
	if any(func(s plan.Step) bool { return s.Endpoint != nil }) {
		add("", "pods", "", "patch")
	}
	if any(func(s plan.Step) bool { return s.Policy != nil }) {
		add("networking.k8s.io", "networkpolicies", "", "create", "delete")
	}
}
