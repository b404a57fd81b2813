package lab

import (
	"context"
	"errors"
	"slices"

	"github.com/weir-bench/weir/internal/distance"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
)

// What delays the packets of bridges' ports, as results name it (delay.by).
const (
	byNetem = "netem"
	byQueue = "nfqueue" // the program of package distance
)

// distance delays a bridge's port: by netem, or by a program in a kernel without it. One lab uses
// only one of the two.
func (l *lab) distance(ctx context.Context, p *place, s *plan.Step) error {
	if l.delayBy != byQueue {
		err := explain(s, run(one(p.delay(s.Delay))))
		if err == nil || !errors.Is(err, ErrUnsupported) || l.delayBy == byNetem {
			if err == nil {
				l.delayBy, l.found["delay.by"] = byNetem, byNetem
			}
			return err
		}
		if failed := l.startDistance(ctx, p); failed != nil {
			return errors.Join(err, failed)
		}
	}
	d := s.Delay
	return p.ns.Do(func() error {
		return distance.Set(ctx, distance.Setting{Bridge: d.Bridge, Port: d.Dev, Delay: d.Delay, Jitter: d.Jitter, Loss: d.Loss})
	})
}

// startDistance starts the program in p, the place of all switches.
func (l *lab) startDistance(ctx context.Context, p *place) error {
	err := l.service(ctx, p, &plan.Service{Name: "distance", Argv: []string{"weir", "distance"}, Ready: plan.Ready{Line: distance.Ready}})
	if err == nil {
		l.delayBy, l.found["delay.by"] = byQueue, byQueue
	}
	return err
}

// delays is target.Site.Delays.
func (l *lab) delays(ctx context.Context) (sample.Counters, error) {
	if l.delayBy != byQueue {
		return nil, nil
	}
	i := slices.IndexFunc(l.services, func(d *service) bool { return d.Name == "distance" })
	p, err := l.at(l.services[i].in)
	if err != nil {
		return nil, err
	}
	var c distance.Count
	err = p.ns.Do(func() error {
		c, err = distance.Read(ctx)
		return err
	})
	return sample.Counters{"packets": float64(c.Packets), "lost": float64(c.Lost), "dropped": float64(c.Dropped),
		"late99": c.Late99, "late.max": c.LateMax, "busy": c.Busy}, err
}
