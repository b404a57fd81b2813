package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/topo"
)

// A Machine is a node of the cluster that was chosen.
type Machine struct {
	Name string
	Zone string // "" if it has none, or if nodes cannot be listed

	number  int          // among the chosen ones, from 1
	kernel  string       // release; "" is unknown
	runtime string       // of containers; "" is unknown
	proxy   string       // mode of its kube-proxy, as kube-proxy itself states it; "" is unknown
	addrs   []netip.Addr // internal ones
	taints  []taint      // that pods on it must tolerate
}

const defaultNodes = 2

// any reports whether weir chooses the nodes.
func (t *Target) any() bool { return len(t.Nodes) == 0 }

// all reports whether every node that can run pods is chosen.
func (t *Target) all() bool { return len(t.Nodes) == 1 && t.Nodes[0] == "all" }

// Labeled returns the nodes with a label, KEY=VALUE, that can run weir's pods, ordered so that neighbors differ in
// zone; none if there are none. It needs no Connect.
func (t *Target) Labeled(ctx context.Context, label string) (names []string, err error) {
	var nodes list[node]
	if err := t.outside().get(ctx, &nodes, "nodes", "-l", label); err != nil || len(nodes.Items) == 0 {
		return nil, err
	}
	ms, _, err := choose(nodes.Items, nil, t.tolerations()...)
	for _, m := range ms {
		names = append(names, m.Name)
	}
	return names, err
}

// named returns machines of which only the names are known.
func named(names []string) (ms []*Machine) {
	for i, n := range names {
		ms = append(ms, &Machine{Name: n, number: i + 1})
	}
	return ms
}

// choose returns the nodes to measure and notes about them. Without names it returns all nodes that can run pods,
// ordered so that neighbors differ in zone.
func choose(all []node, names []string, tolerates ...toleration) (ms []*Machine, notes []string, err error) {
	if len(names) > 0 {
		ms, notes, err = chooseNamed(all, names, tolerates)
	} else {
		ms, err = chooseAny(all, tolerates)
	}
	for i, m := range ms {
		m.number = i + 1
	}
	return ms, notes, err
}

func chooseNamed(all []node, names []string, tolerates []toleration) (ms []*Machine, notes []string, err error) {
	for i, name := range names {
		at := slices.IndexFunc(all, func(n node) bool { return n.Metadata.Name == name })
		if at < 0 {
			var have []string
			for _, n := range all {
				have = append(have, oneLine(n.Metadata.Name))
			}
			slices.Sort(have)
			return nil, nil, &UsageError{fmt.Errorf("the cluster has no node %q: it has %s; correct --nodes", name, few(have))}
		}
		if slices.Contains(names[:i], name) {
			return nil, nil, &UsageError{fmt.Errorf("node %q is named twice; name different nodes (--nodes)", name)}
		}
		n := all[at]
		if why := n.unfit(); why != "" {
			return nil, nil, advise("choose other nodes (--nodes)", "node %s cannot run pods: %s", name, why)
		}
		m := n.machine()
		if m.taints = n.keepsOff(tolerates); len(m.taints) > 0 {
			notes = append(notes, fmt.Sprintf("node %s has the taint %s; weir's pods tolerate it because the node is named", name, join(m.taints)))
		}
		ms = append(ms, m)
	}
	return ms, notes, nil
}

func chooseAny(all []node, tolerates []toleration) ([]*Machine, error) {
	zones := map[string][]*Machine{}
	var why []string
	for _, n := range all {
		reason := n.unfit()
		if taints := n.keepsOff(tolerates); reason == "" && len(taints) > 0 {
			reason = "taint " + join(taints)
		}
		if reason != "" {
			why = append(why, oneLine(n.Metadata.Name)+": "+reason)
			continue
		}
		m := n.machine()
		zones[m.Zone] = append(zones[m.Zone], m)
	}
	if len(all) == 0 {
		return nil, advise("choose another cluster (--context), or ask for one with nodes; kubectl get nodes lists them", "the cluster has no nodes")
	}
	if len(zones) == 0 {
		slices.Sort(why)
		return nil, advise("name nodes (--nodes): weir's pods then tolerate their taints, or tolerate them yourself (--tolerations)", "no node of %d can run pods (%s)", len(all), few(why))
	}
	var ms []*Machine
	rank := map[*Machine]int{}
	for _, in := range zones {
		slices.SortFunc(in, func(a, b *Machine) int { return cmp.Compare(a.Name, b.Name) })
		for i, m := range in {
			ms, rank[m] = append(ms, m), i
		}
	}
	// The first node of every zone, then the second ones, and so on.
	slices.SortFunc(ms, func(a, b *Machine) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a.Zone, b.Zone)) })
	return ms, nil
}

func (n node) machine() *Machine {
	l := n.Metadata.Labels
	m := &Machine{Name: n.Metadata.Name, kernel: oneLine(n.Status.Info.Kernel), runtime: oneLine(n.Status.Info.Runtime),
		Zone: oneLine(cmp.Or(l["topology.kubernetes.io/zone"], l["failure-domain.beta.kubernetes.io/zone"]))}
	for _, a := range n.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" {
			m.addrs = append(m.addrs, addr)
		}
	}
	return m
}

// unfit returns why no pod of weir can run on n, or "".
func (n node) unfit() string {
	ready := find(n.Status.Conditions, "Ready")
	switch name := n.Metadata.Name; {
	case name == "" || len(name) > 253 || oneLine(name) != name: // validation.IsDNS1123Subdomain in k8s.io/apimachinery
		return "its name is not valid"
	case n.Status.Info.OS != "" && n.Status.Info.OS != "linux":
		return "its system is " + oneLine(n.Status.Info.OS) + ", not linux"
	case n.Metadata.Deleted != "":
		return "it is being deleted"
	case ready.Status != "True":
		return bounded(strings.TrimSuffix("not Ready: "+oneLine(cmp.Or(ready.Message, ready.Reason)), ": "))
	}
	return ""
}

