package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// apply runs the steps in order and names the one that fails. By then the kernel can have executed
// some later steps in the same place.
func (l *lab) apply(ctx context.Context, steps []plan.Step) error {
	for done := 0; done < len(steps); {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := l.some(ctx, steps[done:])
		done += n
		if err != nil {
			err = fmt.Errorf("step %d of %d, in %s: %w", done+1, len(steps), steps[done].In, err)
			if !errors.Is(err, target.ErrService) { // a service that ended can explain a later failure
				err = errors.Join(err, l.ended())
			}
			return err
		}
	}
	return nil
}

// some runs the first step, together with following ones where that is cheaper. It returns how many
// succeeded; err belongs to the next one.
func (l *lab) some(ctx context.Context, steps []plan.Step) (done int, err error) {
	if steps[0].Sysctl != nil {
		done, err = l.sysctls(steps)
	} else {
		done, err = l.batch(steps)
	}
	if err != nil {
		l.forget() // some devices of the batch do not exist
		return done, explain(&steps[done], err)
	}
	if done == 0 {
		if err = l.alone(ctx, &steps[0]); err == nil {
			done = 1
		}
	}
	return done, err
}

// most limits the steps of a batch, and so the memory for their requests.
const most = 1 << 12

// batch runs the leading netlink-only steps. Without an error, done is 0 when there are none.
func (l *lab) batch(steps []plan.Step) (done int, err error) {
	steps = steps[:min(len(steps), most)]
	reqs := make([]*request, 0, len(steps))
	for done < len(steps) {
		rs, err := l.requests(&steps[done])
		if err != nil && done == 0 {
			return 0, err
		}
		if err != nil || rs == nil {
			break // perhaps it needs a device from this batch; the next call decides
		}
		for _, r := range rs {
			r.step = done
		}
		reqs = append(reqs, rs...)
		done++
	}
	if failed, err := execute(reqs...); err != nil {
		return reqs[failed].step, err
	}
	for _, r := range reqs {
		spare.Put(r)
	}
	return done, nil
}

// requests translates a step into netlink requests; nil if that is not possible.
func (l *lab) requests(s *plan.Step) ([]*request, error) {
	p, err := l.at(s.In)
	switch {
	case err != nil:
		return nil, err
	case p.guest != nil:
		return nil, nil
	case s.Link != nil:
		return l.link(p, s.Link)
	case s.Set != nil:
		return one(p.set(s.Set))
	case s.Addr != nil:
		return one(p.addr(s.Addr))
	case s.Route != nil:
		return one(p.route(s.Route))
	case s.Rule != nil:
		return []*request{p.rule(s.Rule)}, nil
	case s.Proxy != nil:
		return one(p.proxy(s.Proxy))
	case s.FDB != nil:
		return one(p.fdb(s.FDB))
	case s.Rate != nil:
		at := atRoot
		if s.Rate.Delayed && l.delayBy == byNetem {
			at = belowDelay
		}
		return one(p.rate(s.Rate, at))
	}
	return nil, nil
}

func one(r *request, err error) ([]*request, error) { return []*request{r}, err }

func run(reqs []*request, err error) error {
	if err == nil {
		_, err = execute(reqs...)
	}
	return err
}

func (l *lab) alone(ctx context.Context, s *plan.Step) error {
	p, err := l.at(s.In)
	switch {
	case err != nil:
		return err
	case s.Inside != nil:
		return l.inside(ctx, p, s)
	case p.guest != nil:
		return p.guest.Step(ctx, *s)
	case s.Link != nil:
		return explain(s, l.assemble(p, s.Link))
	case s.Offload != nil:
		eth, err := p.ethtool()
		if err == nil {
			err = eth.Change(s.Offload.Dev, s.Offload.Features)
		}
		return explain(s, err)
	case s.Move != nil:
		return explain(s, l.move(p, s.Move))
	case s.Delay != nil:
		return l.distance(ctx, p, s)
	}
	defer l.forget() // programs create and remove devices
	switch {
	case s.File != nil:
		return l.file(p, s.File)
	case s.Exec != nil:
		return l.exec(ctx, p, s.Exec)
	case s.Drop != nil:
		if _, err := p.index(s.Drop.Dev); err != nil && !s.Drop.Gone { // since Linux 6.16, nft hooks devices that are not there yet
			return explain(s, err)
		}
		return explain(s, l.exec(ctx, p, &plan.Exec{Argv: s.Drop.Argv()}))
	case s.Adopt != nil:
		return l.adopt(ctx, p, s.Adopt)
	case s.Service != nil:
		return l.service(ctx, p, s.Service)
	case s.Await != nil:
		return l.await(ctx, p, s.Await)
	case s.Daemon != nil:
		return l.daemon(ctx, p, s.Daemon)
	case s.Endpoint != nil:
		return l.endpoint(ctx, p, s.Endpoint)
	case s.Command != nil:
		return l.command(ctx, p, s.Command)
	case s.Announce != nil:
		return p.announce(s.Announce)
	case s.Flush != nil:
		return p.flush()
	case s.Reload != nil:
		return l.reload(ctx, p, s.Reload)
	case s.Guest != nil:
		return l.enter(ctx, p, s.Guest)
	}
	return errors.New("the step is empty")
}

