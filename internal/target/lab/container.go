package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target/agent"
)

// inside turns p into a container of a guest. In the guest's own agent it makes the network namespace.
func (l *lab) inside(ctx context.Context, p *place, s *plan.Step) error {
	guest, err := l.at(s.Inside.Guest)
	if err != nil {
		return err
	}
	if guest.guest == nil {
		return fmt.Errorf("container %s: %s is not a guest", p.name, guest.name)
	}
	if err := guest.guest.Step(ctx, *s); err != nil {
		return err
	}
	p.guest, err = guest.guest.Inside(ctx, p.name)
	return err
}

// contain makes the place of a container, and names its network namespace, so that programs can enter it.
func (a actor) contain(name string) error {
	if a.places[name] != nil {
		return fmt.Errorf("duplicate place %s", name)
	}
	return netns.Create(1, func(_ int, ns *netns.Namespace) error {
		if err := hostns.Name(name); err != nil {
			return errors.Join(err, ns.Close())
		}
		p, err := newPlace(name, ns)
		if err == nil {
			a.places[name] = p
		}
		return err
	})
}

// Container becomes the agent of a container in a guest, on standard input and output. It returns only
// with an error. The agent itself is the program again, with argv: all threads of a program are in the
// container's network namespace if it begins there.
func Container(name string, argv []string) error {
	return netns.Exec(hostns.Peer(name), hostns.OwnSys, "/proc/self/exe", argv, os.Environ())
}

// ServeContainer is the agent that Container becomes. The guest's own agent acts for it.
func ServeContainer() error {
	return agent.Serve(struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}, nil)
}
