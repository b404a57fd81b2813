package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/cgroup"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/local"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/target/ssh"
	"github.com/weir-bench/weir/internal/topo"
)

// A place is a target and how the command line enters it.
type place struct {
	target.Target
	kernel   func() topo.Kernel                        // which plans need before Open
	enter    func(context.Context, func() error) error // calls f where Open works
	others   func() (sample.Counters, error)           // see experiment.Config
	machines machines                                  // those of others; nil: the lab
}

// thisMachine is where every command builds and measures that names no other machines.
var thisMachine = place{lab.Target{}, lab.Kernel, inLab, others, nil}

// machines is a target that finds its machines instead of making them.
type machines interface {
	target.Target
	// Connect connects to every machine. Its error names the machine, the reason and the remedy.
	Connect(context.Context) error
	// Names returns the names of the machines in the order of the study, after Connect.
	Names() []string
	Close() error
}

// cluster is the machines of a Kubernetes cluster.
type cluster struct{ *kube.Target }

func (c cluster) Names() (names []string) {
	for _, m := range c.Machines() {
		names = append(names, m.Name)
	}
	return names
}

// want makes the cluster start the pods of all networks of a study together.
func (c cluster) want(s study.Study) error {
	prepared, err := catalog.Prepare(s, topo.Kernel{})
	if err != nil {
		return exit(exitUsage, err)
	}
	c.Wants = nil
	for _, u := range s.Networks {
		c.Wants = append(c.Wants, prepared.Networks[u.Name].Topology)
	}
	toHost := func(ends string) bool { return strings.Contains(ends, plan.Host) }
	c.HostNetwork = slices.ContainsFunc(s.Factors[condition.Ends], toHost)
	return nil
}

// placeOf returns the place of a study's target.
func placeOf(s study.Study, programs remote.Programs) (place, error) {
	t := s.Target
	if !t.Exists() {
		return thisMachine, nil
	}
	var ports target.Ports
	var err error
	if ports.First, ports.Last, err = t.PortRange(); err != nil {
		return place{}, exit(exitUsage, err)
	}
	var m machines
	if t.Kube != nil {
		c := cluster{&kube.Target{Kube: *t.Kube, Ports: ports, Programs: programs, Warn: func(s string) { warn(lang.Stored(s)) }}}
		m, err = c, c.want(s)
	} else {
		m, err = ssh.New(t.SSH, ports, programs)
	}
	if err != nil {
		return place{}, exit(exitUsage, err)
	}
	enter := func(ctx context.Context, f func() error) error {
		say(lang.T("connecting to %s", aboutTarget(t)))
		return connected(ctx, m, f)
	}
	return place{m, func() topo.Kernel { return topo.Kernel{} }, enter, nil, m}, nil
}

// goodbye bounds how long a command waits for machines of others to end what weir started. They end it
// anyway once they hear nothing any more. After goodbyeSoon it says what it waits for.
const (
	goodbyeSoon = 5 * time.Second
	goodbye     = 150 * time.Second // a cluster is asked to remove everything within two minutes
)

// connected calls f while m is connected. It needs no namespaces and no privilege.
func connected(ctx context.Context, m machines, f func() error) error {
	defer func() {
		closed := make(chan error, 1)
		go func() { closed <- caught.Error(m.Close) }()
		for soon, late := time.After(goodbyeSoon), time.After(goodbye); ; {
			select {
			case err := <-closed:
				if err != nil {
					note(lang.Stored(err.Error()))
				}
				return
			case <-soon:
				say(lang.T("waiting until everything that weir started there has ended; Ctrl-C, twice, leaves that to the machines"))
			case <-late:
				note(lang.T("the machines have not confirmed within %v that everything has ended there; it ends by itself after 30 s of silence", goodbye))
				return
			}
		}
	}()
	err := m.Connect(ctx)
	wrong := (*kube.UsageError)(nil)
	switch {
	case err == nil:
		return f()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &wrong):
		return exit(exitUsage, err)
	}
	return exit(exitEnvironment, err)
}

func others() (sample.Counters, error) { return sample.Others(rootless.Outside()) }

// inLab runs f in a second process with its own namespaces. The first process starts that one and
// waits for it.
func inLab(ctx context.Context, f func() error) error {
	if !rootless.Inside() {
		if err := rootless.Room(toBuild); err != nil {
			return exit(exitEnvironment, err)
		}
		if err := local.KeepSysctls(); err != nil {
			return exit(exitEnvironment, err)
		}
		sweep, err := cgroup.Guard()
		if err != nil {
			return exit(exitEnvironment, err)
		}
		code, err := rootless.Reexec(ctx)
		err = errors.Join(err, sweep())
		if ctx.Err() != nil && err != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return exit(exitEnvironment, err)
		}
		return ended(code)
	}
	if err := rootless.Setup(); err != nil {
		return exit(exitEnvironment, err)
	}
	return f()
}
