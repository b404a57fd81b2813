package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/topo"
)

// checkPairs reports what cannot be measured between every two hosts.
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
