package kube

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/topo"
)

// An Order is a run for a coordinator.
type Order struct {
	Study []byte        // with the chosen nodes
	Takes time.Duration // about
}

// A roster is what a coordinator must know about its cluster, because it cannot ask.
type roster struct {
	Run       string        `json:"run"`
	Namespace string        `json:"namespace"`
	All       bool          `json:"all"` // nodes whose agents do not come are left out
	Ports     target.Ports  `json:"ports"`
	Machines  []rosterNode  `json:"machines"`
	Groups    []*group      `json:"groups"`
	Services  []rosterEntry `json:"services,omitempty"`
	API       api           `json:"api"`
	Refused   string        `json:"refused,omitempty"` // why there are no pods in the hosts' network
}

type rosterNode struct {
	Name    string       `json:"name"`
	Zone    string       `json:"zone,omitempty"`
	Kernel  string       `json:"kernel,omitempty"`
	Runtime string       `json:"runtime,omitempty"`
	Addrs   []netip.Addr `json:"addrs,omitempty"`
}

// A rosterEntry is the Service of an agent.
type rosterEntry struct {
	Group     string    `json:"group"`
	Index     int       `json:"index"`
	Kind      topo.Kind `json:"kind"`
	V6        bool      `json:"v6,omitempty"`
	ClusterIP string    `json:"clusterIP"`
	Ports     []port    `json:"ports,omitempty"` // of a node port
}

// serviceKeys returns the kinds of Services that the agents of a group need.
func (g *group) serviceKeys(services []need) (keys []serviceKey) {
	for _, v := range services {
		if !g.Host && v.n == g.N && !slices.Contains(keys, v.serviceKey) {
			keys = append(keys, v.serviceKey)
		}
	}
	return keys
}

// servicesOf returns the Services of all agents, and their entries in the roster without addresses.
func (t *Target) servicesOf(groups []*group, needs []need) (objects []service, entries []rosterEntry) {
	for _, g := range groups {
		for _, key := range g.serviceKeys(needs) {
			for i := range g.Nodes {
				objects = append(objects, t.serviceOf(g, i, key))
				entries = append(entries, rosterEntry{Group: g.Name, Index: i, Kind: key.kind, V6: key.v6})
			}
		}
	}
	return objects, entries
}

// Launch starts a coordinator that carries out a run without this process, and its agents. It returns the
// name of the coordinator's Job when all agents run. Close removes all of it, unless Own says otherwise.
func (t *Target) Launch(ctx context.Context, o Order) (job string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.connect(ctx); err != nil {
		return "", err
	}
	seats, needs, err := t.needs(t.Wants...)
	if err != nil {
		return "", err
	}
	if err := t.makeNamespace(ctx, t.inHosts(seats)); err != nil {
		return "", err
	}
	kind := topo.Hosts
	if slices.ContainsFunc(t.Wants, func(w topo.Topology) bool { return inPods(w.Find.Kind) }) {
		kind = topo.PodNet
	}
	if seats, err = t.admissible(ctx, seats, kind); err != nil {
		return "", err
	}
	r := roster{Run: t.run, Namespace: t.inside().namespace, All: t.all(), Ports: t.ports(), Groups: groupsOf(seats), API: t.ask(ctx)}
	if why := t.admitted[true]; why != nil {
		r.Refused = why.Error()
	}
	for _, m := range t.machines {
		if !slices.ContainsFunc(r.Groups, func(g *group) bool { return slices.Contains(g.Nodes, m.Name) }) {
			continue
		}
		r.Machines = append(r.Machines, rosterNode{m.Name, m.Zone, m.kernel, m.runtime, m.addrs})
	}
	if err := t.allowClaim(ctx); err != nil {
		return "", err
	}
	t.kept = t.claimName() != ""
	t.soil(true)
	made, err := t.inside().create(ctx, []any{t.coordinator(r.Groups, o.Takes)})
	if err != nil {
		return "", err
	}
	owners := []owner{{"batch/v1", "Job", t.coordinatorName(), made[0].Metadata.UID}}
	if err := t.instruct(ctx, &r, needs, o.Study, owners); err != nil {
		return "", err
	}
	lead := &seat{what: "the coordinator", at: &Machine{}, job: t.coordinatorName()}
	if err := t.awaitPods(ctx, []*seat{lead}, func(*seat) {}); err != nil {
		return "", err
	}
	var jobs []any
	for _, g := range r.Groups {
		j := t.agents(g, CoordinatorAddr(lead.addrs[0].String()), o.Takes)
		j.Metadata.Owners = owners
		jobs = append(jobs, j)
	}
	if _, err := t.inside().create(ctx, jobs); err != nil {
		return "", err
	}
	return t.coordinatorName(), t.awaitAgents(ctx, r.Groups)
}

