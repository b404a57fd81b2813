package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
)

const (
	pollTime = 500 * time.Millisecond
	// readyTime bounds the wait for pods to run. Images of some megabytes arrive within it.
	readyTime = 3 * time.Minute
	// podTime is how long a Job's controller takes to make a pod, unless the cluster refuses it.
	podTime = 3 * time.Second
	// whyTime bounds the search for the reason of a lost connection.
	whyTime = 10 * time.Second
	// attaching is how many kubectl attach start at a time; each sends the program of about 20 MB.
	attaching = 8
)

func (t *Target) readyWithin() time.Duration { return cmp.Or(t.ready, readyTime) }

// pause waits for d.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits until the pods of seats run, and attaches to each as soon as it does.
func (t *Target) await(ctx context.Context, fresh []*seat) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	slots := make(chan struct{}, attaching)
	err := t.awaitPods(ctx, fresh, func(s *seat) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := caught.Error(func() error { return t.attach(ctx, s) }); err != nil {
				cancel(err)
			}
		})
	})
	if err != nil {
		cancel(err)
	}
	all.Wait()
	return context.Cause(ctx)
}

// awaitPods waits until the pods of seats run, and calls runs for each as soon as it does.
func (t *Target) awaitPods(ctx context.Context, fresh []*seat, runs func(*seat)) error {
	waiting := map[string]*seat{} // by Job
	for _, s := range fresh {
		waiting[s.job] = s
	}
	for begin := time.Now(); len(waiting) > 0; {
		ready, err := t.look(ctx, waiting, time.Since(begin))
		if unanswered(err) && !errors.As(err, new(never)) && ctx.Err() == nil && time.Since(begin) <= t.readyWithin() {
			err = nil // pods need the API server less than weir does: ask again
		}
		if err == nil && time.Since(begin) > t.readyWithin() && len(ready) < len(waiting) {
			err = t.late(waiting, ready)
		}
		if err != nil {
			return err
		}
		for _, s := range ready {
			delete(waiting, s.job)
			runs(s)
		}
		if len(waiting) > 0 {
			if err := pause(ctx, pollTime); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Target) late(waiting map[string]*seat, ready []*seat) error {
	var why []string
	for _, s := range waiting {
		if !slices.Contains(ready, s) {
			why = append(why, fmt.Sprintf("%s: %s", s, s.said))
		}
	}
	slices.Sort(why)
	return advise("kubectl describe pods shows more; load the image on the nodes before the run if that is what takes long",
		"pods do not run after %v (%s)", t.readyWithin(), few(why))
}

// look asks once for the pods of waiting seats and returns those that run. The error says why one of
// them never will.
func (t *Target) look(ctx context.Context, waiting map[string]*seat, since time.Duration) (ready []*seat, err error) {
	var pods list[pod]
	if err := t.inside().get(ctx, &pods, "pods", "-l", t.selector()); err != nil {
		return nil, err
	}
	seen := map[*seat]bool{}
	for _, p := range pods.Items {
		if len(p.Metadata.Owners) == 0 || waiting[p.Metadata.Owners[0].Name] == nil {
			continue
		}
		s := waiting[p.Metadata.Owners[0].Name]
		seen[s], s.pod = true, p.Metadata.Name
		runs, why, final := p.state()
		switch {
		case runs:
			s.addrs, s.hostIPs = p.addrs(), p.hostIPs()
			ready = append(ready, s)
		case final:
			if strings.Contains(s.said, "ErrImagePull: ") && !strings.Contains(why, "ErrImagePull: ") {
				why = s.said // the second message only says that kubelet waits
			}
			return nil, failed(s, why)
		default:
			s.said = why
		}
	}
	for _, s := range waiting {
		if !seen[s] {
			s.said = "its Job has no pod"
		}
		if !seen[s] && since > cmp.Or(t.podSoon, podTime) {
			if why := t.events(ctx, s.job); why != "" {
				return nil, failed(s, why)
			}
		}
		if seen[s] && since > t.readyWithin() {
			if why := t.events(ctx, s.pod); why != "" {
				s.said += "; " + why
			}
		}
	}
	return ready, nil
}

// A never says why a pod will never start, or why an answer cannot be used. Asking again would not help.
type never struct{ error }

func (n never) Unwrap() error { return n.error }

func failed(s *seat, why string) error {
	if fix := remedy(why); fix != "" {
		return never{advise(fix, "%s does not start: %s", s, why)}
	}
	return never{fmt.Errorf("%s does not start: %s", s, why)}
}

// events returns the latest warning about an object, or "".
func (t *Target) events(ctx context.Context, name string) string {
	if name == "" {
		return ""
	}
	var events list[event]
	if err := t.inside().get(ctx, &events, "events", "--field-selector=involvedObject.name="+name); err != nil {
		return "" // a role can lack this permission
	}
	return latest(events.Items)
}

func latest(events []event) (why string) {
	last := ""
	for _, e := range events {
		if e.Type == "Warning" && e.Last >= last {
			last, why = e.Last, bounded(oneLine(e.Reason)+": "+oneLine(e.Message))
		}
	}
	return why
}

// hopeless are the reasons of a waiting container that do not pass (pkg/kubelet/images/types.go,
// pkg/kubelet/kuberuntime/kuberuntime_container.go). A first failure to pull an image can pass.
var hopeless = []string{"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}

// unbound is the scheduler's reason while a claim waits for its volume, which can be made or found within seconds
// (ErrReasonUnboundImmediatePVCs, pkg/scheduler/framework/plugins/volumebinding).
const unbound = "unbound immediate PersistentVolumeClaims"

// state reports whether a pod runs; if not, why, and whether that is final.
func (p pod) state() (runs bool, why string, final bool) {
	if ended := p.end(); ended != "" {
		return false, ended, true
	}
	for _, c := range p.Status.Containers {
		switch w := c.State.Waiting; {
		case c.State.Running != nil && len(p.addrs()) > 0:
			return true, "", false
		case w != nil:
			why := bounded(strings.TrimSuffix(oneLine(w.Reason)+": "+oneLine(w.Message), ": "))
			return false, why, slices.Contains(hopeless, w.Reason)
		}
	}
	if c := find(p.Status.Conditions, "PodScheduled"); c.Status == "False" {
		return false, bounded(oneLine(c.Reason) + ": " + oneLine(c.Message)), c.Reason == "Unschedulable" && !strings.Contains(c.Message, unbound)
	}
	return false, strings.TrimSpace("phase " + oneLine(p.Status.Phase)), false
}

// end returns why a pod has ended or is about to, in the cluster's words; "" while it lives.
func (p pod) end() string {
	var why []string
	say := func(reason, message string) {
		if s := strings.TrimSuffix(oneLine(reason)+": "+oneLine(message), ": "); s != "" {
			why = append(why, s)
		}
	}
	if p.Status.Reason != "" { // Evicted, NodeLost, Preempting, Shutdown, …
		say(p.Status.Reason, p.Status.Message)
	}
	if c := find(p.Status.Conditions, "DisruptionTarget"); c.Status == "True" {
		say(c.Reason, c.Message)
	}
	for _, c := range p.Status.Containers {
		if end := c.State.Terminated; end != nil {
			say(end.how(), end.Message)
		}
	}
	if p.Metadata.Deleted != "" {
		why = append(why, "the pod is being deleted")
	}
	if len(why) == 0 && (p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded") {
		why = append(why, "phase "+p.Status.Phase)
	}
	return bounded(strings.Join(why, "; "))
}

func (p pod) addrs() []netip.Addr {
	var all []string
	for _, a := range p.Status.IPs {
		all = append(all, a.IP)
	}
	return addresses(append(all, p.Status.IP))
}

func (p pod) hostIPs() []netip.Addr { return addresses([]string{p.Status.HostIP}) }

// addresses parses what can be parsed, each once.
func addresses(all []string) (out []netip.Addr) {
	for _, s := range all {
		if a, err := netip.ParseAddr(s); err == nil && !slices.Contains(out, a.Unmap()) {
			out = append(out, a.Unmap())
		}
	}
	return out
}
