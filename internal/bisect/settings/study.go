package settings

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/internal/bisect/group"
	"github.com/weir-bench/weir/internal/study"
)

// A Cell is what a bisection measures: one network under one probe, at one level of each factor.
type Cell struct {
	Network string            `json:"network"`
	Probe   string            `json:"probe"`
	Levels  map[string]string `json:"levels,omitempty"`
}

// names of sets in studies, by stage: of None, All and the sets that a comparison adds.
const (
	beforeName = "before"
	afterName  = "after"
)

// Study returns the study of one step: BEFORE's in the lab, with a network for every set that the step compares. common
// is the network without the differences. Equal comparisons are made once; at says which contrast each comparison is.
func (d Differences) Study(found study.Study, common study.Use, of Cell, step group.Step) (out study.Study, at []int, _ error) {
	out = found
	out.Name = "bisect-" + string(step.Stage)
	out.Question = fmt.Sprintf("Which setting changed %s under %s?", of.Network, of.Probe)
	out.Description, out.Compare, out.Networks, out.Target = "", nil, nil, study.Target{}
	out.AllPairs, out.Rounds, out.OneAtATime = false, 0, false
	probe, ok := found.Probe(of.Probe)
	if !ok {
		return out, nil, fmt.Errorf("the study has no probe %s", of.Probe)
	}
	out.Probes = []study.Use{probe}
	out.Factors = map[string][]string{}
	for f, level := range of.Levels {
		if !slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.condition == f || s.factor == f }) {
			out.Factors[f] = []string{level}
		}
	}
	names := d.names(step)
	name := func(set group.Set) string {
		key := fmt.Sprint(set)
		name := names[key]
		if !slices.Contains(study.Names(out.Networks), name) {
			u := d.Variant(common, set)
			u.Name = name
			out.Networks = append(out.Networks, u)
		}
		return name
	}
	for _, c := range step.Comparisons {
		from, to := name(c.From), name(c.To)
		one := study.Contrast{Of: study.Levels{"network": {to}}, To: map[string]string{"network": from}}
		for i, s := range d.Settings {
			if s.factor != "" { // its levels cross with the networks, and only these cells are compared
				out.Factors[s.factor] = []string{s.Before, s.After}
				one.Of[s.factor], one.To[s.factor] = []string{s.value(c.To[i])}, s.value(c.From[i])
			}
		}
		same := slices.IndexFunc(out.Compare, func(x study.Contrast) bool { return x.String() == one.String() })
		if same < 0 {
			same = len(out.Compare)
			out.Compare = append(out.Compare, one)
		}
		at = append(at, same)
	}
	out.Baseline = out.Networks[0].Name
	return out, at, out.Validate()
}

// names gives every set of a step a name that readers of its study understand.
func (d Differences) names(step group.Step) map[string]string {
	n := len(d.Settings)
	names := map[string]string{}
	add := func(set group.Set, name string) {
		if key := fmt.Sprint(set); names[key] == "" {
			names[key] = name
		}
	}
	add(group.None(n), beforeName)
	add(group.All(n), afterName)
	if step.Stage == group.Confirm {
		cause := group.Only(n, step.Cause.Members...)
		add(cause, "only")
		add(cause.Without(), "all-but")
		for i, m := range step.Cause.Members {
			add(group.Only(n, m), fmt.Sprintf("only-%d", i+1))
		}
	}
	for _, c := range step.Comparisons {
		add(c.To, "group")
		add(c.From, "others")
	}
	return names
}
