package lab

import (
	"context"
	"errors"
	"fmt"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/vm"
)

// enter makes p the guest that a service runs.
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

// An actor acts in a whole guest: a lab of one place, the network namespace of its
// process 1.
type actor struct {
	*lab
	place *place
}

// Actor returns what does the steps of plans, and checks states, for the guest
// called name. It runs in the guest's agent.
func Actor(name string) (agent.Actor, error) {
	ns, err := netns.Current()
	if err != nil {
		return nil, err
	}
	p, err := newPlace(name, ns)
	if err != nil {
		return nil, err
	}
	return actor{&lab{places: map[string]*place{name: p}, found: map[string]string{}, keys: map[[2]string]wgtypes.Key{}}, p}, nil
}

func (a actor) Step(ctx context.Context, s plan.Step) error {
	if s.Service != nil || s.Exec != nil || s.File != nil {
		return errors.New("daemons in guests are not supported")
	}
	_, err := a.some(ctx, []plan.Step{s})
	return err
}

func (a actor) Check(s plan.State) error { return a.place.verify(context.Background(), s) }
func (a actor) Close() error             { return a.close() }
