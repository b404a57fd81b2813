package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
)

// Available returns the part of s whose networks, probes and factors this version knows, possibly
// nothing.
func Available(s study.Study) study.Study {
	s.Networks = slices.DeleteFunc(slices.Clone(s.Networks), func(u study.Use) bool { _, err := FindNetwork(u.Kind); return err != nil })
	s.Probes = slices.DeleteFunc(slices.Clone(s.Probes), func(u study.Use) bool { _, err := FindProbe(u.Kind); return err != nil })
	s.Factors = maps.Clone(s.Factors)
	maps.DeleteFunc(s.Factors, func(f string, _ []string) bool { return !varies(s, f) })
	if _, ok := s.Network(s.Baseline); !ok {
		s.Baseline = ""
	}
	s = s.Resolve()
	s.FitCompare()
	return s
}

// varies reports whether a factor applies to s.
func varies(s study.Study, factor string) bool {
	return slices.Contains(condition.Names(), factor) ||
		slices.ContainsFunc(s.Probes, func(u study.Use) bool { return Applies(u.Kind, factor) })
}

// Missing returns why this version cannot measure a cell of s; nil if it can.
func Missing(s study.Study, c study.Cell) error {
	n, _ := s.Network(c.Network)
	p, _ := s.Probe(c.Probe)
	if _, err := FindNetwork(n.Kind); err != nil {
		return fmt.Errorf("this version has no network %q", n.Kind)
	}
	if _, err := FindProbe(p.Kind); err != nil {
		return fmt.Errorf("this version has no probe %q", p.Kind)
	}
	for _, f := range slices.Sorted(maps.Keys(c.Levels)) {
		if !Applies(p.Kind, f) {
			return fmt.Errorf("this version has no factor %q of %s", f, p.Kind)
		}
	}
	return nil
}

// A Described is the description of a study's probe. A run stores it with its results, so reports
// keep the wording of the version that measured.
type Described struct {
	Name string `json:"name"` // in the study
	probe.Info
}

// Describe describes the probes of s in order, except those unknown to this version. A probe that
// the study names keeps that name as its title, because its kind's title could stand for several.
func Describe(s study.Study) (ds []Described) {
	titles := map[string]bool{}
	for _, u := range s.Probes {
		p, err := FindProbe(u.Kind)
		if err != nil {
			continue
		}
		_ = u.Decode(p) // Prepare reports an error
		d := Described{u.Name, p.Info()}
		if u.Name != u.Kind || titles[d.Title] {
			d.Title, d.Short = u.Name, u.Name
		}
		titles[d.Title] = true
		ds = append(ds, d)
	}
	return ds
}
