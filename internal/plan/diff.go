package plan

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ErrRebuild means that the existing network cannot be changed into the requested one.
var ErrRebuild = errors.New("the network would have to be rebuilt; give it an entry of its own in the study")

// Diff returns the steps that change the network that from built into the one that to would build.
// They can change a link's MTU, a device's rate and offloads, the delay of a bridge's port, and what
// bridges pass to netfilter. Diff removes a rate that to lacks, and returns a feature that to does not name to its default
// (see Offload). Any other difference is an ErrRebuild, as is the MTU of a moved device: the daemon
// that made it no longer sees it. Diff ignores expectations: they follow from the rest.
func Diff(from, to Plan) ([]Step, error) {
	if err := sameShape(from, to); err != nil {
		return nil, fmt.Errorf("plan: %w: %w", ErrRebuild, err)
	}
	f, t := stateOf(from), stateOf(to)
	var steps []Step
	for _, d := range devices(t.links, f.links) {
		switch was, is := f.mtu[d], t.mtu[d]; {
		case was == is:
		case is == 0:
			return nil, fmt.Errorf("plan: %w: the MTU of %s in %s is %d in one plan and unset in the other", ErrRebuild, d.dev, d.in, was)
		default:
			steps = append(steps, Step{In: d.in, Set: &Set{Dev: d.dev, MTU: is}})
		}
	}
	for _, d := range devices(t.rates, f.rates) {
		if is := t.rate[d]; is != f.rate[d] {
			steps = append(steps, Step{In: d.in, Rate: &Rate{Dev: d.dev, Rate: is.Rate, MTU: is.MTU, Delayed: is.Delayed || f.rate[d].Delayed}})
		}
	}
	for _, s := range to.Steps {
		if s.Delay != nil && f.delay[device{s.In, s.Delay.Dev}] != *s.Delay {
			steps = append(steps, s)
		}
	}
	for _, d := range devices(t.offloads, f.offloads) {
		if change := features(f.offload[d], t.offload[d]); len(change) > 0 {
			steps = append(steps, Step{In: d.in, Offload: &Offload{Dev: d.dev, Features: change}})
		}
	}
	for _, s := range to.Steps {
		if !s.bridgeNF() {
			continue
		}
		at := key{s.In, s.Sysctl.Key}
		if is := t.bridgeNF[at]; f.bridgeNF[at] != is { // a later step can set it again
			f.bridgeNF[at] = is
			steps = append(steps, Step{In: s.In, Sysctl: &is})
		}
	}
	return steps, nil
}

func (s Step) bridgeNF() bool { return s.Sysctl != nil && strings.HasPrefix(s.Sysctl.Key, BridgeNF) }

// sameShape returns an error unless two plans differ only in what Diff can change.
func sameShape(from, to Plan) error {
	a, b := shape(from), shape(to)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Errorf("only one plan has this step: %s", b[i])
		case i >= len(b):
			return fmt.Errorf("only one plan has this step: %s", a[i])
		case a[i].stateful() && b[i].stateful() && !reflect.DeepEqual(a[i], b[i]):
			return fmt.Errorf("a daemon would run or be configured differently: %s, %s", a[i], b[i])
		case !reflect.DeepEqual(a[i], b[i]):
			return fmt.Errorf("more than MTU, rate, offloads, delay and bridge-nf differs: %s, %s", a[i], b[i])
		}
	}
	if !slices.EqualFunc(from.Ends, to.Ends, End.equal) {
		return fmt.Errorf("the ends differ: %v, %v", from.Ends, to.Ends)
	}
	return nil
}

func shape(p Plan) []Step {
	var kept []Step
	for _, s := range p.Steps {
		switch {
		case s.Set != nil && s.Set.Master != "":
			s.Set = &Set{Dev: s.Set.Dev, Master: s.Set.Master}
		case s.Set != nil, s.Rate != nil, s.Offload != nil:
			continue
		case s.Link != nil:
			l := *s.Link
			l.MTU = 0
			s.Link = &l
		case s.bridgeNF():
			s.Sysctl = &Sysctl{Key: s.Sysctl.Key}
		case s.Delay != nil:
			s.Delay = &Delay{Dev: s.Delay.Dev, Bridge: s.Delay.Bridge}
		}
		kept = append(kept, s)
	}
	return kept
}

// A device is a network device in a host or pod.
type device struct{ in, dev string }

// A key is a sysctl of a host or pod.
type key struct{ in, sysctl string }

// A state is the part of a plan's result that Diff can change, in the order of the steps.
type state struct {
	links, rates, offloads []device

	mtu      map[device]int
	rate     map[device]Rate
	delay    map[device]Delay
	offload  map[device]map[string]bool
	bridgeNF map[key]Sysctl
}

func stateOf(p Plan) state {
	st := state{mtu: map[device]int{}, rate: map[device]Rate{}, delay: map[device]Delay{}, offload: map[device]map[string]bool{}, bridgeNF: map[key]Sysctl{}}
	for _, s := range p.Steps {
		switch {
		case s.Link != nil:
			for _, d := range s.Link.devices(s.In) {
				st.links = append(st.links, d)
				st.mtu[d] = s.Link.MTU
			}
		case s.Set != nil:
			d := device{s.In, s.Set.Dev}
			st.links = append(st.links, d)
			st.mtu[d] = s.Set.MTU
		case s.Rate != nil:
			d := device{s.In, s.Rate.Dev}
			st.rates = append(st.rates, d)
			st.rate[d] = *s.Rate
			if s.Rate.Rate == 0 {
				delete(st.rate, d)
			}
		case s.Delay != nil:
			st.delay[device{s.In, s.Delay.Dev}] = *s.Delay
		case s.Offload != nil:
			d := device{s.In, s.Offload.Dev}
			st.offloads = append(st.offloads, d)
			if st.offload[d] == nil {
				st.offload[d] = map[string]bool{}
			}
			maps.Copy(st.offload[d], s.Offload.Features)
		case s.bridgeNF():
			st.bridgeNF[key{s.In, s.Sysctl.Key}] = *s.Sysctl
		}
	}
	return st
}

// devices returns the devices that l makes, in the place in and elsewhere.
func (l Link) devices(in string) []device {
	switch {
	case l.Peer != "":
		return []device{{in, l.Name}, {l.PeerIn, l.Peer}}
	case l.To != "":
		return []device{{l.To, l.Name}}
	}
	return []device{{in, l.Name}}
}

// devices returns each device of lists once, in order.
func devices(lists ...[]device) []device {
	var all []device
	seen := map[device]bool{}
	for _, d := range slices.Concat(lists...) {
		if !seen[d] {
			seen[d] = true
			all = append(all, d)
		}
	}
	return all
}

// Offloads returns one step for each device whose features steps switch, in their order.
func Offloads(steps []Step) []Step {
	st := stateOf(Plan{Steps: steps})
	var all []Step
	for _, d := range devices(st.offloads) {
		all = append(all, Step{In: d.in, Offload: &Offload{Dev: d.dev, Features: st.offload[d]}})
	}
	return all
}

func features(was, is map[string]bool) map[string]bool {
	change := map[string]bool{}
	for f, on := range is {
		if before, known := was[f]; !known || before != on {
			change[f] = on
		}
	}
	for f, on := range was {
		if _, named := is[f]; !named {
			change[f] = !on
		}
	}
	return change
}
