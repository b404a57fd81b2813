package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/profile"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/trial"
	"github.com/weir-bench/weir/record"
)

// start starts the background of t, traffic last so that it reaches its steady state under stress.
// pr is t's probe. On error nothing is left running.
func (r *run) start(ctx context.Context, t study.Trial, pr probe.Probe, c changed) (background []*trial.Background, err error) {
	stress, load, err := condition.Background(t.Levels)
	if err != nil {
		return nil, err
	}
	clients, err := condition.Clients(t.Levels)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			stop(background)
			background = nil
		}
	}()
	if stress.Share > 0 {
		s, err := trial.StartStress(ctx, c.site, c.client, c.server, stress, r.Study.Duration)
		if err != nil {
			return background, err
		}
		background = append(background, s...)
	}
	if load.Probe != "" {
		paced, err := r.pace(t, load)
		if err != nil {
			return background, err
		}
		paced.MTU = c.Plan.Path.MTU
		l, err := trial.StartLoad(ctx, c.site, c.client, c.server, paced)
		if err != nil {
			return background, err
		}
		background = append(background, l)
	}
	if clients > 1 {
		others, err := r.startClients(ctx, clients, pr, c)
		if err != nil {
			return background, err
		}
		background = append(background, others...)
	}
	return background, nil
}

// startClients starts n-1 clients; the measured one is the nth. Each must first carry a packet.
func (r *run) startClients(ctx context.Context, n int, pr probe.Probe, c changed) ([]*trial.Background, error) {
	clients, err := c.Plan.Clients(n, c.client, c.server)
	if err != nil {
		return nil, err
	}
	for _, e := range clients[1:] {
		l := c.path.link(e, c.server)
		if l.carried {
			continue
		}
		if err := errors.Join(l.reach(ctx, c.path, c.Plan), c.path.release(l)); err != nil {
			return nil, fmt.Errorf("client %s: %w", e.Node, err)
		}
	}
	return trial.StartClients(ctx, c.site, clients[1:], c.server, pr, r.Study.Warmup)
}

func (r *run) pace(t study.Trial, load condition.Load) (l trial.Load, err error) {
	l = trial.Load{Name: t.Levels["load"], Warmup: r.Study.Warmup}
	if l.Probe, err = r.Load(load.Probe); err != nil || load.Share == 0 {
		return l, err
	}
	if l.Capacity, err = r.capacity[capacityKey(t.Network, load.Probe, t.Levels)].of(); err != nil {
		return l, err
	}
	l.Rate = l.Capacity * load.Share
	l.Probe, err = probe.Pace(l.Probe, l.Rate)
	return l, err
}

// shareOf names the capacity that t's load is a share of, or "".
func (r *run) shareOf(t study.Trial) string {
	_, load, err := condition.Background(t.Levels)
	if err != nil || load.Share == 0 {
		return ""
	}
	return r.capacity[capacityKey(t.Network, load.Probe, t.Levels)].Kind
}

func stop(background []*trial.Background) {
	for _, c := range slices.Backward(background) {
		_ = c.Stop()
	}
}

// capacityFile keeps capacities so that a resumed run uses the same rates.
const capacityFile = "capacity.json"

// CapacityTrials returns the number of trials whose median is a capacity; a few of them can fail.
// They are flat-out windows or searches, and a search takes as long as many windows.
func CapacityTrials(by probe.Probe) int {
	if by.Info().Takes > 0 {
		return 3
	}
	return 5
}

// A capacity is how much of one load a path carries without other background.
type capacity struct {
	Kind    string            `json:"kind"` // see probe.Capacity
	Network string            `json:"network"`
	Load    string            `json:"load"`             // name of a probe
	Levels  map[string]string `json:"levels,omitempty"` // conditions of the path
	Unit    string            `json:"unit"`
	Value   float64           `json:"value"`   // median of Windows
	Windows []float64         `json:"windows"` // in order of time
	Error   string            `json:"-"`       // why it is unknown
}

