package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/weir-bench/weir/internal/plan"
)

// daemon does something to a service. One that an event ended is not missed until it starts again.
func (l *lab) daemon(ctx context.Context, p *place, d *plan.Daemon) error {
	i := slices.IndexFunc(l.services, func(s *service) bool { return s.in == p.name && s.Name == d.Name })
	if i < 0 {
		var names []string
		for _, s := range l.services {
			if s.in == p.name {
				names = append(names, s.Name)
			}
		}
		return fmt.Errorf("no service %q runs in %s (those that do: %s)", d.Name, p.name, strings.Join(names, ", "))
	}
	s := l.services[i]
	switch d.Do {
	case plan.Kill:
		s.dismissed = true
		return s.signal(ctx, syscall.SIGKILL, true)
	case plan.Terminate:
		s.dismissed = true
		return s.signal(ctx, syscall.SIGTERM, true)
	case plan.Stop:
		return s.signal(ctx, syscall.SIGSTOP, false)
	case plan.Continue:
		return s.signal(ctx, syscall.SIGCONT, false)
	case plan.Start:
		s.stop()
		<-s.done
		s.log.Close()
		l.services = slices.Delete(l.services, i, i+1)
		return l.service(ctx, p, &s.Service)
	}
	return fmt.Errorf("a service cannot %q: want %s, %s, %s, %s or %s", d.Do, plan.Kill, plan.Terminate, plan.Stop, plan.Continue, plan.Start)
}

// signal sends a signal to the service's process group, and waits for its end if that is what the signal is for.
func (d *service) signal(ctx context.Context, s syscall.Signal, ends bool) error {
	select {
	case <-d.done: // its number can belong to another process
		return d.ended()
	default:
	}
	if err := syscall.Kill(-d.pid, s); err != nil || !ends {
		return err
	}
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
