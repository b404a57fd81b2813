package catalog

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
	"github.com/weir-bench/weir/internal/unit"
)

// Prepared is a study whose names have become drivers and probes.
type Prepared struct {
	Networks map[string]experiment.Network // by the study's name for it
	study    study.Study
}

// Prepare looks up and checks everything that a study names: networks, probes,
// their options, and every level of every factor. What it lets through can only
// fail on the machine, whose kernel is k.
func Prepare(s study.Study, k topo.Kernel) (*Prepared, error) {
	p := &Prepared{Networks: map[string]experiment.Network{}, study: s}
	spec, err := spec(s.Topology, k)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, u := range s.Networks {
		n, err := prepareNetwork(u, spec)
		if err != nil {
			errs = append(errs, at(u, err))
			continue
		}
		p.Networks[u.Name] = n
	}
	for _, f := range slices.Sorted(maps.Keys(s.Factors)) {
		if err := p.checkLevels(f, spec); err != nil {
			errs = append(errs, err)
		}
		if !slices.ContainsFunc(s.Probes, func(u study.Use) bool { return Applies(u.Kind, f) }) {
			errs = append(errs, fmt.Errorf("factor %q is neither a condition (%s) nor an option of a probe of this study", f, strings.Join(condition.Names(), ", ")))
		}
	}
	if s.AllPairs {
		errs = append(errs, p.checkPairs()...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, p.checkCells()
}

func spec(t study.Topology, k topo.Kernel) (topo.Spec, error) {
	s := topo.Spec{Hosts: t.Hosts, Pods: t.Pods, MTU: t.MTU, NIC: t.NIC, IPv6: t.IPv6, PodsIPv6: t.PodsIPv6, Kernel: k}
	if t.Link != "" {
		rate, err := unit.ParseRate(t.Link)
		if err != nil {
			return s, fmt.Errorf("link: %w", err)
		}
		s.Rate = rate
	}
	return s, nil
}

func prepareNetwork(u study.Use, s topo.Spec) (n experiment.Network, err error) {
	entry, err := FindNetwork(u.Kind)
	if err != nil {
		return n, err
	}
	n.Driver = entry.New()
	if err := u.Decode(n.Driver); err != nil {
		return n, err
	}
	if n.Topology, err = topo.New(entry.Spec(n.Driver, s)); err != nil {
		return n, err
	}
	_, err = network.Build(n.Driver, n.Topology)
	return n, err
}

// checkLevels checks the levels of a factor that is a condition by themselves; what
// they mean for each network and probe is for checkCells.
func (p *Prepared) checkLevels(factor string, s topo.Spec) error {
	if !slices.Contains(condition.Names(), factor) {
		return nil
	}
	base, err := topo.New(s)
	if err != nil {
		return nil // that is told of the networks
	}
	for _, level := range p.study.Factors[factor] {
		_, err := condition.Apply(factor, level, base)
		if err == nil && factor == "load" {
			err = p.checkLoad(level)
		}
		if err == nil && factor == condition.Ends {
			err = p.checkEnds(level)
		}
		if err != nil && p.study.FactorPos(factor) != "" {
			err = fmt.Errorf("%s: %w", p.study.FactorPos(factor), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEnds finds out whether any network has the ends of a level: the trials of
// the others are skipped.
func (p *Prepared) checkEnds(level string) (err error) {
	for _, u := range p.study.Networks {
		n, ok := p.Networks[u.Name]
		if !ok {
			return nil // why is told of the network
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

// checkLoad finds out whether the probe of a level can be a load.
func (p *Prepared) checkLoad(level string) error {
	l, err := condition.ParseLoad(level)
	if err != nil || l.Probe == "" {
		return err
	}
	pr, err := p.Load(l.Probe)
	if err == nil && l.Share > 0 {
		if _, err = probe.Pace(pr, maxShareRate); err != nil {
			err = fmt.Errorf("%q: %w", level, err)
		}
	}
	if err != nil {
		return fmt.Errorf("condition load: %w", err)
	}
	return nil
}

// maxShareRate is a rate that every probe which can be paced takes.
const maxShareRate = 1e9

// Load makes the probe that a load calls name: that of the study with its options,
// or that of the catalog.
func (p *Prepared) Load(name string) (pr probe.Probe, err error) {
	if _, ok := p.study.Probe(name); ok {
		pr, err = p.Probe(name, nil)
	} else {
		var e Probe
		if e, err = FindProbe(name); err == nil {
			pr = e.New()
		}
	}
	if err == nil && probe.DeliveryUnit(pr) == "" {
		err = fmt.Errorf("%s cannot be a load: only the native probes with a server can, for it counts what is delivered while they run", name)
	}
	return pr, err
}

// checkCells makes every probe and every change of condition once.
func (p *Prepared) checkCells() error {
	for _, c := range p.study.Cells(Applies) {
		pr, err := p.Probe(c.Probe, c.Levels)
		if err != nil {
			return err
		}
		n := p.Networks[c.Network]
		change, err := condition.Change(n.Driver, n.Topology, condition.Of(c.Levels))
		if errors.Is(err, plan.ErrRebuild) {
			continue // which skips these trials, and no others
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Network, err)
		}
		if err := checkClients(c, pr, change); err != nil {
			if pos := p.study.FactorPos("clients"); pos != "" {
				err = fmt.Errorf("%s: %w", pos, err)
			}
			return err
		}
	}
	return nil
}

// checkClients finds out whether the probe of a cell can have as many clients at once
// as the cell asks for, and its network the hosts for them.
func checkClients(c study.Cell, pr probe.Probe, change condition.Changed) error {
	n, err := condition.Clients(c.Levels)
	if err != nil || n == 0 {
		return err
	}
	_, load, err := condition.Background(c.Levels)
	switch {
	case err != nil:
		return err
	case probe.DeliveryUnit(pr) == "":
		return fmt.Errorf("condition clients: %s cannot have several clients: only the native probes with a server can, for it counts what each is delivered", c.Probe)
	case load.Probe != "" && n > 1:
		return fmt.Errorf("condition clients: %d clients beside a load of %s: the other clients are the load of the measured one; leave one of the two factors out", n, load.Probe)
	}
	client, server, err := change.Plan.Between(c.Levels[condition.Ends])
	if errors.Is(err, plan.ErrNoEnds) {
		return nil // which skips these trials, and no others
	}
	if err == nil {
		_, err = change.Plan.Clients(n, client, server)
	}
	if hosts := len(change.Topology.Hosts); errors.Is(err, plan.ErrNoEnds) && hosts < n+1 {
		return fmt.Errorf("condition clients: %d clients need %d hosts, one for each and one for the server, and %s has %d: set hosts: %d, or leave out a network that cannot have them", n, n+1, c.Network, hosts, n+1)
	}
	if err != nil {
		return fmt.Errorf("condition clients: %s: %w", c.Network, err)
	}
	return nil
}

// Applies reports whether a factor means anything to a kind of probe: a
// condition always does, an option where the probe has it.
func Applies(kind, factor string) bool {
	if slices.Contains(condition.Names(), factor) {
		return true
	}
	e, err := FindProbe(kind)
	return err == nil && slices.Contains(Options(e.New()), factor)
}

// Probe makes the probe that the study calls name, at these levels.
func (p *Prepared) Probe(name string, levels map[string]string) (probe.Probe, error) {
	u, ok := p.study.Probe(name)
	if !ok {
		return nil, fmt.Errorf("the study has no probe %q", name)
	}
	e, err := FindProbe(u.Kind)
	if err != nil {
		return nil, at(u, err)
	}
	u.Options = maps.Clone(u.Options)
	for k, v := range levels {
		if !slices.Contains(condition.Names(), k) {
			if u.Options == nil {
				u.Options = map[string]string{}
			}
			u.Options[k] = v
		}
	}
	pr := e.New()
	if err := u.Decode(pr); err != nil {
		return nil, err
	}
	if c, ok := pr.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return nil, at(u, err)
		}
	}
	return pr, nil
}

// at adds where in the study u stands, unless err says where it is wrong.
func at(u study.Use, err error) error {
	var placed *study.Error
	if pos := u.Pos(); pos != "" && !errors.As(err, &placed) {
		return fmt.Errorf("%s: %w", pos, err)
	}
	return err
}

// Options lists the options of a driver or probe, by the keys of its YAML.
func Options(v any) []string {
	var names []string
	t := reflect.TypeOf(v).Elem()
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if tag == "" {
				tag = strings.ToLower(f.Name)
			}
			names = append(names, tag)
		}
	}
	slices.Sort(names)
	return names
}
