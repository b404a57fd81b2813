package catalog

import (
	"slices"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// Approximate overhead of trials and networks on two otherwise idle CPUs, in addition to a study's
// own times. Measured with the fast forms of cni-comparison, latency-under-load,
// docker-overlay-throughput, star and vxlan-and-kvm.
const (
	aroundTrial  = 20 * time.Millisecond  // counters, conditions and their checks
	aroundGuest  = 120 * time.Millisecond // the same in an emulated guest
	aroundLoad   = 60 * time.Millisecond  // starting both its ends
	loadSettles  = 100 * time.Millisecond // its own minimal warm-up
	aroundClient = 70 * time.Millisecond  // starting and ending each additional client
	aroundDelay  = 8                      // round trips between the engines, besides those of the probe
	aroundStress = 30 * time.Millisecond  // starting the program that uses the CPUs
	aroundTool   = 200 * time.Millisecond // starting it and its server
	longWindow   = 2 * time.Second        // from which trials are sampled inside
	beforeLong   = 300 * time.Millisecond // sampled before their clients start
	toBuild      = time.Second            // a network, or less without daemons
	toBoot       = 10 * time.Second       // its emulated guests, concurrently
)

// Estimate returns the approximate duration of s with its blocks if no network or tool is missing.
// A study with a precision can take longer, and so can any on a busy machine, by a quarter.
func Estimate(s study.Study) time.Duration {
	around, block, guests := time.Duration(0), time.Duration(0), map[string]bool{} // by network
	for _, u := range s.Networks {
		guests[u.Name] = hasGuests(u)
	}
	built := map[string]bool{}
	loads := map[string]bool{} // by path: each capacity is measured once
	for _, c := range s.Cells(Applies) {
		if name := experiment.BuildName(c); !built[name] {
			built[name] = true
			around += toBuild
			if guests[c.Network] {
				around += toBoot
			}
		}
		one := cell(s, c)
		if guests[c.Network] {
			one += aroundGuest
		}
		block += time.Duration(s.Turns()) * one
		if _, load, err := condition.Background(c.Levels); err == nil && load.Share > 0 {
			path := study.Cell{Network: c.Network, Probe: load.Probe, Levels: condition.Network(c.Levels)}
			if id := path.ID(""); !loads[id] {
				loads[id] = true
				around += capacity(s, load.Probe)
			}
		}
	}
	if s.Profile {
		around += profiles(s)
	}
	return around + time.Duration(s.Blocks)*block
}

// profiles returns the time of the profile trials.
func profiles(s study.Study) (all time.Duration) {
	s.Duration = profile.Window
	for _, c := range s.Cells(Applies) {
		all += profile.Blocks * cell(s, c)
	}
	return all
}

func cell(s study.Study, c study.Cell) time.Duration {
	u, _ := s.Probe(c.Probe)
	p, err := FindProbe(u.Kind)
	if err != nil {
		return 0
	}
	_ = u.Decode(p) // Prepare reports an error
	t := runs(s, p)
	if s.Duration >= longWindow {
		t += beforeLong
	}
	t += aroundDelay * 2 * delay(s, c)
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

// delay returns the delay between the hosts of c, each way.
func delay(s study.Study, c study.Cell) time.Duration {
	t, err := condition.Apply("delay", c.Levels["delay"], topo.Topology{})
	if err != nil { // not a factor
		return s.Topology.Distance.Delay
	}
	return t.Distance.Delay
}

func runs(s study.Study, p probe.Probe) time.Duration {
	i, t := p.Info(), s.Warmup+s.Duration
	if len(i.Tools) > 0 { // most tools accept only whole seconds
		t = aroundTool + (t + time.Second - 1).Truncate(time.Second)
	}
	if i.Takes > 0 {
		t = i.Takes
	}
	return aroundTrial + t
}

// capacity returns the time to measure one path's capacity for a load.
func capacity(s study.Study, load string) time.Duration {
	by, err := FindProbe(load)
	if err == nil {
		by, _, err = probe.Capacity(by)
	}
	if err != nil {
		return 0
	}
	return time.Duration(experiment.CapacityTrials(by)) * runs(s, by)
}

func hasGuests(u study.Use) bool {
	e, err := FindNetwork(u.Kind)
	if err != nil {
		return false
	}
	p, _ := e.Plan()
	return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Guest != nil })
}
