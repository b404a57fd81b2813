package network

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// An Also is a network with further steps after its own: a fault, the remedy for one, or a setting
// that no factor has. The ends and the path that it promises stay those of Driver, even if a step
// breaks the promise.
type Also struct {
	Driver
	Steps []plan.Step
}

func (a Also) Shape(s topo.Spec) topo.Spec { return Shape(a.Driver, s) }

func (a Also) Plan(t topo.Topology) (plan.Plan, error) {
	p, err := a.Driver.Plan(t)
	if err != nil {
		return p, err
	}
	if t.Exists {
		return p, errors.New("also: weir changes nothing on machines that it finds; leave it out, or measure in the lab (without --ssh or --kube)")
	}
	for i, s := range a.Steps {
		if err := checkStep(t, p, s, alsoKinds); err != nil {
			return p, fmt.Errorf("also: step %d: %w", i+1, err)
		}
	}
	p.Steps, p.Added = append(p.Steps, sized(t, a.Steps)...), a.Steps
	return changeMTUs(t, p, a.Steps), nil
}

// sized returns steps whose rates know the largest packet: without it, a token bucket drops nearly everything.
func sized(t topo.Topology, steps []plan.Step) []plan.Step {
	steps = slices.Clone(steps)
	for i, s := range steps {
		if s.Rate != nil && s.Rate.MTU == 0 {
			r := *s.Rate
			r.MTU = t.MTU
			steps[i].Rate = &r
		}
	}
	return steps
}

// changeMTUs makes p expect the MTUs that steps set. Where packets of the path's MTU no longer pass,
// or only in fragments, p no longer expects them to: that is the fault to find.
func changeMTUs(t topo.Topology, p plan.Plan, steps []plan.Step) plan.Plan {
	passes := p.Path.MTU
	for i, s := range steps {
		if s.Set == nil || slices.ContainsFunc(steps[i+1:], func(later plan.Step) bool {
			return later.Set != nil && later.In == s.In && later.Set.Dev == s.Set.Dev
		}) {
			continue
		}
		at := slices.IndexFunc(p.Expect, func(e plan.Expect) bool { return e.In == s.In && e.Dev == s.Set.Dev && e.MTU > 0 })
		if at < 0 {
			at = len(p.Expect)
			p.Expect = append(p.Expect, plan.Expect{State: plan.State{In: s.In, Dev: s.Set.Dev}})
		}
		p.Expect[at].MTU = s.Set.MTU
		mtu := s.Set.MTU
		if isPort(t, s.In, s.Set.Dev) {
			mtu -= p.Path.Overhead
		}
		passes = min(passes, mtu)
	}
	if passes < p.Path.MTU {
		p.Path.Passes = passes
		for i := range p.Expect {
			p.Expect[i].NoFragments = false
		}
	}
	return p
}

func isPort(t topo.Topology, in, dev string) bool {
	return slices.ContainsFunc(slices.Concat(t.Segments...), func(p topo.Port) bool { return p.In == in && p.Dev == dev })
}

// checkStep returns an error unless s is of one of these kinds and can follow the steps of p.
func checkStep(t topo.Topology, p plan.Plan, s plan.Step, kinds []string) error {
	if err := checkKind(s, kinds); err != nil {
		return err
	}
	places := Places(t)
	for _, in := range placesOf(s) {
		if !slices.Contains(places, in) {
			return fmt.Errorf("unknown place %q: have %s", in, strings.Join(places, ", "))
		}
	}
	switch {
	case s.Exec != nil:
		if err := checkProgram(*s.Exec); err != nil {
			return err
		}
		if inGuest(p, s.In) {
			return fmt.Errorf("%s is in a virtual machine, where weir runs no nft or tc; use another kind of step, or a place outside", s.In)
		}
	case s.Command != nil && inGuest(p, s.In):
		return fmt.Errorf("%s is in a virtual machine, where weir runs no commands of a study; name a place outside", s.In)
	case s.Sysctl != nil && s.Sysctl.Key == plan.DefaultRPS:
		return fmt.Errorf("%s concerns only devices made later; use the factor rps", plan.DefaultRPS)
	case s.Sysctl != nil && !netKey.MatchString(s.Sysctl.Key):
		return fmt.Errorf("invalid sysctl %q: want a key of a network namespace, such as net.ipv4.tcp_rmem", s.Sysctl.Key)
	case s.Sysctl != nil && machineKey.MatchString(s.Sysctl.Key):
		return fmt.Errorf("%s is a setting of the whole machine, which weir does not change; set it with sysctl(8) before the run", s.Sysctl.Key)
	}
	if err := checkSet(s); err != nil {
		return err
	}
	if dev := queued(s); dev != "" && (t.Rate > 0 || t.Far) && (s.In == Switch || isPort(t, s.In, dev)) {
		return fmt.Errorf("%s of %s has the rate or the distance of this study, which the step would replace; leave out link, delay, jitter and loss, or this step", dev, s.In)
	}
	return nil
}

