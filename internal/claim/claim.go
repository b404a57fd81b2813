// Package claim holds published figures as data that anyone can test: the claim, its conditions,
// the study that bears on it, and the bounds within which a measurement agrees with it. It reads
// claims and judges results.
//
// It must not run anything or know which networks exist: the caller says what is missing.
//
// Claims are YAML, one file per source:
//
//	source: Who published the figures, and when they were measured.
//	link: where to read them
//	conditions: hardware, tools, versions, for all claims that state none
//	studies:                      # small ones that weir does not ship, as in package study
//	  one-gigabit:
//	    networks: [host, vxlan-overlay]
//	    probes: [tcp-stream]
//	    underlay: {link: 1gbit}
//	claims:
//	- id: overlay-1g
//	  section: where in the source
//	  text: The claim in one sentence.
//	  published: the numbers, as published
//	  needs: [kvm]                # without which the claim cannot be tested, see Need
//	  study: one-gigabit          # of this file, or a shipped one
//	  tests:
//	  - of: {network: vxlan-overlay, probe: tcp-stream}
//	    to: {network: host, probe: tcp-stream}
//	    ratio: 900/934            # or -30%, +20%, 2
//	    least: 0.95               # within which the measured ratio
//	    most: 0.98                # has to lie
//	  tolerance: why these bounds
//	  note: why the claim may not hold here
//
// A test divides one cell by another, or by the sum of several ("sum" instead of "to"). With "per:
// {of: CELL, to: CELL, ratio: …}" the result is divided by a second ratio: does UDP lose more to
// VXLAN than TCP? A cell names every factor of its study under "levels", and under "metric" a value
// other than the main value of its probe. A claim with several tests, such as an order or a step,
// holds when all of them do.
package claim

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weir-bench/weir/claims"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
	"github.com/weir-bench/weir/studies"
)

type Claim struct {
	At         strictyaml.Position `json:"-"`
	ID         string              `json:"id"`
	Source     string              `json:"source" yaml:"-"`
	Link       string              `json:"link,omitempty" yaml:"-"`
	Section    string              `json:"section"`
	Text       string              `json:"text"` // the claim in one sentence
	Conditions string              `json:"conditions"`
	Published  string              `json:"published"` // the numbers, as published
	Needs      []Need              `json:"needs,omitempty"`
	Study      study.Study         `json:"-"`         // that bears on it
	Tests      []Test              `json:"tests"`     // all of which must hold
	Tolerance  string              `json:"tolerance"` // reason for the bounds
	Note       string              `json:"note"`      // why it might not hold here
}

// A Test is a ratio, and the bounds within which it agrees with the claim.
type Test struct {
	At    strictyaml.Position `json:"-"`
	Of    Cell                `json:"of"`
	To    *Cell               `json:"to,omitempty"`
	Sum   []Cell              `json:"sum,omitempty"` // instead of To
	Per   *Pair               `json:"per,omitempty"` // the ratio that this one is divided by
	Ratio Figure              `json:"ratio,omitzero"`
	Least float64             `json:"least,omitempty"` // 0 is none
	Most  float64             `json:"most,omitempty"`  // 0 is none
}

// A Pair is a ratio that divides another.
type Pair struct {
	Of    Cell   `json:"of"`
	To    Cell   `json:"to"`
	Ratio Figure `json:"ratio,omitzero"`
}

// A Cell selects the trials of a study whose factors have exactly these levels.
type Cell struct {
	Network string            `json:"network"`
	Probe   string            `json:"probe"`
	Levels  map[string]string `json:"levels,omitempty"`
	Metric  record.Quantity   `json:"metric,omitempty"` // empty: the main value of the probe
}

// Published returns the published ratio; 0 if none.
func (t Test) Published() float64 {
	if t.Per != nil && t.Per.Ratio.Value > 0 {
		return t.Ratio.Value / t.Per.Ratio.Value
	}
	return t.Ratio.Value
}

// String names the numerator and the denominator.
func (t Test) String() string {
	var to []string
	for _, c := range t.Sum {
		to = append(to, c.String())
	}
	if t.To != nil {
		to = append(to, t.To.String())
	}
	s := fmt.Sprintf("[%s] ÷ [%s]", t.Of, strings.Join(to, "] + ["))
	if t.Per != nil {
		s = fmt.Sprintf("(%s) ÷ ([%s] ÷ [%s])", s, t.Per.Of, t.Per.To)
	}
	return s
}

func (t Test) Cells() []Cell {
	all := append([]Cell{t.Of}, t.Sum...)
	if t.To != nil {
		all = append(all, *t.To)
	}
	if t.Per != nil {
		all = append(all, t.Per.Of, t.Per.To)
	}
	return all
}

// Cells lists the cells of all tests of c, possibly with duplicates.
func (c Claim) Cells() []Cell {
	var all []Cell
	for _, t := range c.Tests {
		all = append(all, t.Cells()...)
	}
	return all
}

// A source is a file of claims in the shape of its YAML.
type source struct {
	Source, Link, Conditions string
	Studies                  map[string]study.Study
	Claims                   []struct {
		Claim
		Study string
	}
}

