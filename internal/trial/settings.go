package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
)

// keepSettings stores the settings of each trial's path, unless an earlier trial of its condition has. It
// reads them after the window: before it, reading would change what the first trial of a condition finds in
// caches. The error ends the run.
func keepSettings(ctx context.Context, ss []Setup, xs []*execution) error {
	if ctx.Err() != nil {
		return nil
	}
	found, whole := make([]*evidence.Settings, len(ss)), make([]bool, len(ss))
	each(ss[0].Site, len(ss), func(i int) {
		if xs[i].settings = ss[i].Snapshot.settled(ss[i].Condition); xs[i].settings == "" {
			found[i], whole[i] = ss[i].readSettings(ctx)
		}
	})
	for i := range ss {
		if found[i] == nil {
			continue
		}
		b, err := json.Marshal(found[i])
		if err == nil {
			err = ss[i].Raw("settings.json", b)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrStore, err)
		}
		if xs[i].settings = ss[i].Name; whole[i] {
			ss[i].Snapshot.settle(ss[i].Condition, ss[i].Name)
		}
	}
	return nil
}

// readSettings reads the settings of the places on the path; whole is false if one did not answer.
func (s *Setup) readSettings(ctx context.Context) (_ *evidence.Settings, whole bool) {
	names := slices.DeleteFunc(s.observed(), func(name string) bool { return len(s.devices(name)) == 0 })
	places, errs := make([]evidence.Node, len(names)), make([]error, len(names))
	each(s.Site, len(names), func(i int) {
		places[i], errs[i] = s.Site.Nodes[names[i]].Settings(ctx, s.devices(names[i]), s.far(names[i]))
	})
	found := &evidence.Settings{Format: evidence.Format, Places: map[string]evidence.Node{}}
	whole = true
	for i, name := range names {
		if errs[i] != nil {
			places[i].Unknown = append(places[i].Unknown, errs[i].Error())
			whole = false
		}
		places[i].Unlike = s.unlike(name, places[i])
		s.planned(name, places[i])
		found.Places[name] = places[i]
	}
	return found, whole
}

// planned adds the features that the plan of the network sets to the devices of a place. Steps that a study adds (also)
// are not part of that plan.
func (s *Setup) planned(name string, p evidence.Node) {
	for _, e := range s.Plan.Expect {
		d, ok := p.Devices[e.Dev]
		if !ok || e.In != name || len(e.Offload) == 0 {
			continue
		}
		d.Planned = maps.Clone(e.Offload)
		for _, added := range s.Plan.Added {
			if o := added.Offload; o != nil && added.In == name && o.Dev == e.Dev {
				maps.DeleteFunc(d.Planned, func(f string, _ bool) bool { _, also := o.Features[f]; return also })
			}
		}
		p.Devices[e.Dev] = d
	}
}

// devices lists the devices of a place that are on the path, those of bridges included.
func (s *Setup) devices(place string) (devs []string) {
	for _, h := range s.hops {
		if h.In == place {
			devs = append(devs, h.Dev)
		}
	}
	for _, e := range s.Plan.Expect {
		if e.In == place && e.MustCarry && e.Concerns(s.Client, s.Server) && !slices.Contains(devs, e.Dev) {
			devs = append(devs, e.Dev)
		}
	}
	return devs
}

// far lists the addresses that a place sends the trial's packets to: of the other end, and of its host.
func (s *Setup) far(place string) (far []netip.Addr) {
	add := func(addr netip.Addr) {
		if addr.IsValid() && !slices.Contains(far, addr) {
			far = append(far, addr)
		}
	}
	for _, e := range [][2]plan.End{{s.Client, s.Server}, {s.Server, s.Client}} {
		near, other := e[0], e[1]
		if place == near.Node {
			add(other.Addr)
			if near.Node == s.Client.Node {
				add(other.Call)
			}
		}
		if place != near.Host || near.Host == other.Host {
			continue
		}
		for _, end := range s.Plan.Labeled(plan.Host) {
			if end.Node == other.Host {
				add(end.Addr)
			}
		}
	}
	return far
}

// settled returns the trial that stored the settings of a condition; "" if none has.
func (s *Snapshot) settled(condition string) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings[condition]
}

func (s *Snapshot) settle(condition, trial string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings == nil {
		s.settings = map[string]string{}
	}
	s.settings[condition] = trial
}
