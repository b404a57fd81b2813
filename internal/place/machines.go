package place

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/topo"
)

// Machines is a target that finds its machines instead of making them.
type Machines interface {
	target.Target
	// Connect connects to every machine. Its error names the machine, the reason and the remedy.
	Connect(context.Context) error
	// Names returns the names of the machines in the order of the study, after Connect.
	Names() []string
	Close() error
}

// A Cluster is the machines of a Kubernetes cluster.
type Cluster struct{ *kube.Target }

// Names returns the names of the nodes.
func (c Cluster) Names() (names []string) {
	for _, m := range c.Machines() {
		names = append(names, m.Name)
	}
	return names
}

// Want makes the cluster start the pods of all networks of a study together.
func (c Cluster) Want(s study.Study) error {
	prepared, err := catalog.Prepare(s, topo.Kernel{})
	if err != nil {
		return failure.Usage.Of(err)
	}
	if c.InCluster && len(s.Events) > 0 {
		return failure.Usage.Errorf("events in a cluster need kubectl, which a coordinator in it does not have: leave out --in-cluster")
	}
	c.Wants, c.Events = nil, s.Events
	for _, u := range s.Networks {
		c.Wants = append(c.Wants, prepared.Networks[u.Name].Topology)
	}
	toHost := func(ends string) bool { return strings.Contains(ends, plan.Host) }
	c.HostNetwork = slices.ContainsFunc(s.Factors[condition.Ends], toHost)
	return nil
}

// joined is a coordinator with the names of its machines.
type joined struct{ *kube.Coordinator }

func (j joined) Names() []string { return Cluster{j.Target}.Names() }

// adopted is a cluster with a run of an earlier command.
type adopted struct {
	Cluster
	job string
}

func (a adopted) Connect(ctx context.Context) error { return a.Adopt(ctx, a.job) }

// Settle completes a study with the machines that connecting has found, so that the stored study names
// them. Of a study that the user did not choose, one node leaves out the networks that connect hosts.
func (p Place) Settle(s study.Study, byDefault bool) (study.Study, error) {
	c, ok := p.Machines.(Cluster)
	if !ok {
		return s, nil
	}
	names := c.Names()
	if len(s.Target.Kube.Nodes) == 0 { // weir has chosen
		names = names[:min(len(names), s.Topology.Hosts)]
	}
	one := *s.Target.Kube
	one.Nodes = names
	s.Target.Kube, s.Topology.Hosts = &one, len(names)
	if len(names) == 1 && byDefault {
		s = WithoutHost(s)
	}
	if err := Check(s); err != nil {
		return s, err
	}
	return s, c.Want(s)
}

// WithoutHost returns a study without the networks that connect hosts: one host has nobody to talk to.
func WithoutHost(s study.Study) study.Study {
	s.Networks = slices.DeleteFunc(slices.Clone(s.Networks), func(u study.Use) bool { return u.Kind == "host" })
	s.Baseline = ""
	return s.Resolve()
}

// goodbye bounds how long a command waits for machines of others to end what weir started. They end it
// anyway once they hear nothing any more. After goodbyeSoon it says what it waits for.
const (
	goodbyeSoon = 5 * time.Second
	goodbye     = 150 * time.Second // a cluster is asked to remove everything within two minutes
	// goodbyeNow is the same after a signal, which ends a command within 2 s.
	goodbyeNow = 500 * time.Millisecond
)

// connected calls f while m is connected. It needs no namespaces and no privilege.
func connected(ctx context.Context, m Machines, tell lang.Teller, f func() error) error {
	defer context.AfterFunc(ctx, func() { abandon(m, tell) })()
	defer leave(ctx, m, tell)
	err := m.Connect(ctx)
	wrong := (*kube.UsageError)(nil)
	switch {
	case err == nil:
		return f()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &wrong):
		return failure.Usage.Of(err)
	}
	return failure.Environment.Of(err)
}

// leave closes the connections, and says what takes long and what is left.
func leave(ctx context.Context, m Machines, tell lang.Teller) {
	closed := make(chan error, 1)
	go func() { closed <- caught.Error(m.Close) }()
	var now <-chan time.Time
	for soon, late, signal := time.After(goodbyeSoon), time.After(goodbye), ctx.Done(); ; {
		select {
		case err := <-closed:
			if err != nil {
				tell.Note(lang.Stored(err.Error()))
			}
			return
		case <-signal:
			signal, now = nil, time.After(goodbyeNow)
		case <-now: // what still runs here ends with this process, and then what it started there
			return
		case <-soon:
			tell.Say(lang.T("waiting until everything that weir started there has ended; Ctrl-C leaves that to the machines"))
		case <-late:
			tell.Note(lang.T("the machines have not confirmed within %v that everything has ended there; it ends by itself after 30 s of silence", goodbye))
			return
		}
	}
}
