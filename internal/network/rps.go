package network

import (
	"errors"
	"slices"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// errAdopted refuses RPS where a container engine makes the network namespaces of pods: their devices
// exist before weir could set the mask.
var errAdopted = errors.New("rps: a container engine makes the pods' network namespaces, in which weir cannot set the mask before their devices exist; leave out this network")

// rps returns the steps that make all devices of t's hosts and pods spread received packets over CPUs.
// They precede all others, because only new devices get the mask. A veth hands packets to the backlog
// of a CPU anyway, and RPS only chooses another CPU; tunnels and bridges, which have the mask too, need
// another pass through a backlog.
//
// A guest's device is in the guest's kernel, which this mask does not concern. Its TAP device is in the host's.
func rps(t topo.Topology, p plan.Plan) ([]plan.Step, error) {
	if t.RPS == topo.RPSOff {
		return nil, nil
	}
	mask := plan.Mask(string(t.RPS))
	if t.RPS == topo.RPSAll {
		mask = plan.AllCPUs
	}
	skip := []string{Switch}
	for _, s := range p.Steps {
		switch {
		case s.Adopt != nil:
			return nil, errAdopted
		case s.Guest != nil || s.Inside != nil:
			skip = append(skip, s.In)
		}
	}
	var steps []plan.Step
	for _, place := range Places(t) {
		if !slices.Contains(skip, place) {
			steps = append(steps, sysctl(place, plan.DefaultRPS, mask))
		}
	}
	return steps, nil
}
