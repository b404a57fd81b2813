// Package figure holds the figures and tables of published documents as data: which study repeats
// one, how its picture is laid out, and the numbers that the document prints. It reads figures,
// takes their values from runs, compares them with the published ones and draws them.
//
// It must not run anything or know which networks exist: the caller measures. It must not judge
// either: verdicts are those of claims.
//
// Figures are YAML, one file per document, in the order of the document:
//
//	source: The document.
//	link: where to read it
//	studies:                       # that weir does not ship, as in package study
//	  one-gigabit: {networks: [host, vxlan-overlay], probes: [ping]}
//	figures:
//	- id: thesis-12
//	  place: figure 12             # in the document
//	  section: 5.1.2
//	  caption: UDP throughput by datagram size
//	  question: What the figure is about.
//	  study: fragmentation         # of this file, of a claim, or a shipped one
//	  networks: [host, relay]      # of the study that the figure needs, in its order; also probes
//	  factors: {size: [1400, 1500]}  # their levels that it needs
//	  chart: curve                 # bars, dots (on a logarithmic axis), curve, matrix, hops, over, threads, none
//	  panels: probe                # a chart for each level of this factor
//	  rows: network                # a group of bars, or a curve's color, for each level
//	  bars: offload                # within a row; of a curve, its dashes
//	  x: size                      # the horizontal axis of a curve
//	  values: [rtt.min, rtt.mean]  # names of values, a factor called value; default: the probe's first
//	  to: {network: host}          # what divides each value, in the same block; {} draws values
//	  numbers: everything that the document prints, or "not published"
//	  published:                   # those numbers by cell, as open marks
//	  - {at: {network: host, size: 1500}, to: {size: 1400}, ratio: -30%}
//	  - {at: {network: relay}, value: 900 Mbit/s}
//	  - {at: {network: vm-vxlan}, thread: ksoftirqd, value: 100 %}  # of chart threads
//	  claims: [fragmentation-cost] # whose verdicts are the figure's
//	  table: [[a, b], [c, d]]      # words that the document prints
//	  instead: weir plan -n host   # shows what is not a measurement
//	  cannot: what this machine cannot show, and how that is known
//
// A published ratio divides by the cell that its own "to" names, or else by the figure's. Its mark
// stands at that ratio times weir's own value of that cell: a value of another machine is comparable
// only through a ratio.
package figure

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/figures"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/internal/study"
)

// A Kind is how a figure is drawn.
type Kind string

const (
	Bars     Kind = "bars"
	Dots     Kind = "dots" // on a logarithmic axis
	Curve    Kind = "curve"
	Matrix   Kind = "matrix"  // from and to, of the factor ends
	Hops     Kind = "hops"    // chains of segments
	OverTime Kind = "over"    // CPU time and throughput inside trials
	Threads  Kind = "threads" // the busiest threads
	None     Kind = "none"
)

// valueFactor is the factor whose levels are the names of values.
const valueFactor = "value"

type Figure struct {
	At        strictyaml.Position `json:"-"`
	ID        string              `json:"id"`
	Document  string              `json:"document" yaml:"-"` // name of its file
	Source    string              `json:"source" yaml:"-"`
	Link      string              `json:"link,omitempty" yaml:"-"`
	Place     string              `json:"place"`
	Section   string              `json:"section"`
	Caption   string              `json:"caption"`
	Question  string              `json:"question,omitempty"`
	Study     study.Study         `json:"-"` // without networks: nothing is measured
	Networks  []string            `json:"networks,omitempty"`
	Probes    []string            `json:"probes,omitempty"`
	Factors   map[string][]string `json:"factors,omitempty"`
	Chart     Kind                `json:"chart"`
	Panels    string              `json:"panels,omitempty"`
	Rows      string              `json:"rows,omitempty"`
	Bars      string              `json:"bars,omitempty"`
	X         string              `json:"x,omitempty"`
	Values    []string            `json:"values,omitempty"`
	To        map[string]string   `json:"to,omitempty"`
	Numbers   string              `json:"numbers"` // as printed in the document
	Published []Published         `json:"published,omitempty"`
	Claims    []string            `json:"claims,omitempty"`
	Table     [][]string          `json:"table,omitempty"`
	Instead   string              `json:"instead,omitempty"`
	Cannot    string              `json:"cannot,omitempty"`
	Note      string              `json:"note,omitempty"`
}

// A file is the figures of one document in the shape of its YAML.
type file struct {
	Source, Link string
	Studies      map[string]study.Study
	Figures      []struct {
		Figure
		Study string
	}
}

// Load reads the figures of one document; name is its file. find provides studies that are not in
// the file. The error joins one *strictyaml.Error per mistake.
func Load(src []byte, name string, find func(name string) (study.Study, error)) ([]Figure, error) {
	var f file
	if err := strictyaml.Decode(src, name, &f); err != nil {
		return nil, err
	}
	var all []Figure
	var errs []error
	if f.Source == "" {
		errs = append(errs, fmt.Errorf("%s: source is missing: readers could not look the figures up", name))
	}
	for _, e := range f.Figures {
		g := e.Figure
		g.Document = strings.TrimSuffix(path.Base(name), ".yaml")
		g.Source, g.Link = f.Source, f.Link
		if own, ok := f.Studies[e.Study]; ok {
			g.Study, g.Study.Name = own, e.Study
		} else if e.Study != "" {
			found, err := find(e.Study)
			if err != nil {
				errs = append(errs, g.At.Errorf("figure %s: unknown study %q: it is neither in this file nor that of a claim nor shipped", g.ID, e.Study))
				continue
			}
			g.Study = found
		}
		for _, err := range g.check() {
			errs = append(errs, g.At.Errorf("figure %s: %w", g.ID, err))
		}
		all = append(all, g)
	}
	return all, errors.Join(errs...)
}

