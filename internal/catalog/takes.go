package catalog

import (
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
)

// What a trial and a network take beside what a study asks for, about, on two CPUs
// that have nothing else to do. The fast forms of cni-comparison, latency-under-load,
// docker-overlay-throughput, star and vxlan-and-kvm were timed for it.
const (
	aroundTrial  = 20 * time.Millisecond  // counters, conditions and what checks them
	aroundGuest  = 120 * time.Millisecond // the same through an emulated guest
	aroundLoad   = 60 * time.Millisecond  // the start of both its ends
	loadSettles  = 100 * time.Millisecond // its own warm-up at least
	aroundClient = 70 * time.Millisecond  // the start and the end of each beside the measured one
	aroundStress = 30 * time.Millisecond  // the start of what uses the CPUs
	aroundTool   = 200 * time.Millisecond // its start and its server's
	mpiTrial     = 2 * time.Second        // it repeats messages and knows no time
	toBuild      = time.Second            // a network; those without daemons take less
	toBoot       = 10 * time.Second       // its guests, side by side, where they are emulated
	searches     = 9 * time.Second        // that find how many datagrams a path carries
	flatOut      = 5                      // trials that find how much TCP it carries
)

// Takes returns about how long s takes with the blocks that it has, unless networks
// or tools are missing; more with a precision.
func Takes(s study.Study) time.Duration {
	around, block := time.Duration(0), time.Duration(0)
	for _, u := range s.Networks {
		around += toBuild
		if hasGuests(s, u.Name) {
			around += toBoot
		}
	}
	loads := map[string]bool{} // by path, of which the capacity is measured once
	for _, c := range s.Cells(Applies) {
		block += trialTakes(s, c)
		if _, load, err := condition.Background(c.Levels); err == nil && load.Share > 0 {
			path := study.Cell{Network: c.Network, Probe: load.Probe, Levels: condition.Network(c.Levels)}
			if id := path.ID(""); !loads[id] {
				loads[id] = true
				around += capacityTakes(s, load.Probe)
			}
		}
	}
	return around + time.Duration(s.Blocks)*block
}

func trialTakes(s study.Study, c study.Cell) time.Duration {
	t := aroundTrial + s.Warmup + s.Duration
	u, _ := s.Probe(c.Probe)
	if e, err := FindProbe(u.Kind); err == nil {
		switch p := e.New(); {
		case isMPI(p):
			t = mpiTrial
		case len(probe.Programs(p)) > 0: // most tools count in whole seconds
			t = aroundTrial + aroundTool + max(probe.HabitsOf(p).Lasts, (s.Warmup+s.Duration+time.Second-1).Truncate(time.Second))
		}
	}
	if hasGuests(s, c.Network) {
		t += aroundGuest
	}
	stress, load, err := condition.Background(c.Levels)
	if err == nil && load.Probe != "" {
		t += aroundLoad + max(s.Warmup, loadSettles)
	}
	if err == nil && stress.Share > 0 {
		t += aroundStress
	}
	if n, err := condition.Clients(c.Levels); err == nil && n > 1 {
		t += time.Duration(n-1) * aroundClient
	}
	return t
}

// capacityTakes is for what a share of a load refers to, of one path.
func capacityTakes(s study.Study, load string) time.Duration {
	e, err := FindProbe(load)
	if err != nil {
		return 0
	}
	if by, _, err := probe.Capacity(e.New()); err != nil {
		return 0
	} else if _, search := by.(*probe.UDPCapacity); search {
		return searches
	}
	return flatOut * (aroundTrial + s.Warmup + s.Duration)
}

func isMPI(p probe.Probe) bool { _, ok := p.(*probe.MPI); return ok }

// hasGuests reports whether the pods of a network of s are virtual machines.
func hasGuests(s study.Study, name string) bool {
	u, _ := s.Network(name)
	e, err := FindNetwork(u.Kind)
	if err != nil {
		return false
	}
	switch e.New().(type) {
	case *network.VMVLAN, *network.VMVXLAN:
		return true
	}
	return false
}
