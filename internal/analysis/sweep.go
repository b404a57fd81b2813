package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/unit"
)

// A Sweep is a run of tables that differ in one numeric factor only.
type Sweep struct {
	Probe  string
	Factor string
	Levels map[string]string // the other factors that vary
	X      []float64         // the level of each table, ascending
	Tables []Table
}

// minSweep is how many levels make a curve.
const minSweep = 3

// Sweeps finds the numeric factor with the most levels of each probe, and the
// tables along it. Probes without such a factor have no sweep.
func (p Pivot) Sweeps() []Sweep {
	var out []Sweep
	for i := 0; i < len(p.Tables); {
		j := i
		for j < len(p.Tables) && p.Tables[j].Probe == p.Tables[i].Probe {
			j++
		}
		out = append(out, sweeps(p.Tables[i:j])...)
		i = j
	}
	return out
}

func sweeps(tables []Table) []Sweep {
	factor, most := "", minSweep-1
	for _, k := range slices.Sorted(maps.Keys(tables[0].Levels)) {
		if n := numericLevels(tables, k); n > most {
			factor, most = k, n
		}
	}
	if factor == "" {
		return nil
	}
	groups := map[string]*Sweep{}
	var order []string
	for _, t := range tables {
		rest := maps.Clone(t.Levels)
		delete(rest, factor)
		k := key(rest)
		if groups[k] == nil {
			groups[k] = &Sweep{Probe: t.Probe, Factor: factor, Levels: rest}
			order = append(order, k)
		}
		groups[k].Tables = append(groups[k].Tables, t)
	}
	var out []Sweep
	for _, k := range order {
		s := groups[k]
		if len(s.Tables) < minSweep {
			continue
		}
		slices.SortStableFunc(s.Tables, func(a, b Table) int {
			x, _ := quantity(a.Levels[factor])
			y, _ := quantity(b.Levels[factor])
			return cmp.Compare(x, y)
		})
		for _, t := range s.Tables {
			x, _ := quantity(t.Levels[factor])
			s.X = append(s.X, x)
		}
		out = append(out, *s)
	}
	return out
}

// numericLevels returns how many levels the factor has, 0 when one is no number.
func numericLevels(tables []Table, factor string) int {
	set := map[float64]bool{}
	for _, t := range tables {
		x, ok := quantity(t.Levels[factor])
		if !ok {
			return 0
		}
		set[x] = true
	}
	return len(set)
}

// quantity reads a level that is a number, a percentage, a size or a rate, the last
// two in base units.
func quantity(s string) (float64, bool) {
	if v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64); err == nil && v-v == 0 { // neither NaN nor Inf
		return v, true
	}
	if v, err := unit.ParseBytes(s); err == nil {
		return float64(v), true
	}
	if v, err := unit.ParseRate(s); err == nil {
		return v, true
	}
	return 0, false
}