// keepsOff returns the taints that keep pods with tolerations off n, with the one of cordoned nodes.
func (n node) keepsOff(tolerates []toleration) []taint {
	ts := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t taint) bool { return t.Effect == "PreferNoSchedule" })
	const cordoned = "node.kubernetes.io/unschedulable"
	if n.Spec.Unschedulable && !slices.ContainsFunc(ts, func(t taint) bool { return t.Key == cordoned }) {
		ts = append(ts, taint{Key: cordoned, Effect: "NoSchedule"})
	}
	return slices.DeleteFunc(ts, func(t taint) bool {
		return slices.ContainsFunc(tolerates, func(tol toleration) bool { return tol.covers(t) })
	})
}

func join(taints []taint) string {
	var all []string
	for _, t := range taints {
		all = append(all, oneLine(t.String()))
	}
	return bounded(strings.Join(all, ", "))
}

// few joins the first entries of a list that can be long.
func few(all []string) string {
	const most = 8
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// inPods reports whether the ends of a network are in pods with a network of their own.
func inPods(k topo.Kind) bool { return k == topo.PodNet || k == topo.Service || k == topo.NodePort }

// layout returns the nodes for the hosts of want, and the number of pods on each. In a cluster with one node, all pods
// are on that node.
func (t *Target) layout(want topo.Topology) (ms []*Machine, pods []int, err error) {
	n, sum := len(want.Hosts), 0
	for _, h := range want.Hosts {
		pods = append(pods, len(h.Pods))
		sum += len(h.Pods)
	}
	switch {
	case n > 1 && len(t.machines) == 1 && inPods(want.Find.Kind):
		return t.machines, []int{sum}, nil
	case n > len(t.machines):
		return nil, nil, advise("ask for fewer hosts, or for more nodes (--nodes)", "the study needs %d hosts, and %d of the cluster's nodes can be used", n, len(t.machines))
	}
	return t.machines[:n], pods, nil
}

// A seat is a place for an agent: a pod on a node, alone in a Job.
type seat struct {
	at   *Machine
	host bool   // in the network of the host
	n    int    // number of the pod on its node, from 1, unless host
	what string // it is, unless it is an end of networks

	try      int    // Jobs so far
	job      string // name of the latest one; "" before
	uid      string // of the Job
	pod      string // name
	addrs    []netip.Addr
	hostIPs  []netip.Addr
	services map[serviceKey]stored
	said     string // why it is not ready yet
	agent    *attached
}

type serviceKey struct {
	kind topo.Kind
	v6   bool
}

// component names the seat in labels and in the names of its objects.
func (s *seat) component() string {
	if s.host {
		return fmt.Sprintf("host-%d", s.at.number)
	}
	return fmt.Sprintf("pod-%d-%d", s.at.number, s.n)
}

func (s *seat) String() string {
	if s.what != "" {
		return s.what
	}
	if s.host {
		return "the pod in the network of node " + s.at.Name
	}
	return fmt.Sprintf("pod %d on node %s", s.n, s.at.Name)
}

func (s *seat) alive() bool { return s.agent != nil && s.agent.node.Lost() == nil }

// A need is a Service that a network needs.
type need struct {
	*seat
	serviceKey
}

// needs returns the seats and Services of networks, each once.
func (t *Target) needs(wants ...topo.Topology) (seats []*seat, services []need, err error) {
	seen := map[*seat]bool{}
	add := func(m *Machine, host bool, n int) *seat {
		s := &seat{at: m, host: host, n: n}
		if had := t.seats[s.component()]; had != nil {
			s = had
		} else {
			if t.seats == nil {
				t.seats = map[string]*seat{}
			}
			t.seats[s.component()] = s
		}
		if !seen[s] {
			seen[s], seats = true, append(seats, s)
		}
		return s
	}
	for _, want := range wants {
		ms, pods, err := t.layout(want)
		if err != nil {
			return nil, nil, err
		}
		kind := want.Find.Kind
		for i, m := range ms {
			for n := 1; inPods(kind) && n <= pods[i]; n++ {
				s := add(m, false, n)
				v := need{s, serviceKey{kind, v6(want)}}
				if kind != topo.PodNet && !slices.Contains(services, v) {
					services = append(services, v)
				}
			}
			if !inPods(kind) || t.HostNetwork {
				add(m, true, 0)
			}
		}
	}
	return seats, services, nil
}

// inHosts reports whether one of the seats is in the network of its host.
func (t *Target) inHosts(seats []*seat) bool {
	return slices.ContainsFunc(seats, func(s *seat) bool { return s.host })
}

// v6 reports whether a network wants IPv6 addresses at its ends.
func v6(want topo.Topology) bool {
	switch {
	case len(want.Hosts) == 0:
		return false
	case inPods(want.Find.Kind):
		return len(want.Hosts[0].Pods) > 0 && want.Hosts[0].Pods[0].Addr.Addr().Is6()
	}
	return want.Hosts[0].Addr.Addr().Is6()
}

func family(v6 bool) string {
	if v6 {
		return "IPv6"
	}
	return "IPv4"
}

// of returns the first address of a family.
func of(addrs []netip.Addr, v6 bool) (netip.Addr, bool) {
	i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Is6() == v6 })
	if i < 0 {
		return netip.Addr{}, false
	}
	return addrs[i], true
}
