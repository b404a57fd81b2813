package several

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

// mostNamedCells is how many cells a sentence names.
const mostNamedCells = 3

// held says how many ratios lie on the same side of 1 in all lanes, with their whole intervals. It is "" if no ratio has an
// interval in every lane. Whether the sizes agree is another question: the interval of one run a lane cannot answer it.
func (t combined) held() string {
	n, same := 0, 0
	var opposite, open []string
	for _, c := range t.compared() {
		sides, whole := t.sides(c)
		switch {
		case !whole:
			continue
		case sides[above] && sides[below]:
			opposite = append(opposite, t.name(c))
		case sides[around]:
			open = append(open, t.name(c))
		default:
			same++
		}
		n++
	}
	switch {
	case n == 0:
		return ""
	case same == n && n == 1:
		return say("What holds: the ratio lies on the same side of 1 each time, with its whole interval.")
	case same == n:
		return say("What holds: all %d ratios lie on the same side of 1 each time, with their whole intervals.", n)
	}
	parts := []string{say("What holds: %d of %d ratios lie on the same side of 1 each time, with their whole intervals", same, n)}
	if opposite != nil {
		parts = append(parts, say("on opposite sides: %d (%s)", len(opposite), someOf(opposite)))
	}
	if open != nil {
		parts = append(parts, say("not told apart from 1 at least once: %d (%s)", len(open), someOf(open)))
	}
	return say("%s.", prose.Alternatives(parts))
}

// Where an interval lies.
const (
	below = iota
	above
	around
)

// sides says on which sides of 1 the intervals of a cell lie; false if a lane has none.
func (t combined) sides(c analysis.PooledCell) (sides [3]bool, whole bool) {
	for _, l := range t.lanes {
		switch i := t.p.RatioOver(c, l.runs); {
		case !i.Bounded():
			return sides, false
		case i.Contains(1):
			sides[around] = true
		default:
			sides[map[bool]int{false: below, true: above}[i.Center > 1]] = true
		}
	}
	return sides, true
}

// someOf names the first of many.
func someOf(names []string) string {
	if left := len(names) - mostNamedCells; left > 0 {
		return say("%s; %d others", prose.Alternatives(names[:mostNamedCells]), left)
	}
	return prose.Alternatives(names)
}

// told are the answer's lines as sentences of the document.
func told(x doc.Section) (out []string) {
	for _, l := range x.Lines {
		out = append(out, l.String())
	}
	return out
}