// checkSet returns an error if s sets a device neither up nor down, and an MTU that none can have.
func checkSet(s plan.Step) error {
	switch {
	case s.Set == nil || s.Set.MTU == 0 && s.Set.Up != s.Set.Down:
	case s.Set.MTU < topo.MinMTU || s.Set.MTU > topo.MaxMTU:
		return fmt.Errorf("invalid MTU %d: want %d to %d bytes", s.Set.MTU, topo.MinMTU, topo.MaxMTU)
	}
	return nil
}

// inGuest reports whether steps of p make a place a virtual machine, or put it into one.
func inGuest(p plan.Plan, in string) bool {
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.In == in && (s.Guest != nil || s.Inside != nil) })
}

// netKey matches sysctls that are safe to set from a study that somebody else wrote: below /proc/sys/net,
// and of the namespace.
var netKey = regexp.MustCompile(`^net(\.[\w-]+)+$`)

// machineKey matches sysctls that a kernel before 5.13 shows in every network namespace although all share
// the value: those of the neighbor table (neigh_sysctl_register, net/core/neighbour.c).
var machineKey = regexp.MustCompile(`^net\.ipv[46]\.neigh\.default\.gc_`)

// alsoKinds change settings and nothing else.
var alsoKinds = []string{"addr", "exec", "link", "offload", "rate", "route", "rule", "set", "sysctl"}

// checkKind returns an error unless s has exactly one kind, which is allowed.
func checkKind(s plan.Step, allowed []string) error {
	var has []string
	other := false
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			kind := strings.ToLower(v.Type().Field(i).Name)
			has = append(has, kind)
			other = other || !slices.Contains(allowed, kind)
		}
	}
	want := "want one of " + strings.Join(allowed, ", ")
	switch {
	case other:
		return fmt.Errorf("a kind of step for networks alone; %s", want)
	case len(has) != 1:
		return fmt.Errorf("%d kinds of steps in one; %s", len(has), want)
	case s.In == "":
		return errors.New("no place; add in: h1, or another host or pod")
	}
	return nil
}

func placesOf(s plan.Step) []string {
	all := []string{s.In}
	if l := s.Link; l != nil {
		for _, in := range []string{l.PeerIn, l.To} {
			if in != "" {
				all = append(all, in)
			}
		}
		for _, p := range l.Peers {
			all = append(all, p.In)
		}
	}
	return all
}

// checkProgram refuses everything but two programs that change network namespaces and, used this way, start
// nothing and read no file: tc(8) can run a shell (tc exec), read commands from a file (-batch) and load
// programs into the kernel (bpf); nft(8) has options and a statement (include) that read files.
func checkProgram(e plan.Exec) error {
	if !reflect.DeepEqual(e, plan.Exec{Argv: e.Argv}) {
		return errors.New("exec has more than argv; leave out the rest")
	}
	readsFiles := func(a string) bool { return strings.HasPrefix(a, "-") || strings.Contains(a, "include") }
	switch {
	case len(e.Argv) < 2:
	case e.Argv[0] == "nft" && !slices.ContainsFunc(e.Argv, readsFiles):
		return nil
	case e.Argv[0] == "tc" && slices.Contains([]string{"qdisc", "class", "filter"}, e.Argv[1]) && !slices.Contains(e.Argv, "bpf"):
		return nil
	}
	return fmt.Errorf("exec: %q is not allowed: want nft with commands, without options and include, or tc qdisc, tc class or tc filter without bpf", strings.Join(e.Argv, " "))
}

// queued returns the device whose queue a step sets, or "".
func queued(s plan.Step) string {
	switch {
	case s.Rate != nil:
		return s.Rate.Dev
	case s.Exec != nil && s.Exec.Argv[0] == "tc":
		if i := slices.Index(s.Exec.Argv, "dev"); i >= 0 && i+1 < len(s.Exec.Argv) {
			return s.Exec.Argv[i+1]
		}
	}
	return ""
}
