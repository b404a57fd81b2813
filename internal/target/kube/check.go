package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
)

// A check is one requirement of a run in a cluster.
type check struct {
	name   string
	needed bool // no run without it
	look   func(context.Context) (detail string, err error)
}

func (t *Target) checks() []check {
	all := []check{
		{"kubectl", true, t.checkKubectl},
		{"cluster", true, t.checkCluster},
		{"nodes", true, t.checkNodes},
		{"namespace", true, t.checkNamespace},
		{"permissions", true, t.checkPermissions},
		{"host network", false, t.checkHostNetwork},
		{"CPU limit", false, t.checkCPULimit},
	}
	if t.InCluster && t.Volume == "" {
		all = append(all, check{"StorageClass", false, t.checkClaim})
	}
	return all
}

// Check examines what a run needs, and changes nothing. It stops at the first failed check that a run needs to start.
func (t *Target) Check(ctx context.Context) []facts.Check {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name()
	var found []facts.Check
	for _, c := range t.checks() {
		detail, err := c.look(ctx)
		f := facts.Check{Name: c.name, OK: err == nil, Detail: detail}
		if err != nil {
			f.Detail, f.Fix = detailAndFix(err)
		}
		found = append(found, f)
		if err != nil && c.needed {
			break
		}
	}
	return found
}

// detailAndFix splits an error into what happened and the remedy.
func detailAndFix(err error) (detail, fix string) {
	detail = err.Error()
	var a *advised
	var r *refusal
	switch {
	case errors.As(err, &a):
		fix = a.fix
	case errors.As(err, &r):
		fix = remedy(r.said)
	}
	if fix == "" {
		if i := strings.LastIndex(detail, "; "); i >= 0 {
			return detail[:i], detail[i+2:]
		}
		return detail, "kubectl cluster-info dump shows more"
	}
	return strings.Replace(detail, "; "+fix, "", 1), fix
}

type versions struct {
	Client struct {
		Version string `json:"gitVersion"`
	} `json:"clientVersion"`
	Server struct {
		Version string `json:"gitVersion"`
	} `json:"serverVersion"`
}

func (t *Target) checkKubectl(ctx context.Context) (string, error) {
	return kubectl{}.version(ctx, func(v versions) string { return v.Client.Version }, "--client")
}

func (t *Target) checkCluster(ctx context.Context) (string, error) {
	if t.Context != "" {
		b, err := kubectl{}.call(ctx, nil, "config", "get-contexts", "-o", "name")
		if err != nil {
			return "", err
		}
		known, found := []string(nil), false
		for name := range strings.Lines(string(b)) {
			name = strings.TrimRight(name, "\r\n")
			known, found = append(known, oneLine(name)), found || name == t.Context
		}
		if !found {
			return "", &UsageError{fmt.Errorf("kubectl has no context %q: it has %s; correct --context", t.Context, few(known))}
		}
	}
	if t.Context == "" && t.current == "" {
		// The user can change the current context during the run, which must not go on in another cluster. In a pod there is none.
		args := []string{"config", "current-context"}
		if b, err := (kubectl{}).call(ctx, nil, args...); err == nil {
			t.current = strings.TrimRight(string(b), "\r\n")
			if len(b) > maxContext || strings.ContainsAny(t.current, "\r\n\x00") {
				return "", kubectl{}.nonsense(errors.New("no name of a context"), b, args)
			}
		}
	}
	var err error
	t.version, err = t.outside().version(ctx, func(v versions) string { return v.Server.Version })
	return t.version, err
}

// maxContext bounds the name of a context, bytes.
const maxContext = 4096

// version asks for one of the versions that kubectl prints.
func (k kubectl) version(ctx context.Context, which func(versions) string, flags ...string) (string, error) {
	args := append(append([]string{"version"}, flags...), "-o", "json")
	b, err := k.call(ctx, nil, args...)
	if err != nil {
		return "", err
	}
	var v versions
	if err = decode(b, &v); err == nil && which(v) == "" {
		err = errors.New("no version")
	}
	return oneLine(which(v)), k.nonsense(err, b, args)
}

func (t *Target) checkNodes(ctx context.Context) (string, error) {
	var nodes list[node]
	err := t.outside().get(ctx, &nodes, "nodes")
	if forbidden(err) {
		if t.any() || t.all() {
			return "", advise("name the nodes (--nodes n1,n2), or ask for a ClusterRole that can list nodes", "weir cannot choose nodes: %w", unadvised(err))
		}
		t.machines = named(t.Nodes)
		return "named; zones and taints are unknown, because nodes cannot be listed", nil
	}
	if err != nil {
		return "", err
	}
	names := []string(t.Nodes)
	if t.all() {
		names = nil
	}
	ms, notes, err := choose(nodes.Items, names, t.tolerations()...)
	if err != nil {
		return "", err
	}
	if len(ms) == 1 && len(names) == 0 {
		notes = append(notes, "node "+ms[0].Name+" is the only one that can run pods: both ends are on it")
	}
	t.machines, t.notes = ms, notes
	var all []string
	for _, m := range ms {
		one := m.Name
		if m.Zone != "" {
			one += " in zone " + m.Zone
		}
		all = append(all, one)
	}
	return strings.Join(append([]string{few(all)}, notes...), "; "), nil
}

// unadvised removes the remedy of a refusal, where there is a better one.
func unadvised(err error) error {
	var r *refusal
	if errors.As(err, &r) {
		return errors.New("kubectl " + r.call + ": " + r.said)
	}
	return err
}

