package job

import (
	"errors"
	"fmt"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/target/ssh"
	"github.com/weir-bench/weir/internal/topo"
)

// Plan returns the topology of a study's only network in the lab and the whole plan that builds it. Its errors are about
// what is asked for.
func Plan(s study.Study) (on topo.Topology, p plan.Plan, err error) {
	prepared, err := place.Lab.Prepare(s)
	if err != nil {
		return on, p, failure.Usage.Of(err)
	}
	n := prepared.Networks[s.Networks[0].Name]
	p, err = network.Build(n.Driver, n.Topology)
	return n.Topology, p, failure.Usage.Of(err)
}

// A Planned is a network of a study in the lab as a run builds it.
type Planned struct {
	Network string            // its name in the study
	Built   map[string]string // levels of conditions that it is built with
	On      topo.Topology
	Plan    plan.Plan
	Changes []PlannedChange // in the order of the study's cells
}

// A PlannedChange is what weir changes of a built network before trials under conditions, and undoes after them.
type PlannedChange struct {
	Levels map[string]string // of the conditions
	Do     []plan.Step
	Err    error // why there is none; a run skips these trials
}

// Plans returns the plans of all networks of a study in the lab, one for each combination of levels that a network must be
// built with, and the changes that its other conditions make. Its errors are about what is asked for.
func Plans(s study.Study) (all []Planned, err error) {
	prepared, err := place.Lab.Prepare(s)
	if err != nil {
		return nil, failure.Usage.Of(err)
	}
	at := map[string]int{} // index in all
	seen := map[string]bool{}
	for _, c := range s.Cells(catalog.Applies) {
		n, levels := prepared.Networks[c.Network], condition.Network(c.Levels)
		delete(levels, condition.Ends)
		built := condition.AtBuild(levels)
		key := fmt.Sprintf("%q %q", c.Network, built) // %q sorts a map
		if _, ok := at[key]; !ok {
			change, err := condition.Change(n.Driver, n.Topology, built)
			if err != nil {
				return nil, failure.Usage.Of(fmt.Errorf("%s: %w", c.Network, err))
			}
			at[key] = len(all)
			all = append(all, Planned{c.Network, built, change.Topology, change.Plan, nil})
		}
		if key := fmt.Sprintf("%q %q", c.Network, levels); !seen[key] {
			seen[key] = true
			change, err := condition.Change(n.Driver, n.Topology, levels)
			if err != nil && !errors.Is(err, plan.ErrRebuild) {
				return nil, failure.Usage.Of(fmt.Errorf("%s: %w", c.Network, err))
			}
			if err != nil || len(change.Do) > 0 {
				one := &all[at[fmt.Sprintf("%q %q", c.Network, built)]]
				one.Changes = append(one.Changes, PlannedChange{levels, change.Do, err})
			}
		}
	}
	return all, nil
}

// A MachinesPlan is what a run uses of machines that exist.
type MachinesPlan struct {
	SSH      []string `json:"ssh"`   // machines, as ssh names them, with =ADDRESS if one was given
	Ports    [2]int   `json:"ports"` // first and last that servers listen on
	Networks []string `json:"networks"`
}

// PlanMachines returns what a study uses of machines over SSH. It connects to none of them.
func PlanMachines(s study.Study) (MachinesPlan, error) {
	first, last, err := s.Target.PortRange()
	if first == 0 {
		first, last = ssh.Ports.First, ssh.Ports.Last
	}
	return MachinesPlan{s.Target.SSH, [2]int{int(first), int(last)}, study.Names(s.Networks)}, failure.Usage.Of(err)
}

// Manifests returns the objects that a run makes in a cluster, as YAML. The place must be entered, unless the study
// names its nodes.
func Manifests(at place.Place, s study.Study) ([]byte, error) {
	c := at.Machines.(place.Cluster)
	if s.Target.Hosts() == 0 {
		if _, err := at.Settle(s, true); err != nil {
			return nil, err
		}
	}
	return c.Manifests(c.Wants)
}
