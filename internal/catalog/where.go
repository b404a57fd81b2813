package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
)

// Where returns the kinds of targets that have n.
func (n Network) Where() []network.Where { return network.WhereIs(n.New()) }

// Driver returns a driver with the options of u, and with the steps that follow the network's own.
func (n Network) Driver(u study.Use) (network.Driver, error) {
	steps, err := u.Also()
	if err != nil {
		return nil, err
	}
	d := n.New()
	u.Options = maps.Clone(u.Options)
	delete(u.Options, study.AlsoKey)
	delete(u.Options, study.ProgramsKey)
	delete(u.Options, study.UnderKey)
	if err := u.Decode(d); err != nil || len(steps) == 0 {
		return d, err
	}
	return network.Also{Driver: d, Steps: steps}, nil
}

// In returns the names of the networks of a kind of target.
func In(w network.Where) []string {
	return slices.DeleteFunc(Names(Networks), func(name string) bool { return !slices.Contains(Networks[name].Where(), w) })
}

// whereOf returns the kind of a study's target.
func whereOf(t study.Target) network.Where {
	switch {
	case t.Kube != nil:
		return network.InKube
	case t.Exists():
		return network.OverSSH
	}
	return network.InLab
}

// Elsewhere returns an error if a kind of target does not have the network n, called name.
func (n Network) Elsewhere(name string, at network.Where) error {
	has := n.Where()
	switch {
	case slices.Contains(has, at):
		return nil
	case at == network.InLab:
		flag := map[network.Where]string{network.OverSSH: "--ssh or --kube", network.InKube: "--kube"}[has[0]]
		return fmt.Errorf("%s exists on machines of yours, and weir does not build it; add %s, or use another network (-n), such as %s", name, flag, instead)
	}
	return fmt.Errorf("%s is not a network of this target, where weir builds none; replace it (-n) by one of %s, or leave out --%s", name, strings.Join(In(at), ", "), at)
}

// instead is a network to build instead of one that exists.
const instead = "vxlan-overlay"

// programs returns the directory of the option programs, or an error where weir cannot run programs of its choice, or
// for a network that has no plan.
func programs(u study.Use, n experiment.Network, at network.Where) (dir string, err error) {
	p, err := network.Build(n.Driver, n.Topology)
	if err == nil {
		dir, err = u.Programs()
	}
	switch {
	case err != nil || dir == "":
	case at != network.InLab:
		err = fmt.Errorf("%s: programs: weir runs what machines have that it finds; leave it out, or measure in the lab (without --ssh or --kube)", u.Name)
	case slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Guest != nil }):
		err = fmt.Errorf("%s: programs: its hosts or pods are virtual machines, which do not have that directory; use another network", u.Name)
	}
	return dir, err
}
