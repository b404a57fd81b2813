package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

// Applies reports whether a factor applies to a kind of probe: conditions always do, options if the
// probe has them.
func Applies(kind, factor string) bool {
	if slices.Contains(condition.Names(), factor) {
		return true
	}
	p, err := FindProbe(kind)
	return err == nil && slices.Contains(strictyaml.Keys(p), factor)
}

// unknownFactor names the factor that is most like a wrong one, or what a factor can be.
func unknownFactor(f string, probes []study.Use) error {
	known := condition.Names()
	for _, u := range probes {
		if p, err := FindProbe(u.Kind); err == nil {
			known = append(known, strictyaml.Keys(p)...)
		}
	}
	if like := strictyaml.Closest(f, known); like != "" {
		return fmt.Errorf("unknown factor %q; did you mean %q? weir list factors lists all", f, like)
	}
	return fmt.Errorf("unknown factor %q: want a condition (%s) or an option of a probe of this study", f, strings.Join(condition.Names(), ", "))
}
