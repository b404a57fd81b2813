package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
)

// adopt puts the network namespace of a process of host p in the place of the
// pod's own. Hosts that have namespaces for daemons keep the old one by its name
// in /run/netns.
func (l *lab) adopt(ctx context.Context, p *place, a *plan.Adopt) error {
	if err := l.state(p); err != nil {
		return err
	}
	pod, err := l.at(a.Pod)
	if err != nil {
		return err
	}
	if pod.host != nil {
		return fmt.Errorf("%s has daemons: they would stay where they are", a.Pod)
	}
	timed, cancel := bound(ctx, plan.ExecTimeout)
	out, err := l.output(timed, p, nil, a.PID)
	cancel()
	if err != nil {
		return fmt.Errorf("%w%s", err, l.said(p.name))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || pid <= 0 { // 0 is what Docker says of a container that has ended
		return fmt.Errorf("%s printed %.60q, which is not the number of a process%s", a.PID[0], out, l.said(p.name))
	}
	var ns *netns.Namespace
	err = p.host.Do(func() (err error) { // the number is of the host's own processes
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
	*pod = *adopted // the site has handed out pod
	if err := old.close(); err != nil {
		return err
	}
	return l.makes(pod, a.PID[0], a.Makes)
}
