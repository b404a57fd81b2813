// Package place is where commands measure: the lab on this machine, machines over SSH, or the nodes and pods of a
// cluster. It decides how a place is entered and left, and completes a study with what it finds there.
//
// It must not measure, and prints nothing: what the user should know meanwhile goes to a lang.Teller.
package place

import (
	"context"
	"strings"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/target/ssh"
	"github.com/weir-bench/weir/internal/topo"
)

// A Place is a target and how it is entered.
type Place struct {
	target.Target
	Kernel   func() topo.Kernel                        // which plans need before Open
	Enter    func(context.Context, func() error) error // calls f where Open works, in this process or another
	Others   func() (sample.Counters, error)           // see experiment.Config; nil: nothing can tell
	Machines Machines                                  // those of others; nil: the lab
	Commands bool                                      // events can run commands of a study
}

// Lab is where every command builds and measures that names no other machines.
var Lab = Place{lab.Target{}, lab.Kernel, inLab, others, nil, false}

// Of returns the place of a study's target. Machines of another architecture get one of the programs. Its errors are
// about the study.
func Of(s study.Study, programs remote.Programs, tell lang.Teller) (Place, error) {
	t := s.Target
	if !t.Exists() {
		return Lab, nil
	}
	var ports target.Ports
	var err error
	if ports.First, ports.Last, err = t.PortRange(); err != nil {
		return Place{}, failure.Usage.Of(err)
	}
	var m Machines
	if t.Kube != nil {
		c := Cluster{&kube.Target{Kube: *t.Kube, Ports: ports, Programs: programs, Warn: warning(tell)}}
		m, err = c, c.Want(s)
	} else {
		m, err = ssh.New(t.SSH, ports, programs)
	}
	if err != nil {
		return Place{}, failure.Usage.Of(err)
	}
	enter := func(ctx context.Context, f func() error) error {
		tell.Say(lang.T("connecting to %s", About(t)))
		return connected(ctx, m, tell, f)
	}
	return Place{m, noKernel, enter, nil, m, false}, nil
}

// OfCoordinator returns the place of a coordinator, which is a pod of the cluster itself.
func OfCoordinator(c *kube.Coordinator, s study.Study, tell lang.Teller) (Place, error) {
	c.Warn = warning(tell)
	m := Cluster{c.Target}
	enter := func(ctx context.Context, f func() error) error {
		tell.Say(lang.T("waiting for the agents"))
		return connected(ctx, joined{c}, tell, f)
	}
	return Place{c, noKernel, enter, nil, m, false}, m.Want(s)
}

// Attached returns the place of a run that goes on in a cluster without this process, as a Job.
func Attached(k study.Kube, job string, tell lang.Teller) Place {
	k.InCluster = true
	m := Cluster{&kube.Target{Kube: k, Warn: warning(tell)}}
	enter := func(ctx context.Context, f func() error) error { return connected(ctx, adopted{m, job}, tell, f) }
	return Place{m, noKernel, enter, nil, m, false}
}

func noKernel() topo.Kernel { return topo.Kernel{} }

func warning(tell lang.Teller) func(string) { return func(s string) { tell.Warn(lang.Stored(s)) } }

// About describes a target for people.
func About(t study.Target) lang.Text {
	if t.Kube == nil {
		return lang.T("%s over SSH", strings.Join(t.SSH, ", "))
	}
	nodes := lang.T("two nodes")
	switch {
	case t.Hosts() > 0:
		nodes = lang.T("nodes %s", strings.Join(t.Kube.Nodes, ", "))
	case t.Kube.Nodes != nil:
		nodes = lang.T("all nodes")
	}
	if t.Kube.Context != "" {
		return lang.T("%s of %s, in Kubernetes", nodes, t.Kube.Context)
	}
	return lang.T("%s, in Kubernetes", nodes)
}

// Check refuses a study that no place of its kind can run, before any is entered.
func Check(s study.Study) error {
	if s.MaxTime > 0 && s.Precision == 0 {
		return failure.Usage.Errorf("max-time %v limits a precision, but none is set; add --precision, or use only --blocks", s.MaxTime)
	}
	kernel := topo.Kernel{}
	if !s.Target.Exists() {
		kernel = Lab.Kernel()
	}
	_, err := catalog.Prepare(s, kernel)
	return failure.Usage.Of(err)
}

// AllowCommands returns the place in which events run commands of a study and, in the lab, networks prefer the programs of a
// directory that it names.
func (p Place) AllowCommands() Place {
	p.Commands = true
	if _, ok := p.Target.(lab.Target); ok {
		p.Target = lab.Target{Commands: true}
	}
	return p
}

// Allow lets events change objects that weir has not made. Its error is of usage.
func (p Place) Allow(objects []string) error {
	t, ok := p.Target.(interface{ Allow([]string) error })
	switch {
	case len(objects) == 0:
		return nil
	case !ok:
		return failure.Usage.Errorf("--allow %s is for a device of a machine (--ssh) or a DaemonSet of a cluster (--kube): elsewhere weir changes only what it has made; leave it out", objects[0])
	}
	return failure.Usage.Of(t.Allow(objects))
}

// allowsObjects returns an error if an event of the study changes what weir has not made and the user has not allowed. Both ends are on either
// machine if they change places.
func (p Place) allowsObjects(s study.Study) error {
	t, ok := p.Target.(*ssh.Target)
	cluster, in := p.Target.(Cluster)
	for _, e := range s.Events {
		for _, step := range e.Do {
			if in {
				if err := cluster.Allows(step); err != nil {
					return failure.Usage.Errorf("event %s: %w", e.Name, err)
				}
			}
			if p.Machines == nil || step.Device() == "" {
				continue
			}
			if !ok {
				return failure.Usage.Errorf("event %s changes %s, a device of the cluster, and weir changes only what it has made there; measure in the lab (without --kube)", e.Name, step.Device())
			}
			names := t.Names()
			if len(names) > 2 { // which are the ends, Open decides
				continue
			}
			ends := map[string][]string{plan.Client: names[:1], plan.Server: names[1:]}[step.In]
			if s.Swap {
				ends = names
			}
			for _, step.In = range ends {
				if err := t.Allows(step); err != nil {
					return failure.Usage.Errorf("event %s: %w", e.Name, err)
				}
			}
		}
	}
	return nil
}

// Allows returns an error if an event of the study runs a command or changes what weir has not made, or a network uses programs of a directory,
// and the user has not allowed it.
func (p Place) Allows(s study.Study) error {
	if err := p.allowsObjects(s); err != nil {
		return err
	}
	if p.Commands {
		return nil
	}
	for _, e := range s.Events {
		for _, c := range e.Commands() {
			return failure.Usage.Errorf("event %s runs %q, a command that the study brings, with weir's privileges: read the study, then add --allow-commands to weir run", e.Name, strings.Join(c.Argv, " "))
		}
	}
	for _, u := range s.Networks {
		if dir, _ := u.Programs(); dir != "" {
			return failure.Usage.Errorf("network %s runs the programs in %s, which the study chooses, with weir's privileges: look at them, then add --allow-commands to weir run", u.Name, dir)
		}
	}
	return nil
}

// Prepare returns the drivers and probes of a study.
func (p Place) Prepare(s study.Study) (*catalog.Prepared, error) {
	prepared, err := catalog.Prepare(s, p.Kernel())
	return prepared, failure.Usage.Of(err)
}
