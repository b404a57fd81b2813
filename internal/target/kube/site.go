package kube

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// nodeName returns the name of a seat among the nodes of sites: its node's, or one that no node has.
func (t *Target) nodeName(s *seat) string {
	if s.host {
		return s.at.Name
	}
	n := fmt.Sprintf("%s-p%d", s.at.Name, s.n)
	for slices.ContainsFunc(t.machines, func(m *Machine) bool { return m.Name == n }) {
		n += "p"
	}
	return n
}

// site describes what want has found. All seats that it needs are alive, and those in the networks of
// hosts where the cluster admits them.
func (t *Target) site(want topo.Topology) (*target.Site, error) {
	ms, pods, err := t.layout(want)
	if err != nil {
		return nil, err
	}
	found, six := topo.Topology{Exists: true, Find: want.Find}, v6(want)
	var nodes []*agent.Node
	for i, m := range ms {
		h := topo.Host{Name: m.Name, Zone: m.Zone}
		if s := t.seats[(&seat{at: m, host: true}).component()]; s != nil && s.alive() {
			link, addr, err := s.measured(want.Find, six)
			if err != nil && !inPods(want.Find.Kind) {
				return nil, err
			}
			if err == nil {
				h.Dev, h.Addr, h.MTU = link.Name, addr, link.MTU
				nodes = append(nodes, s.agent.node)
			}
			if !inPods(want.Find.Kind) {
				found.MTU = least(found.MTU, link.MTU)
			}
		}
		for n := 1; inPods(want.Find.Kind) && n <= pods[i]; n++ {
			s := t.seats[(&seat{at: m, n: n}).component()]
			p, err := t.podOf(s, want.Find, six)
			if err != nil {
				return nil, err
			}
			found.MTU = least(found.MTU, p.MTU)
			h.Pods, nodes = append(h.Pods, p), append(nodes, s.agent.node)
		}
		found.Hosts = append(found.Hosts, h)
	}
	site := agent.NewSite(found, nodes...)
	site.Token, site.Ports, site.Found = t.token, t.ports(), maps.Clone(t.found)
	if k := want.Find.Kind; k == topo.Service || k == topo.NodePort {
		site.Ports.First, site.Ports.Last = t.servicePorts()
	}
	site.Apply = t.changing(site.Apply)
	site.Close = func() error { return nil } // other sites use the same agents
	return site, nil
}

// least is min, where 0 is unknown.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// podOf describes the pod of a seat and the device that has its address.
func (t *Target) podOf(s *seat, what topo.Find, six bool) (p topo.Pod, err error) {
	link, addr, err := s.measured(what, six)
	if err != nil {
		return p, err
	}
	p = topo.Pod{Name: t.nodeName(s), Addr: addr, Dev: link.Name, MTU: link.MTU}
	if what.Kind == topo.PodNet {
		return p, nil
	}
	made := s.services[serviceKey{what.Kind, six}]
	if what.Kind == topo.Service {
		if p.Call, err = netip.ParseAddr(made.Spec.ClusterIP); err != nil {
			return p, fmt.Errorf("%s: its Service has no cluster address but %q", s, oneLine(made.Spec.ClusterIP))
		}
		return p, nil
	}
	var ok bool
	if p.Call, ok = of(append(slices.Clone(s.hostIPs), s.at.addrs...), six); !ok {
		return p, fmt.Errorf("node %s has no %s address for a node port", s.at.Name, family(six))
	}
	p.Ports, err = nodePorts(made.Spec.Ports)
	if err != nil {
		err = fmt.Errorf("%s: %w", s, err)
	}
	return p, err
}

// nodePorts returns the ports of a node by the ports that they lead to. The cluster gives one for both
// protocols (pkg/registry/core/service/storage/alloc.go).
func nodePorts(ports []port) (map[uint16]uint16, error) {
	by := map[uint16]uint16{}
	for _, p := range ports {
		if had, ok := by[p.Port]; p.Node == 0 || ok && had != p.Node {
			return nil, fmt.Errorf("port %d of its Service has the node ports %d and %d; weir needs one for TCP and UDP", p.Port, had, p.Node)
		}
		by[p.Port] = p.Node
	}
	if len(by) == 0 {
		return nil, fmt.Errorf("its Service has no ports")
	}
	return by, nil
}

