package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/vm"
)

// adopt replaces a pod's network namespace by that of a process on host p. In /run/netns of hosts
// with daemons, the pod's name still refers to the old one.
func (l *lab) adopt(ctx context.Context, p *place, a *plan.Adopt) error {
	if err := l.state(p); err != nil {
		return err
	}
	pod, err := l.at(a.Pod)
	if err != nil {
		return err
	}
	if pod.host != nil {
		return fmt.Errorf("%s runs daemons, which would stay in its old namespace", a.Pod)
	}
	timed, cancel := bound(ctx, plan.ExecTimeout)
	out, err := l.output(timed, p, nil, a.PID)
	cancel()
	if err != nil {
		return fmt.Errorf("%w%s", err, l.said(p.name))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || pid <= 0 { // Docker prints 0 for a container that has ended
		return fmt.Errorf("%s printed %.60q, want a process ID%s", a.PID[0], out, l.said(p.name))
	}
	var ns *netns.Namespace
	err = p.host.Do(func() (err error) { // the PID is valid in the host's PID namespace
		ns, err = netns.At(fmt.Sprintf("/proc/%d/ns/net", pid))
		return err
	})
	if err != nil {
		return fmt.Errorf("network of process %d: %w", pid, err)
	}
	var adopted *place
	err = ns.Do(func() (err error) {
		adopted, err = newPlace(a.Pod, ns)
		return err
	})
	if err != nil {
		return fmt.Errorf("network of process %d: %w", pid, err)
	}
	old := *pod
	*pod = *adopted // callers of the site hold pod
	if err := old.close(); err != nil {
		return err
	}
	return l.makes(pod, a.PID[0], a.Makes)
}

// enter turns p into the guest that a service runs.
func (l *lab) enter(ctx context.Context, p *place, g *plan.Guest) error {
	host, err := l.at(g.Host)
	if err != nil {
		return err
	}
	if host.host == nil {
		return fmt.Errorf("guest %s: no service runs on %s", p.name, g.Host)
	}
	socket := fmt.Sprintf("/proc/%d/root%s", host.host.PID(), plan.Expand(l.values, g.Socket)[0])
	n, err := vm.Connect(ctx, p.name, socket, p.Host())
	if err != nil {
		return err
	}
	p.guest = n
	for name, found := range n.About {
		if was := l.found[name]; was != "" && was != found { // guests of one network can differ
			found = was + ", " + found
		}
		l.found[name] = found
	}
	return nil
}

// An actor acts in a whole guest: a lab with the network namespace of process 1 and those that it makes
// for containers.
type actor struct{ *lab }

// Actor applies steps and checks states in the guest called name. It runs in the guest's agent.
func Actor(name string) (agent.Actor, error) {
	ns, err := netns.Current()
	if err != nil {
		return nil, err
	}
	p, err := newPlace(name, ns)
	if err != nil {
		return nil, err
	}
	return actor{&lab{places: map[string]*place{name: p}, found: map[string]string{}, keys: map[[2]string]wgtypes.Key{}}}, nil
}

func (a actor) Step(ctx context.Context, s plan.Step) error {
	switch {
	case s.Service != nil || s.Exec != nil || s.File != nil:
		return errors.New("daemons in guests are not supported")
	case s.Inside != nil:
		return a.contain(s.In)
	}
	_, err := a.some(ctx, []plan.Step{s})
	return err
}

func (a actor) Check(s plan.State) error { return a.verify(context.Background(), []plan.State{s}) }
func (a actor) Close() error             { return a.close() }
