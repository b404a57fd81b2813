package pivot

import (
	"maps"
	"slices"
	"strings"
)

// A Matrix is a run of tables whose factor has a level FROM-TO for all that is
// between its names.
type Matrix struct {
	Probe  string
	Factor string
	Levels map[string]string // the other factors that vary
	From   []string
	To     []string
	Tables map[[2]string]Table // by from and to
}

// Factors whose levels are FROM-TO.
var between = []string{"ends", "pair"}

// Matrices finds the tables that make whole matrices. Nothing may be missing but
// the diagonal, where what talks to itself would be.
func (p Pivot) Matrices() []Matrix {
	var out []Matrix
	for _, factor := range between {
		byKey := map[string]*Matrix{}
		var order []*Matrix
		for _, t := range p.Tables {
			from, to, ok := strings.Cut(t.Levels[factor], "-")
			if !ok {
				continue
			}
			rest := maps.Clone(t.Levels)
			delete(rest, factor)
			k := t.Probe + "\x00" + key(rest)
			m := byKey[k]
			if m == nil {
				m = &Matrix{Probe: t.Probe, Factor: factor, Levels: rest, Tables: map[[2]string]Table{}}
				byKey[k] = m
				order = append(order, m)
			}
			m.From, m.To = appendNew(m.From, from), appendNew(m.To, to)
			m.Tables[[2]string{from, to}] = t
		}
		for _, m := range order {
			slices.SortFunc(m.From, Natural)
			slices.SortFunc(m.To, Natural)
			if m.whole() {
				out = append(out, *m)
			}
		}
	}
	return out
}

func (m Matrix) whole() bool {
	all := len(m.From) * len(m.To)
	if len(m.From) < 2 || len(m.To) < 2 {
		return false
	}
	if slices.Equal(m.From, m.To) && len(m.From) > 2 && len(m.Tables) == all-len(m.From) {
		return !slices.ContainsFunc(m.From, func(n string) bool { _, ok := m.Tables[[2]string{n, n}]; return ok })
	}
	return len(m.Tables) == all
}