// instruct makes the claim, the Services of the agents, and the Secret, for which the coordinator's pod waits.
func (t *Target) instruct(ctx context.Context, r *roster, needs []need, study []byte, owners []owner) error {
	services, entries := t.servicesOf(r.Groups, needs)
	var objects []any
	for _, v := range services {
		v.Metadata.Owners = owners
		objects = append(objects, v)
	}
	if len(objects) > 0 {
		made, err := t.inside().create(ctx, objects)
		if err != nil {
			return err
		}
		for i, m := range made {
			entries[i].ClusterIP = m.Spec.ClusterIP
			if entries[i].Kind == topo.NodePort {
				entries[i].Ports = m.Spec.Ports
			}
		}
		r.Services = entries
	}
	about, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s := t.order(map[string][]byte{tokenFile: []byte(rand.Text()), studyFile: study, clusterFile: about})
	s.Metadata.Owners = owners
	objects = []any{s}
	if t.claimName() == t.coordinatorName() {
		objects = append(objects, t.claim(owners))
	}
	_, err = t.inside().create(ctx, objects)
	return err
}

// Polls of Jobs. Some of them also list the pods, which takes long with hundreds of them: the first such poll, and how
// many polls there are from one to the next.
const (
	lookFirst = 4
	lookEvery = 20
)

// awaitAgents waits until the agents of all groups run. Where all nodes were asked for, those whose pod
// cannot start are left out.
func (t *Target) awaitAgents(ctx context.Context, groups []*group) error {
	want := 0
	for _, g := range groups {
		want += len(g.Nodes)
	}
	for begin, i := time.Now(), 1; ; i++ {
		ready, err := t.readyAgents(ctx)
		switch late := time.Since(begin) > t.readyWithin(); {
		case err != nil && (!unanswered(err) || errors.As(err, new(never)) || ctx.Err() != nil || late):
			return err
		case err == nil && ready >= want:
			return nil
		case err == nil && (late || i%lookEvery == lookFirst):
			never, soon, err := t.unready(ctx, groups)
			why := few(append(slices.Clone(never), soon...))
			switch {
			case err != nil && !unanswered(err):
				return err
			case len(never) > 0 && !t.all():
				return failed(&seat{what: "an agent"}, why)
			case t.all() && ready > 0 && (late || ready+len(never) >= want):
				t.warn("%d of %d agents do not run, and their nodes are left out (%s)", want-ready, want, why)
				return nil
			case late:
				return advise("kubectl describe pods shows more; load the image on the nodes before the run if that is what takes long",
					"%d of %d agents do not run after %v (%s)", want-ready, want, t.readyWithin(), why)
			}
		}
		if err := pause(ctx, pollTime); err != nil {
			return err
		}
	}
}

// readyAgents returns how many agents run, as their Jobs count them.
func (t *Target) readyAgents(ctx context.Context) (n int, err error) {
	var jobs list[jobObject]
	err = t.inside().get(ctx, &jobs, "jobs", "-l", t.selector())
	for _, j := range jobs.Items {
		if j.Metadata.Labels[labelComponent] != coordination {
			n += j.Status.Ready
		}
	}
	return n, err
}

// unready returns why agents of groups do not run: those that never will, and others.
func (t *Target) unready(ctx context.Context, groups []*group) (never, soon []string, err error) {
	var pods list[pod]
	if err := t.inside().get(ctx, &pods, "pods", "-l", t.selector()); err != nil {
		return nil, nil, err
	}
	for _, p := range pods.Items {
		switch runs, why, final := p.state(); {
		case runs:
		case final:
			never = append(never, oneLine(p.Metadata.Name)+": "+why)
		default:
			soon = append(soon, oneLine(p.Metadata.Name)+": "+why)
		}
	}
	for _, g := range groups {
		if !slices.ContainsFunc(pods.Items, func(p pod) bool { return p.Metadata.Labels[labelComponent] == g.Name }) {
			job := t.coordinatorName() + "-" + g.Name
			soon = append(soon, strings.TrimSpace(job+" has no pods "+t.events(ctx, job)))
		}
	}
	slices.Sort(never)
	slices.Sort(soon)
	return never, soon, nil
}

// Own says whether Close removes the objects of the run. It must not while a coordinator works without this process.
func (t *Target) Own(own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.soil(own)
}
