package figure

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/study"
)

// Needed returns the part of their study that these figures need; all have the same study. It has no
// comparisons if a part is left out, because they can name what it lacks.
func Needed(fs []Figure) study.Study {
	s := fs[0].Study
	need := func(factor string) func(string) bool {
		return func(level string) bool {
			return slices.ContainsFunc(fs, func(f Figure) bool { return slices.Contains(f.levels(factor), level) })
		}
	}
	uses := func(factor string, all []study.Use) (kept []study.Use) {
		for _, u := range all {
			if need(factor)(u.Name) {
				kept = append(kept, u)
			}
		}
		return kept
	}
	networks, probes := uses(analysis.Network, s.Networks), uses(analysis.Probe, s.Probes)
	whole := len(networks) == len(s.Networks) && len(probes) == len(s.Probes)
	s.Networks, s.Probes = networks, probes
	for factor, all := range s.Factors {
		var kept []string
		for _, l := range all {
			if need(factor)(l) {
				kept = append(kept, l)
			}
		}
		if len(kept) < len(all) {
			s.Vary(factor, kept)
			whole = false
		}
	}
	if !whole {
		s.Compare = nil
	}
	if _, ok := s.Network(s.Baseline); !ok {
		s.Baseline = ""
	}
	return s.Resolve()
}