func (t *Target) checkNamespace(ctx context.Context) (string, error) {
	if t.Namespace == "" {
		return "weir makes one for the run", nil
	}
	var ns namespaceObject
	err := t.outside().get(ctx, &ns, "namespace", t.Namespace)
	switch {
	case notFound(err):
		return "", &UsageError{advise("create it, or correct -N; without -N weir makes one for the run", "the cluster has no namespace %q", t.Namespace)}
	case forbidden(err):
		return t.Namespace + "; its labels cannot be read", nil
	case err != nil:
		return "", err
	case ns.Status.Phase == "Terminating":
		return "", advise("choose another one (-N)", "the namespace %s is being deleted", t.Namespace)
	}
	t.enforce = oneLine(ns.Metadata.Labels[labelEnforce])
	return t.Namespace, nil
}

// A permission is something that a SelfSubjectAccessReview can ask about.
type permission struct {
	Namespace   string `json:"namespace,omitempty"`
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
}

func (p permission) String() string {
	s := p.Verb + " " + p.Resource
	if p.Subresource != "" {
		s += "/" + p.Subresource
	}
	return s
}

// permissions lists what a run needs. kubectl attach and exec need get for a websocket, and create otherwise.
func (t *Target) permissions() (all []permission) {
	in := t.inside().namespace
	add := func(group, resource, sub string, verbs ...string) {
		for _, v := range verbs {
			all = append(all, permission{in, v, group, resource, sub})
		}
	}
	add("batch", "jobs", "", "create", "get", "list", "watch", "delete")
	add("", "pods", "", "create", "get", "list")
	if t.InCluster {
		add("", "pods", "exec", "create", "get")
		add("", "secrets", "", "create")
	} else {
		add("", "pods", "attach", "create", "get")
	}
	add("", "services", "", "create", "get", "list", "watch", "delete")
	t.changes(add)
	for _, ns := range t.restarts() {
		all = append(all, permission{ns, "list", "", "pods", ""}, permission{ns, "delete", "", "pods", ""})
	}
	if t.Namespace == "" {
		all = append(all, permission{Verb: "create", Resource: "namespaces"}, permission{Verb: "delete", Resource: "namespaces"})
	}
	return all
}

// checkPermissions asks for all permissions in one call, as `kubectl auth can-i` asks for one.
func (t *Target) checkPermissions(ctx context.Context) (string, error) {
	wants := t.permissions()
	var reviews []any
	for _, p := range wants {
		reviews = append(reviews, map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
			"spec": map[string]any{"resourceAttributes": p}})
	}
	made, err := t.outside().create(ctx, reviews)
	if forbidden(err) {
		return "unknown: the cluster does not say", nil
	}
	if err != nil {
		return "", err
	}
	var missing []string
	for i, m := range made {
		if !m.Status.Allowed {
			one := wants[i].String()
			if ns := wants[i].Namespace; ns != "" && ns != t.inside().namespace {
				one += " (in " + ns + ")"
			}
			missing = append(missing, one)
		}
	}
	if len(missing) == 0 {
		return "all that a run needs", nil
	}
	fix := "ask for a Role with them; docs/kubernetes.md has one"
	if t.Namespace == "" {
		fix += ", or choose a namespace where you have them (-N)"
	}
	return "", advise(fix, "the cluster forbids in namespace %s: %s", t.inside().namespace, strings.Join(missing, ", "))
}

func (t *Target) checkHostNetwork(context.Context) (string, error) {
	switch {
	case t.Namespace == "":
		return "allowed in the namespace that weir makes, unless the cluster says otherwise", nil
	case t.enforce == "baseline" || t.enforce == "restricted":
		err := t.unlabeled(fmt.Errorf("the namespace %s forbids pods in the hosts' network (%s=%s), so host and via cannot be measured", t.Namespace, labelEnforce, t.enforce))
		if t.run != "" && !t.wantsHosts() {
			return err.Error(), nil
		}
		return "", err
	}
	return "not forbidden by the namespace's labels", nil
}

// checkCPULimit looks for a LimitRange that limits the CPU time of weir's containers, which ask for no limit: one that gives a
// default, or, without one, a maximum (the API server's plugin LimitRanger).
func (t *Target) checkCPULimit(ctx context.Context) (string, error) {
	if t.Namespace == "" {
		return "none in the namespace that weir makes, unless the cluster gives it one", nil
	}
	var ranges list[limitRange]
	err := t.inside().get(ctx, &ranges, "limitranges")
	if forbidden(err) {
		return "unknown: LimitRanges cannot be read", nil
	}
	if err != nil {
		return "", err
	}
	for _, r := range ranges.Items {
		for _, l := range r.Spec.Limits {
			if limit := cmp.Or(l.Default.CPU, l.Max.CPU); l.Type == "Container" && limit != "" {
				return "", advise("measure in a namespace without one (-N), or ask for its removal; a limit stops a container for the rest of each period in which it has used its share",
					"the LimitRange %s of namespace %s limits weir's containers (cpu: %s), so the run measures that limit", oneLine(r.Metadata.Name), t.Namespace, oneLine(limit))
			}
		}
	}
	return "no LimitRange sets one", nil
}

// unlabeled adds the remedy of a namespace whose label forbids a pod.
func (t *Target) unlabeled(err error) error {
	return &advised{err, fmt.Sprintf("choose another namespace (-N), or ask for: kubectl label namespace %s %s=privileged --overwrite", t.inside().namespace, labelEnforce)}
}

// wantsHosts reports whether a network or an end needs a pod in the network of its host.
func (t *Target) wantsHosts() bool {
	if t.HostNetwork || len(t.Wants) == 0 {
		return true
	}
	for _, w := range t.Wants {
		if !inPods(w.Find.Kind) {
			return true
		}
	}
	return false
}
