package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weir-bench/weir/internal/topo"
)

// start brings the seats and Services of want to life, and those of all Wants with them. It reports
// whether it started pods.
func (t *Target) start(ctx context.Context, want topo.Topology) (started bool, err error) {
	seats, services, err := t.needs(append([]topo.Topology{want}, t.Wants...)...)
	if err != nil {
		return false, err
	}
	if err := t.makeNamespace(ctx, t.inHosts(seats)); err != nil {
		return false, err
	}
	if seats, err = t.admissible(ctx, seats, want.Find.Kind); err != nil {
		return false, err
	}
	var fresh []*seat
	for _, s := range seats {
		if !s.alive() {
			fresh = append(fresh, s)
		}
	}
	if err = t.makeJobs(ctx, fresh); err == nil {
		err = t.makeServices(ctx, services)
	}
	if err == nil {
		err = t.await(ctx, fresh)
	}
	if err != nil {
		return false, errors.Join(err, t.discard(fresh))
	}
	return len(fresh) > 0, nil
}

// makeNamespace makes the run's namespace unless there is one.
func (t *Target) makeNamespace(ctx context.Context, hosts bool) error {
	if t.Namespace != "" || t.space {
		return nil
	}
	tried := t.dirty
	t.soil(true) // also if no answer arrives
	_, err := t.outside().create(ctx, []any{t.namespaceOf(hosts)})
	switch {
	case tried && says(err, "(AlreadyExists)"): // the answer to an earlier try was lost
		err = nil
	case err != nil && !unanswered(err):
		t.soil(tried)
	}
	t.space = err == nil
	if t.space {
		t.sweep(ctx)
	}
	return err
}

// admissible returns the seats whose pods the cluster admits. Those of networks of kind must be among them.
func (t *Target) admissible(ctx context.Context, seats []*seat, kind topo.Kind) ([]*seat, error) {
	for _, host := range []bool{false, true} {
		if i := slices.IndexFunc(seats, func(s *seat) bool { return s.host == host }); i >= 0 {
			if err := t.admit(ctx, seats[i]); err != nil && (host != inPods(kind) || t.admitted[host] == nil) {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(seats, func(s *seat) bool { return t.admitted[s.host] != nil }), nil
}

// admit asks the cluster whether it would admit the pod of a seat, and remembers the answer. The Job's
// controller, which makes the pod, reports a refusal only as an event.
func (t *Target) admit(ctx context.Context, s *seat) error {
	if err, known := t.admitted[s.host]; known {
		return err
	}
	p := t.pod(s)
	p.APIVersion, p.Kind, p.Metadata = "v1", "Pod", t.meta(t.jobName(s), s.component())
	var err error
	for try := 0; try < 50; try++ {
		// A new namespace gets its service account a moment later.
		if _, err = t.inside().create(ctx, []any{p}, "--dry-run=server"); !says(err, "error looking up service account") {
			break
		}
		if err := pause(ctx, pollTime/2); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if unanswered(err) {
		return err
	}
	if says(err, "violates PodSecurity") {
		err = t.unlabeled(unadvised(err))
	}
	if err != nil {
		err = fmt.Errorf("the cluster does not admit %s in the namespace %s: %w", s, t.inside().namespace, err)
		if s.host {
			err = fmt.Errorf("no baseline: %w", err)
			if t.enforce == "" { // else Connect has warned
				t.warn("%v; host, via and ends on hosts are not measured", err)
			}
		}
	}
	if t.admitted == nil {
		t.admitted = map[bool]error{}
	}
	t.admitted[s.host] = err
	return err
}

// jobName returns the name of the next Job of a seat.
func (t *Target) jobName(s *seat) string {
	n := "weir-" + t.run + "-" + s.component()
	if s.try > 0 {
		n += fmt.Sprintf("-r%d", s.try) // an earlier pod was lost
	}
	return n
}

// makeJobs makes new Jobs for seats and removes their earlier ones.
func (t *Target) makeJobs(ctx context.Context, fresh []*seat) error {
	if len(fresh) == 0 {
		return nil
	}
	if err := t.discard(fresh); err != nil {
		return err
	}
	t.soil(true)
	var objects []any
	for _, s := range fresh {
		s.job = t.jobName(s)
		s.try++
		objects = append(objects, t.job(s))
	}
	made, err := t.inside().create(ctx, objects)
	if err != nil {
		return err
	}
	for i, s := range fresh {
		s.uid = made[i].Metadata.UID
	}
	return nil
}

// makeServices makes the Services that do not exist yet.
func (t *Target) makeServices(ctx context.Context, needs []need) error {
	needs = slices.DeleteFunc(needs, func(n need) bool { return n.services[n.serviceKey].Metadata.Name != "" || n.uid == "" })
	if len(needs) == 0 {
		return nil
	}
	var objects []any
	for _, n := range needs {
		objects = append(objects, t.service(n.seat, n.kind, n.v6, n.uid))
	}
	made, err := t.inside().create(ctx, objects)
	if says(err, "(AlreadyExists)") { // an earlier try made some of them
		if err = t.removeServices(ctx, needs); err == nil {
			made, err = t.inside().create(ctx, objects)
		}
	}
	if err != nil {
		return err
	}
	for i, n := range needs {
		if n.services == nil {
			n.services = map[serviceKey]stored{}
		}
		n.services[n.serviceKey] = made[i]
	}
	return nil
}

// removeServices deletes the Services of needs, whose names hold the run's. A Job that is new has new names.
func (t *Target) removeServices(ctx context.Context, needs []need) error {
	args := []string{"delete", "services", "--ignore-not-found"}
	for _, n := range needs {
		args = append(args, serviceName(n.seat, n.kind, n.v6))
	}
	_, err := t.inside().call(ctx, nil, args...)
	return err
}

// discard ends agents and deletes their Jobs without waiting. The Services go with them.
func (t *Target) discard(seats []*seat) error {
	args := []string{"delete", "jobs", "--ignore-not-found", "--wait=false"}
	none := len(args)
	for _, s := range seats {
		if s.job != "" {
			args = append(args, s.job)
		}
	}
	t.hangUp(seats)
	for _, s := range seats {
		*s = seat{at: s.at, host: s.host, n: s.n, try: s.try}
	}
	if len(args) == none || t.Keep {
		return nil
	}
	_, err := t.inside().call(context.Background(), nil, args...) // also when the run is canceled
	return err
}

func (t *Target) hangUp(seats []*seat) {
	var all sync.WaitGroup
	for _, s := range seats {
		if s.agent != nil {
			all.Go(func() { _ = s.agent.node.Close() }) // a lost one fails
		}
	}
	all.Wait()
}
