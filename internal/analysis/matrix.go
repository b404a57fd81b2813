package analysis

import (
	"maps"
	"slices"
	"strings"
)

// ends is the factor whose levels are FROM-TO.
const ends = "ends"

// A Matrix is a run of tables that have a level FROM-TO for all of From and To.
type Matrix struct {
	Probe    string
	Levels   map[string]string // the other factors that vary
	From, To []string
	Tables   map[[2]string]Table // by from and to
}

// Matrices finds the tables that make whole matrices of two or more each way.
func (p Pivot) Matrices() []Matrix {
	byKey := map[string]*Matrix{}
	var order []*Matrix
	for _, t := range p.Tables {
		from, to, ok := strings.Cut(t.Levels[ends], "-")
		if !ok {
			continue
		}
		rest := maps.Clone(t.Levels)
		delete(rest, ends)
		k := t.Probe + "\x00" + key(rest)
		m := byKey[k]
		if m == nil {
			m = &Matrix{Probe: t.Probe, Levels: rest, Tables: map[[2]string]Table{}}
			byKey[k] = m
			order = append(order, m)
		}
		m.From, m.To = appendNew(m.From, from), appendNew(m.To, to)
		m.Tables[[2]string{from, to}] = t
	}
	var out []Matrix
	for _, m := range order {
		if len(m.From) > 1 && len(m.To) > 1 && len(m.Tables) == len(m.From)*len(m.To) {
			slices.SortFunc(m.From, Natural)
			slices.SortFunc(m.To, Natural)
			out = append(out, *m)
		}
	}
	return out
}
