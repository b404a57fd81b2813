package catalog

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/network"
)

// checkEvents rejects events that cannot happen in one of their networks.
func (p *Prepared) checkEvents() (errs []error) {
	for _, e := range p.study.Events {
		for _, u := range p.study.Networks {
			n, ok := p.Networks[u.Name]
			if !ok || len(e.Networks) > 0 && !slices.Contains(e.Networks, u.Name) {
				continue // its own error says why
			}
			pl, err := network.Build(n.Driver, n.Topology)
			if err == nil {
				_, err = network.Happening(n.Topology, pl, e)
			}
			if err != nil {
				errs = append(errs, at(u, fmt.Errorf("%s: %w; networks: limits an event to some networks", u.Name, err)))
			}
		}
	}
	return errs
}
