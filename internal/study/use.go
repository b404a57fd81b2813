package study

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Use is a network or a probe as a study names it.
type Use struct {
	Name string // unique among the networks, or the probes, of a study
	Kind string // its name in the catalog
	// Options holds the options by name, each value as YAML on one line.
	Options map[string]string

	file  string
	line  int
	lines map[string]int // of the options
}

// ParseUse reads one Use as it is written in a list of networks: "host" or
// "{use: vxlan-overlay, vni: 7}". It is for command lines; the name is empty
// when src has none.
func ParseUse(src string) (Use, error) {
	n, err := parse([]byte(src))
	switch {
	case err != nil:
		return Use{}, fmt.Errorf("%q: %w", src, err.Err)
	case n == nil:
		return Use{}, fmt.Errorf("%q names nothing", src)
	}
	var u Use
	var d decoder
	u.decodeNode(&d, n)
	if len(d.errs) > 0 {
		return Use{}, fmt.Errorf("%q: %w", src, d.errs[0].Err)
	}
	u.line, u.lines = 0, nil
	return u, u.check()
}

// Pos returns "file:line" of u, or "" when it did not come from a file.
func (u Use) Pos() string {
	if u.line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", u.file, u.line)
}

func (u *Use) decodeNode(d *decoder, n *node) {
	u.file, u.line = d.file, n.line
	switch n.kind {
	case text:
		u.Kind = n.text
		return
	case mapping:
	default:
		d.fail(n.line, "%s is no name: write a kind, or {use: kind, option: value}", n.kind)
		return
	}
	if n.get("use") == nil {
		d.fail(n.line, "%s", withoutUse(n))
		return
	}
	for _, e := range n.keys {
		switch e.key {
		case "use":
			u.Kind = d.word(e)
		case "name":
			if u.Name = d.word(e); u.Name == "" && e.value.kind == text {
				d.fail(e.line, "name is empty: leave it out to get the kind")
			}
		default:
			if u.Options == nil {
				u.Options, u.lines = map[string]string{}, map[string]int{}
			}
			u.Options[e.key], u.lines[e.key] = e.value.flow(), e.line
		}
	}
}

func (d *decoder) word(e entry) string {
	d.want(e.value, text, e.key)
	return e.value.text
}

// withoutUse explains the form to one who wrote {vxlan: {vni: 7}}.
func withoutUse(n *node) string {
	if len(n.keys) == 1 && n.keys[0].value.kind != text {
		e := n.keys[0]
		form := (&node{kind: mapping, keys: append([]entry{{"use", 0, &node{kind: text, text: e.key}}}, e.value.keys...)}).flow()
		return fmt.Sprintf("a mapping without the key \"use\": write %s", form)
	}
	return "a mapping without the key \"use\": write {use: kind, option: value}"
}

// Decode sets the exported fields of *into from the options of u; what has no
// option keeps its value, so into comes with its defaults. A field's option is
// its yaml tag, or its name in lower case. An option that into has no field
// for, or a value that does not fit, is an *Error with the line in the file.
func (u Use) Decode(into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("%s: options go into a pointer to a struct, not into %T", u.Kind, into)
	}
	v = v.Elem()
	d := decoder{file: u.file}
	for _, key := range slices.Sorted(maps.Keys(u.Options)) {
		line := u.lines[key]
		f, ok := field(v, key)
		if !ok {
			d.fail(line, "%s", unknown(u.Kind, "option", key, fieldNames(v.Type())))
			continue
		}
		n, err := parseFlow(u.Options[key])
		if err != nil {
			d.fail(line, "%s: option %s: %w", u.Kind, key, err)
			continue
		}
		inner := decoder{}
		inner.decode(n, f, u.Kind+": "+key)
		for _, e := range inner.errs {
			d.fail(line, "%w", e.Err)
		}
	}
	return d.err()
}

// parseFlow reads a value that is on one line.
func parseFlow(s string) (*node, error) {
	// A list around it keeps the parser from seeing documents or comments.
	n, err := parse([]byte("[" + s + "]"))
	switch {
	case err != nil:
		return nil, err.Err
	case n == nil || n.kind != list || len(n.items) != 1 || strings.Contains(s, "\n"):
		return nil, fmt.Errorf("%q is not one YAML value on one line", s)
	}
	return n.items[0], nil
}

// maxName bounds names: they become parts of file names.
const maxName = 64

// check reports what is wrong with u itself.
func (u Use) check() error {
	var errs []error
	if err := checkName(u.Kind, ""); err != nil {
		errs = append(errs, fmt.Errorf("use: %w", err))
	}
	if u.Name != "" && u.Name != u.Kind {
		if err := checkName(u.Name, "#"); err != nil {
			errs = append(errs, fmt.Errorf("name: %w", err))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.Options)) {
		if _, err := parseFlow(u.Options[key]); err != nil {
			errs = append(errs, fmt.Errorf("option %s: %w", key, err))
		}
		if key == "use" || key == "name" {
			errs = append(errs, fmt.Errorf("%q cannot be an option", key))
		}
	}
	return errors.Join(errs...)
}

// checkName accepts letters, digits and - . _ + after a letter or digit, and
// what else more has.
func checkName(s, more string) error {
	if s == "" {
		return errors.New("the name is empty")
	}
	if len(s) > maxName {
		return fmt.Errorf("name %.20q… has %d bytes, more than %d", s, len(s), maxName)
	}
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("-._+"+more, r)) {
			return fmt.Errorf("name %q: a name is letters and digits, and - . _ + behind them", s)
		}
	}
	return nil
}
