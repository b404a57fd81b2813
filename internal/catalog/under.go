package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/internal/topo"
)

// topology returns the topology of a network, under its own conditions (study.UnderKey).
func topology(u study.Use, s topo.Spec, at network.Where) (topo.Topology, error) {
	t, err := topo.New(s)
	if err != nil {
		return t, err
	}
	if at != network.InLab { // names and addresses are the target's to say
		t.Exists, t.Segments = true, nil
	}
	levels, err := u.Under()
	if err != nil {
		return t, err
	}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		switch {
		case !condition.Builds(name):
			all := slices.DeleteFunc(condition.Names(), func(n string) bool { return !condition.Builds(n) })
			return t, fmt.Errorf("under: %q is no condition of a network: want one of %s", name, strings.Join(all, ", "))
		case t.Exists:
			return t, errors.New("under: weir changes nothing on machines that it finds; leave it out, or measure in the lab (without --ssh or --kube)")
		}
		if t, err = condition.Apply(name, levels[name], t); err != nil {
			return t, err
		}
	}
	return t, t.Distance.Check()
}