// documents is the order of the documents.
var documents = []string{"thesis", "ovs", "kvm", "plugins", "terway"}

// Shipped returns all figures, by document and in its order. An error is a mistake in the files.
func Shipped() ([]Figure, error) {
	cs, err := claim.Shipped()
	if err != nil {
		return nil, err
	}
	find := func(name string) (study.Study, error) {
		if i := slices.IndexFunc(cs, func(c claim.Claim) bool { return c.Study.Name == name }); i >= 0 {
			return cs[i].Study, nil
		}
		return claim.ShippedStudy(name)
	}
	var all []Figure
	var errs []error
	for _, d := range documents {
		src, err := fs.ReadFile(figures.FS, d+".yaml")
		if err != nil {
			return nil, err
		}
		fs, err := Load(src, path.Join("figures", d+".yaml"), find)
		all, errs = append(all, fs...), append(errs, err)
	}
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.ID] {
			errs = append(errs, f.At.Errorf("figure %s occurs twice", f.ID))
		}
		seen[f.ID] = true
		for _, id := range f.Claims {
			if !slices.ContainsFunc(cs, func(c claim.Claim) bool { return c.ID == id }) {
				errs = append(errs, f.At.Errorf("figure %s: unknown claim %q", f.ID, id))
			}
		}
	}
	return all, errors.Join(errs...)
}

var validID = regexp.MustCompile(`^[a-z0-9]+([-.][a-z0-9]+)*$`)

func (f Figure) check() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !validID.MatchString(f.ID) {
		bad("invalid id %q: want lower-case letters and digits, with - or . between them", f.ID)
	}
	for _, text := range [][2]string{{"place", f.Place}, {"section", f.Section}, {"caption", f.Caption}, {"numbers", f.Numbers}} {
		if text[1] == "" {
			bad("%s is missing", text[0])
		}
	}
	if !f.Measured() {
		if f.Instead == "" && f.Cannot == "" {
			bad("neither a study, nor instead, nor cannot: say what shows it, or why nothing can")
		}
		if f.Chart != None {
			bad("chart %q of a figure without a study: want none", f.Chart)
		}
		return errs
	}
	if !slices.Contains([]Kind{Bars, Dots, Curve, Matrix, Hops, OverTime, Threads}, f.Chart) {
		bad("unknown chart %q: want bars, dots, curve, matrix, hops, over or threads", f.Chart)
	}
	if (f.Chart == Curve) != (f.X != "") {
		bad("x is the horizontal axis of chart curve, and of no other")
	}
	if f.Question == "" {
		bad("question is missing")
	}
	errs = append(errs, f.checkNames()...)
	for _, p := range f.Published {
		if err := f.checkPublished(p); err != nil {
			errs = append(errs, p.Place.Errorf("%w", err))
		}
	}
	return errs
}

// checkNames finds names that the study lacks, and factors that vary without a place in the figure.
func (f Figure) checkNames() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, n := range f.Networks {
		if _, ok := f.Study.Network(n); !ok {
			bad("study %s has no network %q", f.Study.Name, n)
		}
	}
	for _, p := range f.Probes {
		if _, ok := f.Study.Probe(p); !ok {
			bad("study %s has no probe %q", f.Study.Name, p)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(f.Factors)) {
		for _, l := range f.Factors[k] {
			if !slices.Contains(f.Study.Factors[k], l) {
				bad("study %s has no level %q of a factor %q", f.Study.Name, l, k)
			}
		}
	}
	shown := []string{f.Panels, f.Rows, f.Bars, f.X}
	for i, k := range shown {
		if k != "" && (f.levels(k) == nil || slices.Contains(shown[:i], k)) {
			bad("%q cannot lay the figure out: it is not a factor of the study, or it is used twice", k)
		}
	}
	if f.Chart != Bars && f.Chart != Dots && f.Chart != Curve {
		return errs
	}
	if f.Rows == "" {
		bad("rows is missing")
	}
	if err := f.checkLevels("to", f.To); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func (f Figure) checkLevels(what string, levels map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(levels)) {
		if !slices.Contains(f.levels(k), levels[k]) {
			return fmt.Errorf("%s: the figure has no level %q of a factor %q", what, levels[k], k)
		}
	}
	return nil
}

// levels returns the levels of a factor that the figure needs, in its order; nil if the study lacks
// the factor.
func (f Figure) levels(factor string) []string {
	switch {
	case factor == valueFactor:
		return f.Values
	case factor == analysis.Network && f.Networks != nil:
		return f.Networks
	case factor == analysis.Network:
		return study.Names(f.Study.Networks)
	case factor == analysis.Probe && f.Probes != nil:
		return f.Probes
	case factor == analysis.Probe:
		return study.Names(f.Study.Probes)
	case f.Factors[factor] != nil:
		return f.Factors[factor]
	}
	return f.Study.Factors[factor]
}

// Measured reports whether a study measures the figure.
func (f Figure) Measured() bool { return len(f.Study.Networks) > 0 }
