package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// Prepared is a study with its drivers and probes.
type Prepared struct {
	Networks map[string]experiment.Network // by name in the study
	study    study.Study
}

// Prepare looks up and checks all networks, probes, options and factor levels of a study for kernel
// k and the study's target. If it succeeds, the study can fail only on the machines.
func Prepare(s study.Study, k topo.Kernel) (*Prepared, error) {
	p := &Prepared{Networks: map[string]experiment.Network{}, study: s}
	spec, err := spec(s, k)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, u := range s.Networks {
		n, err := prepareNetwork(u, spec, whereOf(s.Target))
		if err != nil {
			errs = append(errs, at(u, err))
			continue
		}
		p.Networks[u.Name] = n
	}
	for _, f := range slices.Sorted(maps.Keys(s.Factors)) {
		if s.Target.Exists() && condition.Builds(f) {
			errs = append(errs, placed(s.FactorPos(f), fmt.Errorf("factor %s would change machines that are not weir's; "+
				"change them yourself and compare two runs (weir compare), or vary it in the lab (without --ssh or --kube)", f)))
			continue
		}
		if err := p.checkLevels(f, spec); err != nil {
			errs = append(errs, err)
		}
		if !slices.ContainsFunc(s.Probes, func(u study.Use) bool { return Applies(u.Kind, f) }) {
			errs = append(errs, unknownFactor(f, s.Probes))
		}
	}
	errs = append(append(errs, checkCompare(s)...), p.checkEvents()...)
	if s.AllPairs {
		errs = append(errs, p.checkPairs()...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, p.checkCells()
}

func spec(of study.Study, k topo.Kernel) (topo.Spec, error) {
	t := of.Topology
	s := topo.Spec{Hosts: t.Hosts, Pods: t.Pods, MTU: t.MTU, NIC: t.NIC, Distance: t.Distance, IPv6: t.IPv6, PodsIPv6: t.PodsIPv6, Kernel: k}
	for f := range of.Factors {
		s.Far = s.Far || condition.Far(f)
	}
	var err error
	if t.Link != "" {
		if s.Rate, err = condition.ParseLink(t.Link); err != nil {
			err = fmt.Errorf("link: %w; leave it out for no limit", err)
		}
	}
	return s, err
}

func prepareNetwork(u study.Use, s topo.Spec, at network.Where) (n experiment.Network, err error) {
	entry, err := FindNetwork(u.Kind)
	if err == nil {
		err = entry.Elsewhere(u.Name, at)
	}
	if err != nil {
		return n, err
	}
	if n.Driver, err = entry.Driver(u); err != nil {
		return n, err
	}
	if n.Topology, err = topology(u, entry.Spec(n.Driver, s), at); err != nil {
		return n, fmt.Errorf("%s: %w", u.Name, err)
	}
	n.Topology.Programs, err = programs(u, n, at)
	return n, err
}

// checkLevels checks a condition's levels by themselves; checkCells checks them for each network
// and probe.
func (p *Prepared) checkLevels(factor string, s topo.Spec) error {
	if !slices.Contains(condition.Names(), factor) {
		return nil
	}
	base, err := topo.New(s)
	if err != nil {
		return nil // prepareNetwork reports it
	}
	for _, level := range p.study.Factors[factor] {
		_, err := condition.Apply(factor, level, base)
		if err == nil && factor == "load" {
			err = p.checkLoad(level)
		}
		if err == nil && factor == condition.Ends {
			err = p.checkEnds(level)
		}
		if err != nil {
			return placed(p.study.FactorPos(factor), err)
		}
	}
	return nil
}

// checkEnds rejects a level whose ends exist in no network. If only some networks lack them, their
// trials are skipped.
func (p *Prepared) checkEnds(level string) (err error) {
	for _, u := range p.study.Networks {
		n, ok := p.Networks[u.Name]
		if !ok {
			return nil // its own error says why
		}
		pl, bad := network.Build(n.Driver, n.Topology)
		if bad == nil {
			_, _, bad = pl.Between(level)
		}
		if bad == nil {
			return nil
		}
		err = fmt.Errorf("condition ends: %q: %s: %w", level, u.Name, bad)
	}
	return err
}

// checkPairs reports what prevents measuring between every two hosts.
func (p *Prepared) checkPairs() (errs []error) {
	for _, u := range p.study.Networks {
		n, ok := p.Networks[u.Name]
		if !ok {
			continue // its own error says why
		}
		switch want, hosts := p.study.Topology.Hosts, len(n.Topology.Hosts); {
		case hosts != want:
			errs = append(errs, at(u, fmt.Errorf("pairs: all: the study has %d hosts and %s takes %d, but all networks must have the same pairs; measure this network in a separate study", want, u.Name, hosts)))
		case n.Topology.Shape == topo.Line && hosts > 2 && !p.study.OneAtATime:
			errs = append(errs, at(u, fmt.Errorf("pairs: all: in %s packets pass through the hosts between two others, so pairs interfere; add one-at-a-time", u.Name)))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(p.study.Factors)) {
		level := map[string]string{f: ""}
		if len(condition.Of(level)) > len(condition.Network(level)) {
			errs = append(errs, fmt.Errorf("pairs: all: factor %s adds a background to one pair of ends; leave it out, or measure one pair", f))
		}
	}
	return errs
}

// checkLoad rejects a level whose probe cannot be a background load.
func (p *Prepared) checkLoad(level string) error {
	l, err := condition.ParseLoad(level)
	if err != nil || l.Probe == "" {
		return err
	}
	pr, err := p.Load(l.Probe)
	if err == nil && l.Share > 0 {
		if _, err = probe.Pace(pr, maxShareRate); err != nil {
			err = fmt.Errorf("%q: %w; use one of %s", level, err, strings.Join(pacers(), ", "))
		}
	}
	if err != nil {
		return fmt.Errorf("condition load: %w", err)
	}
	return nil
}

// maxShareRate is a rate that every Pacer accepts.
const maxShareRate = 1e9

// pacers names the probes that can be a load at a share of a path's capacity.
func pacers() []string {
	return slices.DeleteFunc(Names(Probes), func(n string) bool { _, err := probe.Pace(Probes[n](), maxShareRate); return err != nil })
}

// Load returns the probe of a background load: the study's, with its options, or else the
// catalog's.
func (p *Prepared) Load(name string) (pr probe.Probe, err error) {
	if _, ok := p.study.Probe(name); ok {
		pr, err = p.Probe(name, nil)
	} else {
		pr, err = FindProbe(name)
	}
	if err == nil && pr.Info().DeliveryUnit == "" {
		err = fmt.Errorf("%s cannot be a background load; use a native probe with a server, which counts what it delivers as it runs", name)
	}
	return pr, err
}

// checkCells tries every probe and every change of conditions.
func (p *Prepared) checkCells() error {
	changes := map[string]condition.Changed{} // by network and conditions, which many cells share
	for _, c := range p.study.Cells(Applies) {
		pr, err := p.Probe(c.Probe, c.Levels)
		if err != nil {
			return err
		}
		n := p.Networks[c.Network]
		key := fmt.Sprintf("%q %q", c.Network, condition.Of(c.Levels)) // %q sorts a map
		change, known := changes[key]
		if !known {
			change, err = condition.Change(n.Driver, n.Topology, condition.Of(c.Levels))
		}
		if errors.Is(err, plan.ErrRebuild) {
			continue // the run skips these trials only
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Network, err)
		}
		changes[key] = change
		if err := checkClients(c, pr, change); err != nil {
			return placed(p.study.FactorPos("clients"), err)
		}
	}
	return nil
}

// checkCompare rejects a comparison of the levels of an option that none of its probes has.
func checkCompare(s study.Study) (errs []error) {
	for _, c := range s.Compare {
		probes := c.In["probe"]
		for _, f := range slices.Sorted(maps.Keys(s.Factors)) {
			if c.To[f]+c.Per[f] == "" || len(probes) == 0 {
				continue
			}
			if !slices.ContainsFunc(probes, func(name string) bool { u, _ := s.Probe(name); return Applies(u.Kind, f) }) {
				errs = append(errs, placed(c.Pos(), fmt.Errorf("compare: factor %s does not apply to %s: no two cells differ in it", f, strings.Join(probes, ", "))))
			}
		}
	}
	return errs
}

// checkClients rejects a cell whose probe cannot serve its number of clients, or whose network has
// too few hosts for them.
func checkClients(c study.Cell, pr probe.Probe, change condition.Changed) error {
	n, err := condition.Clients(c.Levels)
	if err != nil || n == 0 {
		return err
	}
	_, load, err := condition.Background(c.Levels)
	switch {
	case err != nil:
		return err
	case pr.Info().DeliveryUnit == "":
		return fmt.Errorf("condition clients: %s cannot have several clients; use a native probe with a server, which counts what it delivers to each", c.Probe)
	case load.Probe != "" && n > 1:
		return fmt.Errorf("condition clients: %d clients and a background load of %s: the other clients are the load already; leave out one of the two factors", n, load.Probe)
	}
	client, server, err := change.Plan.Between(c.Levels[condition.Ends])
	if errors.Is(err, plan.ErrNoEnds) {
		return nil // the run skips these trials only
	}
	if err == nil {
		_, err = change.Plan.Clients(n, client, server)
	}
	if hosts := len(change.Topology.Hosts); errors.Is(err, plan.ErrNoEnds) && hosts < n+1 {
		return fmt.Errorf("condition clients: %d clients need %d hosts, one each and one for the server, but %s has %d; set hosts: %d, or leave out the network if it cannot have them", n, n+1, c.Network, hosts, n+1)
	}
	if err != nil {
		return fmt.Errorf("condition clients: %s: %w", c.Network, err)
	}
	return nil
}

// Probe returns the study's probe called name at these levels.
func (p *Prepared) Probe(name string, levels map[string]string) (probe.Probe, error) {
	u, ok := p.study.Probe(name)
	if !ok {
		return nil, fmt.Errorf("the study has no probe %q", name)
	}
	pr, err := FindProbe(u.Kind)
	if err != nil {
		return nil, at(u, err)
	}
	options := map[string]string{}
	maps.Copy(options, u.Options)
	for k, v := range levels {
		if !slices.Contains(condition.Names(), k) {
			options[k] = v
		}
	}
	u.Options = options
	if err := u.Decode(pr); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if strictyaml.Unset(pr, key) { // the probe would use its default under this name
			return nil, at(u, fmt.Errorf("%s: %s: %s is not a value that it can use; leave it out for the default", name, key, options[key]))
		}
	}
	if c, ok := pr.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return nil, at(u, err)
		}
	}
	if c, ok := pr.(interface{ Every() time.Duration }); ok {
		if every := c.Every(); every > p.study.Duration {
			return nil, at(u, fmt.Errorf("%s: interval %v is longer than the measurement of %v, in which nothing would be sent; shorten it, or measure longer (duration)", name, every, p.study.Duration))
		}
	}
	return pr, nil
}

// at adds the position of u in the study, unless err has one.
func at(u study.Use, err error) error {
	if has := (*strictyaml.Error)(nil); errors.As(err, &has) {
		return err
	}
	return placed(u.Pos(), err)
}

// placed adds a position to err; "" adds nothing.
func placed(pos string, err error) error {
	if pos == "" {
		return err
	}
	return fmt.Errorf("%s: %w", pos, err)
}
