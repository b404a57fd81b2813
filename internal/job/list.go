package job

import (
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/condition"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/studies"
)

// An Item is one line of `weir list`.
type Item struct {
	Name    string      `json:"name"`
	About   string      `json:"about"`
	Options []lang.Text `json:"options,omitempty"` // of a study: how long it takes
	Unit    string      `json:"unit,omitempty"`    // of the first value of a probe
	// In lists the kinds of targets that have a network.
	In []network.Where `json:"in,omitempty"`

	Properties  *catalog.Properties `json:"properties,omitempty"` // of a network
	Performance []Performance       `json:"performance,omitempty"`
}

// Lists are what there is to list, by name.
var Lists = map[string]func() ([]Item, error){
	"networks": func() ([]Item, error) {
		var is []Item
		for _, n := range catalog.Names(catalog.Networks) {
			e := catalog.Networks[n]
			is = append(is, Item{Name: n, About: e.About, Options: lang.Texts(strictyaml.Keys(e.New())), In: e.Where(), Properties: &e.Properties})
		}
		return is, nil
	},
	"probes": func() ([]Item, error) {
		var is []Item
		for _, n := range catalog.Names(catalog.Probes) {
			p := catalog.Probes[n]()
			is = append(is, Item{Name: n, About: p.Info().About, Options: lang.Texts(strictyaml.Keys(p)), Unit: p.Info().Unit})
		}
		return is, nil
	},
	"factors": func() ([]Item, error) {
		var is []Item
		for _, n := range condition.Names() {
			is = append(is, Item{Name: n, About: condition.About(n)})
		}
		return append(is, Item{Name: "OPTION", About: "an option of the study's probes (weir list probes)"}), nil
	},
	"studies": listStudies,
	"claims": func() ([]Item, error) {
		cs, err := claim.Shipped()
		var is []Item
		for _, c := range cs {
			is = append(is, Item{Name: c.ID, About: c.Text})
		}
		return is, err
	},
}

func listStudies() ([]Item, error) {
	var is []Item
	for _, n := range StudyNames() {
		s, err := claim.ShippedStudy(n)
		if err != nil {
			return nil, err
		}
		is = append(is, Item{Name: n, About: s.Question, Options: []lang.Text{
			lang.T("%d blocks of %v, %s; with --fast %d of %v, %s", s.Blocks, s.Duration, About(catalog.Estimate(s)),
				s.Fast.Blocks, s.Fast.Duration, About(catalog.Estimate(s.Faster())))}})
	}
	return is, nil
}

// About rounds a duration for display.
func About(d time.Duration) lang.Text {
	if d < 90*time.Second {
		return lang.T("about %.0f s", math.Ceil(d.Seconds()/10)*10)
	}
	return lang.T("about %.0f min", d.Minutes())
}

// StudyNames are the shipped studies, sorted.
func StudyNames() []string {
	files, _ := fs.Glob(studies.FS, "*.yaml") // the pattern is a constant
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	return files
}
