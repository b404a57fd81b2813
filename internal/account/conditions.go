package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
)

// Conditions returns what the numbers of a run depend on, as JSON by name.
func (c Contents) Conditions() map[string][]byte {
	all := map[string][]byte{"study": settings(c.Spec), "found": foundVersions(c.Results), facts.Paths: c.paths()}
	maps.Copy(all, c.Hosts)
	return all
}

// paths returns, as JSON, the settings that held on the path of each network, in the first of its cells.
func (c Contents) paths() []byte {
	cells, all := map[string]string{}, map[string]any{}
	for _, r := range c.Results {
		s, network, cell := c.Settings[r.Trial], r.Config[analysis.Network], fmt.Sprint(r.Config)
		if s == nil || cells[network] != "" && cells[network] < cell {
			continue
		}
		cells[network] = cell
		for name, p := range s.Places {
			for dev, d := range p.Devices {
				for _, masks := range []*[]string{&d.RPS, &d.XPS} {
					if *masks == nil {
						*masks = []string{"off"} // which must differ from not recorded
					}
				}
				all[network+" "+name+" "+dev] = d
			}
			p.Devices, p.Tracked, p.Unknown = nil, nil, nil
			all[network+" "+name] = p
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return b
}

// foundVersions returns, as JSON, the versions of products that the trials of a run found.
func foundVersions(results []record.Result) []byte {
	all := map[string]map[string]bool{}
	for _, r := range results {
		for k, v := range r.Observed.Products() {
			if all[k] == nil {
				all[k] = map[string]bool{}
			}
			all[k][v] = true
		}
	}
	found := map[string]string{}
	for k, vs := range all {
		found[k] = strings.Join(slices.Sorted(maps.Keys(vs)), ", ")
	}
	b, err := json.Marshal(found)
	if err != nil {
		return nil
	}
	return b
}

// settings returns, as JSON, the settings of a study that change its numbers.
func settings(s study.Study) []byte {
	options := map[string]map[string]string{}
	for _, u := range slices.Concat(s.Networks, s.Probes) {
		options[u.Name] = u.Options
	}
	b, err := json.Marshal(map[string]any{
		"duration": s.Duration.String(), "warmup": s.Warmup.String(), "swap": s.Swap, "pairs": s.AllPairs, "rounds": s.Rounds,
		"one-at-a-time": s.OneAtATime, "options": options, "topology": s.Topology,
	})
	if err != nil {
		return nil
	}
	return b
}