// Load reads the claims of one source. shipped provides studies that are not in the file. The error
// joins one *strictyaml.Error per mistake.
func Load(src []byte, file string, shipped func(name string) (study.Study, error)) ([]Claim, error) {
	var f source
	if err := strictyaml.Decode(src, file, &f); err != nil {
		return nil, err
	}
	var all []Claim
	var errs []error
	for _, text := range []struct{ key, value string }{{"source", f.Source}, {"conditions", f.Conditions}} {
		if text.value == "" {
			errs = append(errs, fmt.Errorf("%s: %s is missing: readers could not look the claims up", file, text.key))
		}
	}
	for _, e := range f.Claims {
		c := e.Claim
		c.Source, c.Link, c.Conditions = f.Source, f.Link, cmp.Or(c.Conditions, f.Conditions)
		if own, ok := f.Studies[e.Study]; ok {
			c.Study, c.Study.Name = own, e.Study
		} else if found, err := shipped(e.Study); err == nil {
			c.Study = found
		} else {
			errs = append(errs, c.At.Errorf("claim %s: unknown study %q: it is neither in this file nor shipped", c.ID, e.Study))
			continue
		}
		errs = append(errs, c.check()...)
		all = append(all, c)
	}
	return all, errors.Join(errs...)
}

var validID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (c Claim) check() (errs []error) {
	if !validID.MatchString(c.ID) {
		errs = append(errs, c.At.Errorf("invalid id %q: want lower-case letters and digits, with - between them", c.ID))
	}
	for _, text := range []struct{ key, value string }{
		{"text", c.Text}, {"section", c.Section}, {"published", c.Published}, {"tolerance", c.Tolerance}, {"note", c.Note},
	} {
		if text.value == "" {
			errs = append(errs, c.At.Errorf("claim %s: %s is missing", c.ID, text.key))
		}
	}
	for _, n := range c.Needs {
		if _, ok := needs[n]; !ok {
			errs = append(errs, c.At.Errorf("claim %s: unknown need %q: want one of %s", c.ID, n, needNames()))
		}
	}
	if len(c.Tests) == 0 {
		errs = append(errs, c.At.Errorf("claim %s: tests is missing: add at least one", c.ID))
	}
	for _, t := range c.Tests {
		if err := t.check(c.Study); err != nil {
			errs = append(errs, t.At.Errorf("claim %s: %w", c.ID, err))
		}
	}
	return errs
}

func (t Test) check(s study.Study) error {
	switch p := t.Published(); {
	case (t.To == nil) == (len(t.Sum) == 0):
		return errors.New("want either to or sum in a test")
	case t.Per != nil && (t.Ratio.Value > 0) != (t.Per.Ratio.Value > 0):
		return errors.New("only one of the two ratios of a double ratio is published: want both or none")
	case t.Least < 0 || t.Most < 0 || t.Least == 0 && t.Most == 0:
		return fmt.Errorf("invalid bounds least %g and most %g: want at least one bound above 0", t.Least, t.Most)
	case t.Most > 0 && t.Least >= t.Most:
		return fmt.Errorf("invalid bounds: least %g is not below most %g", t.Least, t.Most)
	case p > 0 && !t.within(p):
		return fmt.Errorf("published ratio %.3g is outside the bounds: want %s", p, t.Bounds())
	}
	for _, c := range t.Cells() {
		if err := c.check(s); err != nil {
			return err
		}
	}
	return nil
}

// check finds names that the study lacks. Only the catalog knows whether the cell names every
// factor that applies to its probe.
func (c Cell) check(s study.Study) error {
	if _, ok := s.Network(c.Network); !ok {
		return fmt.Errorf("study %s has no network %q", s.Name, c.Network)
	}
	if _, ok := s.Probe(c.Probe); !ok {
		return fmt.Errorf("study %s has no probe %q", s.Name, c.Probe)
	}
	for f, l := range c.Levels {
		if !slices.Contains(s.Factors[f], l) {
			return fmt.Errorf("study %s has no level %q of a factor %q", s.Name, l, f)
		}
	}
	return nil
}

// Shipped returns the claims that weir ships, by source and in file order. An error is a mistake in
// the files.
func Shipped() ([]Claim, error) {
	all, err := readShipped()
	return slices.Clone(all), err
}

// readShipped reads the files once: they are most of the work of reading a small run, and a series has many runs.
var readShipped = sync.OnceValues(func() ([]Claim, error) {
	files, _ := fs.Glob(claims.FS, "*.yaml") // the pattern is a constant
	var all []Claim
	var errs []error
	for _, file := range files {
		src, err := fs.ReadFile(claims.FS, file)
		if err != nil {
			return nil, err
		}
		cs, err := Load(src, path.Join("claims", file), ShippedStudy)
		all, errs = append(all, cs...), append(errs, err)
	}
	return all, errors.Join(append(errs, unique(all))...)
})

// Index returns the place of the claim with an ID; -1: none has it.
func Index(claims []Claim, id string) int {
	return slices.IndexFunc(claims, func(c Claim) bool { return c.ID == id })
}

// ShippedStudy returns a study that weir ships.
func ShippedStudy(name string) (study.Study, error) {
	file := name + ".yaml"
	src, err := fs.ReadFile(studies.FS, file)
	if err != nil {
		return study.Study{}, err
	}
	return study.Load(src, file)
}

// unique rejects duplicate ids, and study names that mean two studies, because runs are identified
// by study name.
func unique(cs []Claim) error {
	var errs []error
	ids, files := map[string]bool{}, map[string]string{}
	for _, c := range cs {
		if ids[c.ID] {
			errs = append(errs, c.At.Errorf("claim %s occurs twice", c.ID))
		}
		ids[c.ID] = true
		file := c.Study.Networks[0].Pos() // says where the study is
		file = file[:max(0, strings.LastIndexByte(file, ':'))]
		if other, ok := files[c.Study.Name]; ok && other != file {
			errs = append(errs, c.At.Errorf("claim %s: study %q occurs in %s and in %s", c.ID, c.Study.Name, other, file))
		}
		files[c.Study.Name] = file
	}
	return errors.Join(errs...)
}
