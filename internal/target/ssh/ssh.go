// Package ssh is the target of machines that exist and that the user's own ssh(1) reaches: with its
// configuration, keys, jump hosts and shared connections.
//
// One ssh per machine carries everything. It starts an agent there (package remote), which acts as
// the user that ssh logs in, and changes nothing but devices that Allow names, for the time of an event. The package must
// not speak the SSH protocol, read the user's keys or configuration, or weaken the check of host keys.
package ssh

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/topo"
)

// Ports are the ports that servers listen on by default; firewalls between the machines must pass them.
var Ports = target.Ports{First: 5201, Last: 5299}

// A Target is a set of machines. It keeps its connections until Close.
type Target struct {
	machines []*machine
	ports    target.Ports
	token    string
	programs remote.Programs
	allowed  []string // DEVICE@MACHINE, by the names of machines in topologies

	dialing sync.Mutex // held while connections are made or ended
}

// New returns the target of machines, each a name as ssh(1) takes it, or NAME=ADDRESS to measure an
// address of that machine instead of the one that ssh reaches. The zero ports are Ports. Its errors are usage errors:
// New touches nothing.
func New(machines []string, ports target.Ports, programs remote.Programs) (*Target, error) {
	ms, err := parse(machines)
	if err != nil {
		return nil, err
	}
	return &Target{machines: ms, ports: cmp.Or(ports, Ports), token: rand.Text(), programs: programs}, nil
}

// Names returns the names of the machines in topologies, results and reports, in the user's order.
func (t *Target) Names() []string {
	var names []string
	for _, m := range t.machines {
		names = append(names, m.name)
	}
	return names
}

// Allow lets events change devices, DEVICE@MACHINE each with a machine as in Names or as the user named it. Its error
// is a usage error.
func (t *Target) Allow(objects []string) error {
	for _, o := range objects {
		dev, on, _ := strings.Cut(o, "@")
		i := slices.IndexFunc(t.machines, func(m *machine) bool { return m.name == on || m.dest == on })
		if dev == "" || i < 0 {
			return fmt.Errorf("--allow %q: want DEVICE@MACHINE, a device that an event changes on one of %s, such as eth1@%s", o, strings.Join(t.Names(), ", "), t.machines[0].name)
		}
		t.allowed = append(t.allowed, dev+"@"+t.machines[i].name)
	}
	return nil
}

// Allows returns an error for a step of an event that changes a device that the user has not named, or that cuts the
// only way to undo it.
func (t *Target) Allows(s plan.Step) error {
	dev := s.Device()
	switch {
	case s.Command != nil || s.Restore != nil: // the agent undoes a command, and restores to undo
		return nil
	case dev == "":
		return errors.New("weir changes only devices of machines (set, addr, rate, drop, and route with dev)")
	}
	if object := dev + "@" + s.In; !slices.Contains(t.allowed, object) {
		return fmt.Errorf("it changes %s of the machine %s, which weir has not made: if that is meant, add --allow %s to weir run", dev, s.In, object)
	}
	i := slices.IndexFunc(t.machines, func(m *machine) bool { return m.name == s.In })
	if i < 0 || !t.machines[i].cutBy(s) {
		return nil
	}
	m, remedy := t.machines[i], "let ssh use another device of it"
	if s.Drop != nil {
		remedy += fmt.Sprintf(", or drop only what others than %v send (with)", m.caller)
	}
	for _, l := range m.links {
		for _, a := range l.Addrs {
			if l.Name == dev && m.called.IsValid() && a.Addr() == m.called {
				return fmt.Errorf("ssh reaches %s over %s (%v): without it, nothing would tell the machine to undo the event; %s", s.In, dev, m.called, remedy)
			}
		}
	}
	return nil
}

// cutBy reports whether a step cuts ssh off, if ssh uses the device.
func (m *machine) cutBy(s plan.Step) bool {
	switch {
	case s.Set != nil:
		return s.Set.Down
	case s.Addr != nil:
		return s.Addr.Gone
	case s.Drop != nil:
		return !s.Drop.With.IsValid() || s.Drop.With.Contains(m.caller)
	}
	return false
}

// atOnce bounds the logins in progress: a jump host refuses the eleventh by default (sshd_config(5),
// MaxStartups).
const atOnce = 8

// Connect connects to every machine that has no live connection. Its error names each machine that
// cannot be used, why, and the remedy.
func (t *Target) Connect(ctx context.Context) error {
	t.dialing.Lock()
	defer t.dialing.Unlock()
	return t.connect(ctx)
}

func (t *Target) connect(ctx context.Context) error {
	if _, err := facts.LookPath("ssh"); err != nil {
		return fmt.Errorf("%w; install the OpenSSH client (package openssh-client)", err)
	}
	errs := make([]error, len(t.machines))
	free := make(chan bool, atOnce)
	var all sync.WaitGroup
	for i, m := range t.machines {
		all.Go(func() {
			free <- true
			defer func() { <-free }()
			errs[i] = caught.Error(func() error { return m.connect(ctx, &t.programs) })
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return distinct(t.machines)
}

// Open finds the network want.Find between the first machines, as many as want has hosts. It
// connects to machines whose connection was lost.
func (t *Target) Open(ctx context.Context, want topo.Topology, _ string) (*target.Site, error) {
	if len(want.Hosts) > len(t.machines) {
		return nil, fmt.Errorf("the network has %d hosts, but --ssh names %d machines: %v", len(want.Hosts), len(t.machines), t.Names())
	}
	t.dialing.Lock()
	defer t.dialing.Unlock()
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	ms := t.machines[:len(want.Hosts)]
	places, err := find(ctx, ms, want.Find)
	if err != nil {
		return nil, err
	}
	found := topo.Topology{Exists: true, Find: want.Find, MTU: topo.MaxMTU}
	var nodes []*agent.Node
	for i, p := range places {
		found.MTU = min(found.MTU, p.mtu)
		found.Hosts = append(found.Hosts, topo.Host{Name: ms[i].name, Dev: p.dev, Addr: p.addr, MTU: p.mtu})
		nodes = append(nodes, ms[i].node)
	}
	site := agent.NewSite(found, nodes...)
	site.Token, site.Ports = t.token, t.ports
	apply := site.Apply
	site.Apply = func(ctx context.Context, steps []plan.Step) error {
		for i, s := range steps {
			if err := t.Allows(s); err != nil {
				return fmt.Errorf("step %d of %d, in %s: %w", i+1, len(steps), s.In, err)
			}
		}
		return apply(ctx, steps)
	}
	site.Close = func() error { return nil } // other sites use the connections
	return site, nil
}

// Close ends all connections. The agents then end what they started and remove their files.
func (t *Target) Close() error {
	t.dialing.Lock()
	defer t.dialing.Unlock()
	errs := make([]error, len(t.machines))
	var all sync.WaitGroup
	for i, m := range t.machines {
		all.Go(func() { errs[i] = caught.Error(m.close) })
	}
	all.Wait()
	return errors.Join(errs...)
}
