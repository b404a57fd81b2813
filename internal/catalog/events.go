package catalog

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/network"
)

// checkEvents rejects events that cannot happen in one of their networks.
func (p *Prepared) checkEvents() (errs []error) {
	for _, e := range p.study.Events {
		wrong, can := map[string]error{}, ""
		for _, u := range p.study.Networks {
			n, ok := p.Networks[u.Name]
			if !ok || len(e.Networks) > 0 && !slices.Contains(e.Networks, u.Name) {
				continue // its own error says why
			}
			pl, err := network.Build(n.Driver, n.Topology)
			if err == nil {
				_, err = network.Happening(n.Topology, pl, e)
			}
			if wrong[u.Name] = err; err == nil {
				can = u.Name
			}
		}
		for _, u := range p.study.Networks {
			switch err := wrong[u.Name]; {
			case err != nil && can != "":
				errs = append(errs, at(u, fmt.Errorf("%s: %w; it can happen in %s: networks limits an event to some", u.Name, err, can)))
			case err != nil:
				errs = append(errs, at(u, fmt.Errorf("%s: %w", u.Name, err)))
			}
		}
	}
	return errs
}
