package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

var _ target.Target = (*Coordinator)(nil)

// A Coordinator is the target in the pod that Launch starts. Its agents dial it, from Indexed Jobs in the same cluster.
// It never talks to the cluster's API, and needs no permission.
type Coordinator struct {
	*Target
	roster   roster
	listener net.Listener
	pass     string // the token that admits agents

	lobby sync.Mutex       // for the following, and for changes of machines
	here  map[string]*seat // agents that have come and have no seat yet, by the seat's component
	came  chan struct{}    // holds a value when one has come
	shut  error            // the last connection that was refused
}

const (
	// gatherTime bounds the wait for the first agent.
	gatherTime = 10 * time.Minute
	// quietTime is how long nobody comes before the missing agents are given up. Nodes need different
	// times to pull an image.
	quietTime = 2 * time.Minute
)

// NewCoordinator returns the coordinator for the files of an order (OrderDir), with the study that it
// carries out. Agents come to l, which the coordinator closes.
func NewCoordinator(order fs.FS, l net.Listener) (c *Coordinator, what []byte, err error) {
	c = &Coordinator{listener: l, here: map[string]*seat{}, came: make(chan struct{}, 1)}
	read := func(name string) (b []byte) {
		if err == nil {
			b, err = fs.ReadFile(order, name)
		}
		return b
	}
	about, token := read(clusterFile), read(tokenFile)
	what = read(studyFile)
	if err == nil {
		err = json.Unmarshal(about, &c.roster)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the order of this run: %w", err)
	}
	c.pass = string(token)
	c.Target = &Target{Kube: study.Kube{Namespace: c.roster.Namespace}, Ports: c.roster.Ports, run: c.roster.Run}
	c.name()
	for i, m := range c.roster.Machines {
		c.Nodes = append(c.Nodes, m.Name)
		c.machines = append(c.machines, &Machine{Name: m.Name, Zone: m.Zone, number: i + 1, kernel: m.Kernel, runtime: m.Runtime, addrs: m.Addrs})
	}
	if c.roster.Refused != "" {
		c.admitted = map[bool]error{true: errors.New(c.roster.Refused)}
	}
	return c, what, nil
}

