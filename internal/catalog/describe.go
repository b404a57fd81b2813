package catalog

import (
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
)

// A Described is a probe of a study in words. A run stores them with its results, so
// that a report has the words of the version that measured.
type Described struct {
	Name string `json:"name"` // in the study
	probe.Info
}

// Describe describes the probes of s in its order, except those that this version does
// not know. A probe that a study names itself keeps that name, because the title of its
// kind could stand for several.
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