func (c capacity) of() (float64, error) {
	switch {
	case c.Error != "":
		return 0, fmt.Errorf("the capacity of the path is unknown: %s", c.Error)
	case c.Value <= 0:
		return 0, errors.New("the capacity of the path is unknown: most of its windows carried nothing")
	}
	return c.Value, nil
}

func capacityKey(network, load string, levels map[string]string) string {
	parts := []string{network, load}
	path := condition.Network(levels)
	for _, name := range slices.Sorted(maps.Keys(path)) {
		parts = append(parts, name+"="+path[name])
	}
	return strings.Join(parts, " ")
}

// measureCapacities measures the capacities that capacity.json lacks.
func (r *run) measureCapacities(ctx context.Context) error {
	var known []capacity
	if b, err := r.Dir.ReadFile(capacityFile); err == nil {
		if err := bounds.JSON(b, &known); err != nil {
			return fmt.Errorf("read the capacities of paths from %s: %w", capacityFile, err)
		}
	}
	r.capacity = map[string]capacity{}
	for _, c := range known {
		r.capacity[capacityKey(c.Network, c.Load, c.Levels)] = c
	}
	for _, cell := range r.cells {
		_, load, err := condition.Background(cell.Levels)
		if err != nil {
			return err
		}
		key := capacityKey(cell.Network, load.Probe, cell.Levels)
		if _, ok := r.capacity[key]; ok || load.Share == 0 || r.paths[BuildName(cell)].err != nil {
			continue
		}
		c, err := r.measureCapacity(ctx, cell, load.Probe)
		if err != nil {
			return err
		}
		r.capacity[key] = c
		if c.Error != "" {
			continue // its trials fail; a resumed run retries
		}
		known = append(known, c)
		if err := r.Dir.JSON(capacityFile, known); err != nil {
			return err
		}
	}
	return nil
}

// measureCapacity measures how much of the load the path carries. The error ends the run.
func (r *run) measureCapacity(ctx context.Context, cell study.Cell, load string) (capacity, error) {
	levels := condition.Network(cell.Levels)
	c := capacity{Network: cell.Network, Load: load, Levels: levels}
	r.tell(Event{Text: fmt.Sprintf("capacity of %s for %s", cell.Network, load)})
	p, err := r.Load(load)
	if err != nil {
		return c, err
	}
	c.Unit = p.Info().DeliveryUnit
	if p, c.Kind, err = probe.Capacity(p); err != nil {
		return c, err
	}
	alone := study.Cell{Network: cell.Network, Probe: load, Levels: levels}
	trials, why := CapacityTrials(p), "no value in "+c.Unit
	for n := range trials {
		id := alone.ID(fmt.Sprintf("capacity%d", n+1))
		res, err := r.under(ctx, alone, false, func(u changed) (record.Result, error) {
			return trial.Run(ctx, r.setup(u, id, p))
		})
		switch {
		case err != nil:
			return c, err
		case res.Status != record.OK:
			why = res.Reason
			continue
		}
		for _, v := range res.Values {
			if v.Unit == c.Unit { // the first one is the probe's subject
				c.Windows = append(c.Windows, v.Value)
				break
			}
		}
	}
	if 2*len(c.Windows) < trials {
		c.Error = why
		return c, nil
	}
	c.Value = stat.LowerMiddle(c.Windows)
	return c, nil
}

func (r *run) setup(c changed, id string, p probe.Probe) trial.Setup {
	s := trial.Setup{
		Name: id, Condition: fmt.Sprintf("%q %q %v %v", BuildName(c.trial.Cell), condition.Of(c.trial.Levels), c.client, c.server), Snapshot: r.snapshot,
		Probe: p, Client: c.client, Server: c.server,
		Site: c.site, Engines: c.engines, Plan: c.Plan, LinkRate: c.Topology.Rate,
		Distance: c.Topology.Between(c.client.Host, c.server.Host), RTT: c.rtt,
		Warmup: r.Study.Warmup, Duration: r.Study.Duration, Idle: r.idle,
		Raw: func(name string, b []byte) error { return r.Dir.Raw(id, name, b) },
	}
	s.Event = c.event
	if r.profiling {
		s.Profile, s.Duration = r.Profile, profile.Window
	}
	return s
}
