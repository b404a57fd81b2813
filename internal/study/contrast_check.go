package study

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxContrasts bounds the comparisons of a study.
const MaxContrasts = 100

func (s Study) checkCompare(c *checker) {
	if n := len(s.Compare); n > MaxContrasts {
		c.that(false, key("compare"), "has %d comparisons: want at most %d", n, MaxContrasts)
		return
	}
	first := map[string]int{} // by what does not change the ratios
	for i, x := range s.Compare {
		where := fmt.Sprintf("compare[%d]", i)
		*c = append(*c, s.checkContrast(where, x)...)
		words := x
		words.Text = ""
		if j, twice := first[words.String()]; twice {
			*c = append(*c, x.problem("", "%s repeats compare[%d]: every ratio counts once", where, j))
		} else {
			first[words.String()] = i
		}
	}
}

// problem is an error at a key of c, or at a factor below it ("to.load").
func (c Contrast) problem(at, format string, args ...any) problem {
	line := c.lines[at]
	if line == 0 {
		line = c.lines[""]
	}
	return problem{key("compare"), line, fmt.Errorf(format, args...)}
}

// checkContrast returns the mistakes of one contrast, which errors call where.
func (s Study) checkContrast(where string, x Contrast) (ps []problem) {
	varies := s.varies()
	fail := func(at, format string, args ...any) {
		ps = append(ps, x.problem(at, "%s.%s "+format, append([]any{where, at}, args...)...))
	}
	known := func(part, factor string, levels []string) {
		at := part + "." + factor
		has, ok := varies[factor]
		if !ok {
			fail(at, "is an unknown factor: the study varies %s", strings.Join(slices.Sorted(maps.Keys(varies)), ", "))
			return
		}
		if len(levels) == 0 {
			fail(at, "has no levels")
		}
		for i, l := range levels {
			if !slices.Contains(has, l) {
				fail(at, "has unknown level %q: use one of %s", l, strings.Join(has, ", "))
			} else if slices.Contains(levels[:i], l) {
				fail(at, "has duplicate level %q", l)
			}
		}
	}
	for _, part := range []struct {
		name   string
		levels Levels
		given  bool
	}{{"to", single(x.To), true}, {"of", x.Of, x.Of != nil}, {"in", x.In, x.In != nil}, {"per", single(x.Per), x.Per != nil}} {
		switch {
		case !part.given:
			continue
		case len(part.levels) == 0 && part.name == "to":
			fail("to", "is missing or empty: name the level that divides, as in to: {load: idle}")
		case len(part.levels) == 0:
			fail(part.name, "is empty: omit it")
		}
		for _, factor := range slices.Sorted(maps.Keys(part.levels)) {
			known(part.name, factor, part.levels[factor])
			_, compared := x.To[factor]
			switch at := part.name + "." + factor; {
			case part.name == "of" && !compared:
				fail(at, "is not a factor of to: both sides of a ratio differ in the factors of to only; restrict others with in")
			case part.name == "in" && compared:
				fail(at, "is a factor of to: list its levels under of")
			case part.name == "per" && compared:
				fail(at, "is a factor of to: per names other factors, in whose level the ratio divides")
			}
		}
	}
	for _, factor := range slices.Sorted(maps.Keys(x.To)) {
		if len(x.Of) > 0 && x.Of[factor] == nil {
			fail("of", "lacks %s, a factor of to", factor)
		}
	}
	if err := checkName(x.Value, ""); x.Value != "" && err != nil {
		fail("value", "is not the name of a value: %w", err)
	}
	if !utf8.ValidString(x.Text) {
		fail("text", "%q is not UTF-8 text", x.Text)
	}
	if len(ps) == 0 {
		if err := x.twoCells(varies); err != nil {
			ps = append(ps, x.problem("", "%s %w", where, err))
		}
	}
	return ps
}

// twoCells returns an error if no two cells of the levels differ in the factors of To, or no two
// ratios in those of Per.
func (c Contrast) twoCells(varies map[string][]string) error {
	all := func(levels Levels, of map[string]string) (same, other bool) { // whether it is among them, and another one
		same = true
		for factor, level := range of {
			l := levels[factor]
			if l == nil {
				l = varies[factor]
			}
			same = same && slices.Contains(l, level)
			other = other || len(l) > 1 || l[0] != level
		}
		return same, other
	}
	same, other := all(c.Of, c.To)
	switch {
	case !other:
		return errors.New("matches no two cells: the study has no other level of the factors of to")
	case same && c.Of != nil:
		return errors.New("divides cells by themselves: of includes the level of to")
	}
	if _, other := all(c.In, c.Per); len(c.Per) > 0 && !other {
		return errors.New("matches no two ratios: it has no other level of the factors of per")
	}
	return nil
}
