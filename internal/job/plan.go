package job

import (
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