// explain adds to a step's error what failed and, for a missing kernel feature, the remedy.
func explain(s *plan.Step, err error) error {
	what, feature := "", ""
	switch {
	case s.Link != nil:
		what, feature = "add "+s.Link.Kind+" "+s.Link.Name, s.Link.Kind
	case s.Set != nil:
		what = fmt.Sprintf("set MTU of %s to %d", s.Set.Dev, s.Set.MTU)
		if s.Set.MTU == 0 {
			what = "set " + s.Set.Dev + " up or down"
		}
		if s.Set.Master != "" {
			what += " and make it a port of " + s.Set.Master
		}
	case s.Addr != nil:
		what = fmt.Sprintf("address %v on %s", s.Addr.Prefix, s.Addr.Dev)
	case s.Route != nil:
		what = fmt.Sprintf("route to %v", s.Route.Dst)
		if s.Route.Dev != "" {
			what += " over " + s.Route.Dev
		}
	case s.Rule != nil:
		what, feature = fmt.Sprintf("rule %d from %v to %v, table %d", s.Rule.Priority, s.Rule.From, s.Rule.To, s.Rule.Table), "policy rules"
	case s.Proxy != nil:
		what = fmt.Sprintf("answer for %v on %s", s.Proxy.Addr, s.Proxy.Dev)
	case s.FDB != nil:
		what = fmt.Sprintf("forwarding entry for %v on %s", s.FDB.Dst, s.FDB.Dev)
	case s.Sysctl != nil:
		what, feature = fmt.Sprintf("sysctl %s=%s", s.Sysctl.Key, s.Sysctl.Value), s.Sysctl.Key
		switch {
		case strings.HasPrefix(feature, plan.BridgeNF):
			feature = "br_netfilter"
		case feature == plan.DefaultRPS && errors.Is(err, unix.ENOENT):
			err = fmt.Errorf("%w: %w, which lacks this setting: Linux 6.3 or later with CONFIG_RPS has it; measure without the factor rps, or boot such a kernel", err, ErrUnsupported)
		case feature == plan.DefaultRPS && (errors.Is(err, unix.EOVERFLOW) || errors.Is(err, unix.EINVAL)):
			err = fmt.Errorf("%w: the mask names no CPU of this machine that can receive, or CPUs that it lacks; all of them are %s", err, allCPUs())
		}
	case s.Offload != nil:
		what = "offload of " + s.Offload.Dev
	case s.Rate != nil:
		what, feature = fmt.Sprintf("rate %g bit/s on %s", s.Rate.Rate, s.Rate.Dev), "tbf"
	case s.Drop != nil:
		what = "drop packets at " + s.Drop.Dev
	case s.Delay != nil:
		what, feature = fmt.Sprintf("delay %v on %s", s.Delay.Delay, s.Delay.Dev), "netem"
	case s.Move != nil:
		what = fmt.Sprintf("move %s to %s as %s", s.Move.Dev, s.Move.To, s.Move.As)
	}
	if err == nil || what == "" {
		return err
	}
	if errors.Is(err, unix.ENOENT) && (s.Rate != nil || s.Delay != nil || feature == "br_netfilter") {
		err = unix.EOPNOTSUPP // unknown kind without a module (net/sched/sch_api.c, qdisc_create); no such file
	}
	return fmt.Errorf("%s: %w", what, unsupported(err, feature))
}

// sysctls runs the leading sysctl steps of all places on one thread.
func (l *lab) sysctls(steps []plan.Step) (done int, err error) {
	var places []*netns.Namespace
	for _, s := range steps {
		p, err := l.at(s.In)
		if s.Sysctl == nil || err != nil || p.guest != nil {
			break
		}
		places = append(places, p.ns)
	}
	err = netns.DoEach(places, func(i int) error {
		s := steps[i].Sysctl
		value := plan.Expand(l.values, s.Value)[0]
		err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(s.Key, ".", "/"), []byte(value), 0)
		if errors.Is(err, os.ErrNotExist) && (s.Optional || strings.HasPrefix(s.Key, "net.ipv6.conf.default.")) {
			err = nil // a kernel without IPv6 is as quiet as the plan wants
		}
		if err == nil {
			done++
		}
		return err
	})
	return done, err
}
