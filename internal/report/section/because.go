package section

import (
	"cmp"
	"math"
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/explain"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/stat"
)

// because says why the network with the largest difference has it, or, if no ratio shows a difference, what the clocks inside
// show; "" where the explanation does not say.
func (s source) because() string {
	far := s.largest()
	if far.Network == "" && slices.ContainsFunc(s.ratios(), stat.Interval.Bounded) {
		if text := inside(s.Why().Networks); text != "" {
			return text
		}
	}
	for _, n := range s.Why().Networks {
		if n.Name == far.Network || far.Network == "" && len(s.p.Contrasts) > 0 && len(s.p.Networks) == 1 {
			return reasonFor(n, far)
		}
	}
	return ""
}

// inside is the statement whose number lies farthest from 1 of those about the CPU time of a packet and the path of a response:
// clocks that other programs on the machine hardly touch may show a difference that rates and whole responses do not.
func inside(networks []explain.Network) (text string) {
	most := 0.0
	for _, n := range networks {
		for _, x := range n.Statements {
			if x.Subject != explain.Cost && x.Subject != explain.Path || x.Number == nil || !x.Number.Value.Bounded() || x.Number.Value.Contains(1) {
				continue
			}
			if size := math.Abs(math.Log(x.Number.Value.Center)); size > most {
				most, text = size, say("A closer look at %s does show a difference: %s", n.Name, prose.Sentence(x.Text))
			}
		}
	}
	return text
}

// largest is the cell of the largest difference that a network shows from the baseline; empty if none does.
func (s source) largest() (far analysis.Cell) {
	most := 0.0
	for t, r := range s.p.Rows() {
		if e := s.effect(*t, *r); r.Network != s.p.Baseline && e.shown() && e.size() > most {
			most, far = e.size(), t.Cell(*r)
		}
	}
	return far
}

// reasonFor is the first of a network's statements about the cell, or the first one about any, that says why the network
// differs from another; without one, what limits it. What another cell has is no reason where the run does not show the cell's.
func reasonFor(n explain.Network, far analysis.Cell) string {
	var reason, other, limit, both lang.Text
	for _, x := range slices.Concat(n.Statements, n.More) {
		if text, here := x.About(far); here && x.Subject == explain.Ordinary {
			return say("Why %s: %s", n.Name, prose.Sentence(text))
		}
	}
	for _, x := range n.Statements {
		if slices.Contains([]explain.Subject{explain.Failure, explain.Ordinary, explain.Hypothesis}, x.Subject) {
			continue
		}
		text, here := x.About(far)
		switch {
		case x.Shared:
			if here {
				both = cmp.Or(both, x.Limit())
			}
		case x.Rule == "full-thread" || x.Rule == "one-cpu" || x.Rule == "contention":
			limit = cmp.Or(limit, x.Text)
		case here:
			reason = cmp.Or(reason, text)
		default:
			other = cmp.Or(other, x.Text)
		}
	}
	if reason != "" && both != "" {
		reason = prose.Sentences(prose.Sentence(reason), prose.Sentence(lang.T("the limit of both networks: %s", both)))
	}
	text := cmp.Or(reason, other, limit)
	if text == "" {
		return ""
	}
	return say("Why %s: %s", n.Name, prose.Sentence(text))
}
