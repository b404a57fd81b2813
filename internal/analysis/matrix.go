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
	// Contrast is the index of the run's first contrast that divides directions by one, Base, or -1;
	// Ratios holds the rows of all that do, by from, to and network.
	Contrast int
	Base     [2]string
	Ratios   map[[3]string]ContrastRow
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
			r.divide(&m)
			out = append(out, m)
		}
	}
	return out
}

// divide adds the ratios of the contrasts that divide directions by one.
func (r *Run) divide(m *Matrix) {
	m.Contrast = -1
	for i, c := range r.Contrasts {
		to := c.To[ends]
		if len(c.To) != 1 || to == "" || len(c.Per) > 0 || c.Value != "" || m.Contrast >= 0 && to != r.Contrasts[m.Contrast].To[ends] {
			continue
		}
		if m.Contrast < 0 {
			a, b, _ := strings.Cut(to, "-")
			m.Contrast, m.Base, m.Ratios = i, [2]string{a, b}, map[[3]string]ContrastRow{}
		}
		for _, x := range c.Rows {
			from, to, _ := strings.Cut(x.Of[ends], "-")
			if t := m.Tables[[2]string{from, to}]; x.Probe == m.Probe && holds(t.Config, x.Config) {
				m.Ratios[[3]string{from, to, x.Network}] = x
			}
		}
	}
}
