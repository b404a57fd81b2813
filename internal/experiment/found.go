package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/store"
)

// machines stores the names and zones of the hosts that the target found, and fails if a resumed run
// has others: results would mix machines, and random rounds depend on the zones, which are those of the
// first start.
func (r *run) machines() error {
	for _, p := range r.built {
		if p.site == nil || !p.Topology.Exists {
			continue
		}
		var found []analysis.Machine
		for _, h := range p.Topology.Hosts {
			found = append(found, analysis.Machine{Name: h.Name, Zone: h.Zone})
		}
		if err := r.agree(&found); err != nil {
			return err
		}
		r.Study.Zones = nil
		for _, m := range found {
			r.Study.Zones = append(r.Study.Zones, m.Zone)
		}
		return nil
	}
	return nil
}

// agree stores the machines, or replaces them by the stored ones.
func (r *run) agree(found *[]analysis.Machine) error {
	text, err := r.stored(store.MachinesFile)
	if err != nil {
		return err
	}
	if text == nil {
		return r.Dir.JSON(store.MachinesFile, *found)
	}
	var stored []analysis.Machine
	if err := bounds.JSON(text, &stored); err != nil {
		return fmt.Errorf("%s: %w", store.MachinesFile, err)
	}
	same := func(a, b analysis.Machine) bool { return a.Name == b.Name }
	if !slices.EqualFunc(*found, stored, same) {
		return fmt.Errorf("the run began on %s and now finds %s: results of different machines cannot be compared; resume it with the same machines in the same order, or start another run", names(stored), names(*found))
	}
	*found = stored
	return nil
}

func names(ms []analysis.Machine) string {
	var all []string
	for _, m := range ms {
		all = append(all, m.Name)
	}
	return strings.Join(all, ", ")
}