// measured returns the device of a seat whose address is measured, and that address.
func (s *seat) measured(what topo.Find, six bool) (remote.Link, netip.Prefix, error) {
	links := s.agent.links
	if what.Kind == topo.Via && s.host {
		return via(s, links, what.Dev, six)
	}
	addr, ok := of(s.addrs, six)
	if !ok {
		key := "pods-ipv6: true"
		if s.host {
			key = "ipv6: true under underlay:"
		}
		fix := "leave out " + key
		if !six {
			fix = "the study asks for IPv4; write " + key
		}
		return remote.Link{}, netip.Prefix{}, advise(fix, "%s has no %s address, but %v", s, family(six), s.addrs)
	}
	for _, l := range links {
		for _, p := range l.Addrs {
			if p.Addr().Unmap() == addr {
				return l, p, nil
			}
		}
	}
	return remote.Link{}, netip.Prefix{}, advise("weir cannot listen there; measure via a device (-n via) if the hosts have one",
		"%s: the address %v is on none of its devices (%s): something translates it", s, addr, described(links))
}

func via(s *seat, links []remote.Link, dev string, six bool) (remote.Link, netip.Prefix, error) {
	i := slices.IndexFunc(links, func(l remote.Link) bool { return l.Name == dev })
	if i < 0 {
		return remote.Link{}, netip.Prefix{}, advise("correct via's option dev, or choose nodes that have the device (--nodes)",
			"node %s has no device %s, but %s", s.at.Name, dev, described(links))
	}
	for _, p := range links[i].Addrs {
		if p.Addr().Is6() == six && !p.Addr().IsLinkLocalUnicast() {
			return links[i], p, nil
		}
	}
	return remote.Link{}, netip.Prefix{}, fmt.Errorf("%s on node %s has no %s address, but %v", dev, s.at.Name, family(six), links[i].Addrs)
}

func described(links []remote.Link) string {
	var all []string
	for _, l := range links {
		one := oneLine(l.Name)
		for _, p := range l.Addrs {
			one += " " + p.String()
		}
		all = append(all, one)
	}
	return few(all)
}

// Keys of Site.Found.
const (
	foundVersion   = "cluster.version"
	foundProxy     = "cluster.kube-proxy"
	foundCNI       = "cluster.cni"
	foundRuntime   = "cluster.runtime"
	foundZones     = "cluster.zones"
	foundSandboxed = "cluster.sandboxed"
)

// An api is what only the cluster's API knows about the cluster.
type api struct {
	Version string      `json:"version"`
	Sets    []daemonSet `json:"sets"`
	Proxy   string      `json:"proxy"` // mode of kube-proxy
}

// ask asks the API: a role need not allow all of it.
func (t *Target) ask(ctx context.Context) api {
	var sets list[daemonSet]
	_ = t.outside().get(ctx, &sets, "daemonsets", "--all-namespaces") // without it, devices tell
	return api{t.version, sets.Items, t.proxy(ctx, sets.Items)}
}

// learn collects what the API, the nodes and the agents tell about the cluster.
func (t *Target) learn(ctx context.Context, from api) map[string]string {
	found := map[string]string{foundVersion: from.Version}
	var devices []string
	var zones, sandboxed, runtimes []string
	for _, m := range t.machines {
		pod, host := t.seats[(&seat{at: m, n: 1}).component()], t.seats[(&seat{at: m, host: true}).component()]
		if host != nil && host.agent != nil {
			for _, l := range host.agent.links {
				devices = append(devices, l.Name)
			}
			m.kernel = cmp.Or(m.kernel, kernel(host))
		}
		if pod == nil && host == nil {
			continue
		}
		if m.Zone != "" {
			zones = append(zones, m.Name+": "+m.Zone)
		}
		if m.runtime != "" && !slices.Contains(runtimes, m.runtime) {
			runtimes = append(runtimes, m.runtime)
		}
		if pod != nil && pod.agent != nil {
			if k := kernel(pod); k != "" && m.kernel != "" && k != m.kernel {
				sandboxed = append(sandboxed, fmt.Sprintf("%s: pods have kernel %s, the node %s", m.Name, k, oneLine(m.kernel)))
			}
		}
	}
	found[foundCNI], found[foundProxy] = cni(from.Sets, devices), from.Proxy
	if strings.HasPrefix(from.Proxy, unknownProxy) {
		found[foundProxy] = t.nodeModes(ctx, from.Proxy)
	}
	for key, all := range map[string][]string{foundZones: zones, foundRuntime: runtimes, foundSandboxed: sandboxed} {
		if len(all) > 0 {
			found[key] = strings.Join(all, ", ")
		}
	}
	if len(sandboxed) > 0 {
		t.warn("pods run in a sandbox (%s): CPU time of the node is unknown, and theirs is the sandbox's", few(sandboxed))
	}
	return found
}

// kernel returns the release of the kernel that the agent of a seat sees, or "".
func kernel(s *seat) string {
	b, err := fs.ReadFile(s.agent.node.FS(), "proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return oneLine(string(b))
}
