package analysis

import (
	"maps"
	"slices"
)

// A Sweep is the tables that differ only in one numeric factor.
type Sweep struct {
	Probe  string
	Factor string
	Levels map[string]string // the other factors that vary
	X      []float64         // the level of each table, ascending
	Tables []Table
}

// Sweeps returns the tables of each probe along its numeric factor with the most levels, if it has at least the given number.
func (r *Run) Sweeps(least int) []Sweep {
	var out []Sweep
	for i := 0; i < len(r.Tables); {
		j := i
		for j < len(r.Tables) && r.Tables[j].Probe == r.Tables[i].Probe {
			j++
		}
		out = append(out, sweeps(r.Tables[i:j], least)...)
		i = j
	}
	return out
}

func sweeps(tables []Table, least int) []Sweep {
	factor, most := "", least-1
	for _, k := range slices.Sorted(maps.Keys(tables[0].Levels)) {
		if n := numericLevels(tables, k); n > most {
			factor, most = k, n
		}
	}
	var out []Sweep
	for _, g := range grids(tables, factor) {
		if len(g.tables) < least {
			continue
		}
		s := Sweep{Probe: g.probe, Factor: factor, Levels: g.rest, Tables: g.tables} // already sorted
		for _, level := range g.levels {
			x, _ := Quantity(level)
			s.X = append(s.X, x)
		}
		out = append(out, s)
	}
	return out
}

// numericLevels returns the number of levels of factor, 0 if one of them is not a number.
func numericLevels(tables []Table, factor string) int {
	set := map[float64]bool{}
	for _, t := range tables {
		x, ok := Quantity(t.Levels[factor])
		if !ok {
			return 0
		}
		set[x] = true
	}
	return len(set)
}