// Connect waits for all agents. Where the user asked for all nodes, those without agents are left out.
func (c *Coordinator) Connect(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.connected {
		return nil
	}
	c.connected = true
	go func() {
		err := caught.Error(func() error { return remote.Admit(c.listener, c.pass, c.join, c.refuse) })
		if err != nil {
			c.refuse(err)
		}
	}()
	last := time.Now()
	for patience := gatherTime; ; {
		missing := c.missing()
		wait := patience - time.Since(last)
		if len(missing) == 0 || wait <= 0 {
			return c.leaveOut(missing)
		}
		select {
		case <-c.came:
			last, patience = time.Now(), quietTime
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// missing returns the seats of agents that have not come.
func (c *Coordinator) missing() (all []*seat) {
	c.lobby.Lock()
	defer c.lobby.Unlock()
	for _, g := range c.roster.Groups {
		for _, m := range c.machines {
			s := &seat{at: m, host: g.Host, n: g.N}
			if slices.Contains(g.Nodes, m.Name) && c.here[s.component()] == nil {
				all = append(all, s)
			}
		}
	}
	return all
}

// leaveOut leaves out the machines of seats without agents, or returns why it cannot.
func (c *Coordinator) leaveOut(missing []*seat) error {
	if len(missing) == 0 {
		return nil
	}
	c.lobby.Lock()
	defer c.lobby.Unlock()
	var names []string
	for _, s := range missing {
		names = append(names, s.String())
	}
	left := slices.DeleteFunc(slices.Clone(c.machines), func(m *Machine) bool {
		return slices.ContainsFunc(missing, func(s *seat) bool { return s.at == m })
	})
	err := fmt.Errorf("%d of %d agents have not joined the coordinator (%s)", len(missing), len(missing)+len(c.here), few(names))
	if c.shut != nil {
		err = fmt.Errorf("%w; the last connection that it refused: %w", err, c.shut)
	}
	if !c.roster.All || len(left) == 0 {
		return advise(fmt.Sprintf("a NetworkPolicy must let TCP from weir's agents through to port %d of the coordinator's pod; kubectl get pods -n %s -l %s shows agents that do not run",
			coordinatorPort, c.roster.Namespace, c.selector()), "%w", err)
	}
	c.warn("%v; their nodes are left out", err)
	c.machines = left
	return nil
}

// refuse keeps why a connection was refused.
func (c *Coordinator) refuse(err error) {
	c.lobby.Lock()
	defer c.lobby.Unlock()
	c.shut = err
}

// join makes the other end of a connection an agent that waits for its seat.
func (c *Coordinator) join(conn net.Conn, place []byte) {
	s, name, err := c.seatFor(place)
	if err != nil {
		_ = conn.Close() // the reason matters more
		c.refuse(err)
		return
	}
	n, _, err := remote.Dial(context.Background(), name, conn, nil)
	if err != nil {
		c.refuse(err)
		return
	}
	if err := s.take(context.Background(), n); err != nil {
		_ = n.Close() // the reason matters more
		c.refuse(err)
		return
	}
	c.lobby.Lock()
	before := c.here[s.component()]
	c.here[s.component()] = s
	c.lobby.Unlock()
	if before != nil { // it has dialed again: it noticed before this end that the connection broke
		_ = before.agent.node.Close()
	}
	select {
	case c.came <- struct{}{}:
	default:
	}
}

// seatFor returns the seat of an agent that says where it is, and the name of its node in sites.
func (c *Coordinator) seatFor(line []byte) (s *seat, name string, err error) {
	var p Placement
	if err := json.Unmarshal(line, &p); err != nil {
		return nil, "", fmt.Errorf("an agent states no place: %w", err)
	}
	c.lobby.Lock()
	defer c.lobby.Unlock()
	at := slices.IndexFunc(c.machines, func(m *Machine) bool { return m.Name == p.Node })
	of := slices.IndexFunc(c.roster.Groups, func(g *group) bool { return g.Name == p.Group && slices.Contains(g.Nodes, p.Node) })
	if at < 0 || of < 0 {
		return nil, "", fmt.Errorf("an agent of %.80q came from node %.80q, which this run does not measure", p.Group, p.Node)
	}
	g := c.roster.Groups[of]
	s = &seat{at: c.machines[at], host: g.Host, n: g.N, pod: oneLine(p.Pod), addrs: addresses(p.Addrs), hostIPs: addresses(p.HostIPs), services: map[serviceKey]stored{}}
	for _, e := range c.roster.Services {
		if e.Group == p.Group && e.Index == p.Index {
			var v stored
			v.Spec.ClusterIP, v.Spec.Ports = e.ClusterIP, e.Ports
			s.services[serviceKey{e.Kind, e.V6}] = v
		}
	}
	return s, c.nodeName(s), nil
}

// rejoinTime bounds the wait for an agent that was lost: it dials again, or another pod takes its place.
const rejoinTime = time.Minute

// Open returns the agents of a network. Those that were lost can come again.
func (c *Coordinator) Open(ctx context.Context, want topo.Topology, _ string) (*target.Site, error) {
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if why := c.admitted[true]; why != nil && !inPods(want.Find.Kind) {
		return nil, why
	}
	seats, _, err := c.needs(want)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rejoinTime, fmt.Errorf("its agent has not joined the coordinator again within %v", rejoinTime))
	defer cancel()
	fresh := false
	for _, s := range seats {
		if s.alive() || c.admitted[s.host] != nil {
			continue
		}
		if err := c.fill(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		fresh = true
	}
	if fresh {
		c.found = c.learn(ctx, c.roster.API)
	}
	return c.site(want)
}

// fill gives a seat its agent.
func (c *Coordinator) fill(ctx context.Context, s *seat) error {
	again := time.NewTicker(pollTime)
	defer again.Stop()
	for {
		c.lobby.Lock()
		now := c.here[s.component()]
		delete(c.here, s.component())
		c.lobby.Unlock()
		if now != nil && now.alive() {
			s.agent, s.pod, s.addrs, s.hostIPs, s.services = now.agent, now.pod, now.addrs, now.hostIPs, now.services
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends the connections to all agents, which then end, and listens for no more.
func (c *Coordinator) Close() error {
	err := c.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lobby.Lock()
	defer c.lobby.Unlock()
	var all []*seat
	for _, seats := range []map[string]*seat{c.seats, c.here} {
		for _, s := range seats {
			all = append(all, s)
		}
	}
	c.hangUp(all)
	c.seats, c.found, c.here = nil, nil, map[string]*seat{}
	return err
}
