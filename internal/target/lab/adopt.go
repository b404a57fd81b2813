package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
)

// adopt replaces a pod's network namespace by that of a process on host p. In
// /run/netns of hosts with daemons, the pod's name still leads to the old one.
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
	err = p.host.Do(func() (err error) { // the ID is valid in the PID namespace of the host
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
