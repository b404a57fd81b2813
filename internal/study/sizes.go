package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// sizesKey is the option of probes with a distribution of sizes, and the factor that varies it.
const sizesKey = "sizes"

// MaxSizes is the most that a file of sizes holds, bytes.
const MaxSizes = 64 << 10

// ReadSizes puts what files hold in place of their names, in the option sizes of probes, the levels of that factor and the comparisons
// of these, so that the study can be repeated without the files.
func (s *Study) ReadSizes(read func(name string) ([]byte, error)) error {
	s.Probes = slices.Clone(s.Probes)
	for i, u := range s.Probes {
		n, err := strictyaml.ParseFlow(u.Options[sizesKey])
		if err != nil || n == nil || n.Kind != strictyaml.Text || n.Text == "" {
			continue
		}
		sizes, err := readSizes(n.Text, read)
		if err != nil {
			return fmt.Errorf("probe %s: sizes: %w", u.Name, err)
		}
		s.Probes[i].Options = maps.Clone(u.Options)
		s.Probes[i].Options[sizesKey] = strictyaml.NewText(sizes).Flow()
	}
	named := map[string]string{}
	for _, level := range s.Factors[sizesKey] {
		sizes, err := readSizes(level, read)
		if err == nil && len(sizes) > maxLevel {
			err = fmt.Errorf("%.40s: written out it has %d bytes, and a level at most %d: join neighbors, or compare two probes, such as -p '{use: http-rr, name: a, sizes: FILE}'", level, len(sizes), maxLevel)
		}
		if err != nil {
			return fmt.Errorf("factor sizes: %w", err)
		}
		named[level] = sizes
	}
	if len(named) > 0 {
		s.renameLevels(sizesKey, named)
	}
	return nil
}

// readSizes returns a histogram on one line, whether text is one or the name of a file with one.
func readSizes(text string, read func(name string) ([]byte, error)) (string, error) {
	sizes, inText := event.ParseSizes(text)
	if inText == nil {
		return sizes.String(), nil
	}
	b, err := read(text)
	switch {
	case err != nil && strings.ContainsAny(text, " ,"): // as a histogram has, but hardly the name of a file
		return "", fmt.Errorf("%.40q: %w", text, inText)
	case err != nil:
		return "", fmt.Errorf("%w; name a file with a line per size, bytes and their weight, or write them between commas", err)
	}
	if sizes, err = event.ParseSizes(string(b)); err != nil {
		return "", fmt.Errorf("%s: %w", text, err)
	}
	return sizes.String(), nil
}

// renameLevels gives levels of a factor other names, also in comparisons.
func (s *Study) renameLevels(factor string, to map[string]string) {
	one := func(levels map[string]string) map[string]string {
		if name, ok := to[levels[factor]]; ok {
			levels = maps.Clone(levels)
			levels[factor] = name
		}
		return levels
	}
	each := func(levels Levels) Levels {
		levels = maps.Clone(levels)
		for i, l := range levels[factor] {
			if name, ok := to[l]; ok {
				levels[factor] = slices.Clone(levels[factor])
				levels[factor][i] = name
			}
		}
		return levels
	}
	s.Factors = each(s.Factors)
	s.Compare = slices.Clone(s.Compare)
	for i, c := range s.Compare {
		c.Of, c.To, c.In, c.Per = each(c.Of), one(c.To), each(c.In), one(c.Per)
		s.Compare[i] = c
	}
}
