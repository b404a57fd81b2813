package imported

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Template reads a file's place from its path: "{network}/{probe}-{n}.json". {network} and {probe}
// name those, {n} tells repetitions apart and means nothing else, as often as it occurs, and any other name
// is a factor. A placeholder stands for one or more characters of one part of the path. The template is the end of the
// path, from the beginning of a part.
type Template struct {
	re    *regexp.Regexp
	names []string
}

// placeholderRE matches a placeholder; factors are named as in a study.
var placeholderRE = regexp.MustCompile(`\{([a-z][a-z0-9-]*)\}`)

// ParseTemplate reads a template.
func ParseTemplate(s string) (*Template, error) {
	t := &Template{}
	pattern, rest := `(?:^|/)`, s
	for _, m := range placeholderRE.FindAllStringSubmatch(s, -1) {
		before, after, _ := strings.Cut(rest, m[0])
		pattern += regexp.QuoteMeta(before) + `([^/]+?)`
		rest = after
		if m[1] == "block" || m[1] == "pair" {
			return nil, fmt.Errorf("{%s} is reserved; use another name", m[1])
		}
		if m[1] != "n" && slices.Contains(t.names, m[1]) {
			return nil, fmt.Errorf("{%s} occurs twice", m[1])
		}
		t.names = append(t.names, m[1])
	}
	pattern += regexp.QuoteMeta(rest) + `$`
	switch {
	case strings.ContainsAny(placeholderRE.ReplaceAllString(s, ""), "{}"):
		return nil, fmt.Errorf("%q has a brace that is not part of a placeholder such as {network}: lower-case letters, digits and -", s)
	case len(t.names) == 0:
		return nil, errors.New("no placeholder: write {network}, {probe}, {n}, or the name of a factor")
	}
	re, err := regexp.Compile(pattern)
	t.re = re
	return t, err
}

// Names reports whether the template has a placeholder.
func (t *Template) Names(name string) bool { return slices.Contains(t.names, name) }

// Assign says where a file belongs; false if the path does not fit. Separators are slashes.
func (t *Template) Assign(path string) (p Assignment, ok bool) {
	m := t.re.FindStringSubmatch(path)
	if m == nil {
		return p, false
	}
	p.Levels = map[string]string{}
	for i, name := range t.names {
		switch v := m[i+1]; name {
		case "network":
			p.Network = v
		case "probe":
			p.Probe = v
		case "n":
		default:
			p.Levels[name] = v
		}
	}
	return p, true
}

// Check returns why a place cannot be in a study. Names of networks and probes become parts of file names.
func (p Assignment) Check() error {
	for _, name := range []string{p.Network, p.Probe} {
		if strings.ContainsFunc(name, func(r rune) bool { return !inName(r) }) || name != "" && !inName(rune(name[0])) {
			return fmt.Errorf("%q cannot be the name of a network or a probe: want letters, digits, - . _ +; name it with --network or --as", Clean(name))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.Levels)) {
		if v := p.Levels[k]; !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("%s is %q: a level is printable text", k, Clean(v))
		}
	}
	return nil
}

func inName(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-._+", r))
}
