package analysis

import (
	"maps"
	"slices"
	"strings"
)

const ends = "ends"

// A Matrix is a set of tables with a level FROM-TO for every From and To.
type Matrix struct {
	Probe    string
	Levels   map[string]string // the other factors that vary
	From, To []string
	Tables   map[[2]string]Table // by from and to
}

// Matrices returns the complete matrices with at least two names in each direction.
func (r *Run) Matrices() []Matrix {
	var out []Matrix
	for _, g := range grids(r.Tables, ends) {
		m := Matrix{Probe: g.probe, Levels: g.rest, Tables: map[[2]string]Table{}}
		from, to := map[string]bool{}, map[string]bool{}
		for i, t := range g.tables {
			if a, b, ok := strings.Cut(g.levels[i], "-"); ok {
				from[a], to[b] = true, true
				m.Tables[[2]string{a, b}] = t
			}
		}
		if len(from) > 1 && len(to) > 1 && len(m.Tables) == len(from)*len(to) {
			m.From, m.To = slices.SortedFunc(maps.Keys(from), Natural), slices.SortedFunc(maps.Keys(to), Natural)
			out = append(out, m)
		}
	}
	return out
}
