package study

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/strictyaml"
)

// A Use is a network or probe as a study names it.
type Use struct {
	Name string // unique among the networks, or the probes, of a study
	Kind string // its name in the catalog
	// Options holds the options by name, each value as YAML on one line.
	Options map[string]string

	file  string
	line  int
	lines map[string]int // of the options, and of the items of those that are lists
}

// ParseUse reads one Use from a command line: "host" or "{use: vxlan-overlay, vni: 7}". Its name is
// empty if src has none.
func ParseUse(src string) (Use, error) {
	n, err := strictyaml.Parse([]byte(src))
	switch {
	case err != nil:
		return Use{}, fmt.Errorf("%q: %w", src, err.Err)
	case n == nil:
		return Use{}, fmt.Errorf("%q is empty: write a kind, or {use: kind, option: value}", src)
	}
	var u Use
	var d strictyaml.Decoder
	u.DecodeNode(&d, n)
	if len(d.Errs) > 0 {
		return Use{}, fmt.Errorf("%q: %w", src, d.Errs[0].Err)
	}
	u.line, u.lines = 0, nil
	return u, u.check()
}

// Pos returns "file:line" of u, or "" if it is not from a file.
func (u Use) Pos() string {
	if u.line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", u.file, u.line)
}

func (u *Use) DecodeNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	u.file, u.line = d.File, n.Line
	switch n.Kind {
	case strictyaml.Text:
		u.Kind = n.Text
		return
	case strictyaml.Mapping:
	default:
		d.Fail(n.Line, "want a name, not %s: write a kind, or {use: kind, option: value}", n.Kind)
		return
	}
	if n.Get("use") == nil {
		d.Fail(n.Line, "%s", withoutUse(n))
		return
	}
	for _, e := range n.Keys {
		switch e.Key {
		case "use":
			u.Kind = word(d, e)
		case "name":
			if u.Name = word(d, e); u.Name == "" && e.Value.Kind == strictyaml.Text {
				d.Fail(e.Line, "name is empty: omit it to use the kind")
			}
		default:
			if u.Options == nil {
				u.Options, u.lines = map[string]string{}, map[string]int{}
			}
			u.Options[e.Key], u.lines[e.Key] = e.Value.Flow(), e.Line
			for i, item := range e.Value.Items {
				u.lines[itemKey(e.Key, i)] = item.Line
			}
		}
	}
}

func word(d *strictyaml.Decoder, e strictyaml.Entry) string {
	d.Want(e.Value, strictyaml.Text, e.Key)
	return e.Value.Text
}

// withoutUse explains the right form to the author of {vxlan: {vni: 7}}.
func withoutUse(n *strictyaml.Node) string {
	if len(n.Keys) == 1 && n.Keys[0].Value.Kind != strictyaml.Text {
		e := n.Keys[0]
		form := (&strictyaml.Node{Kind: strictyaml.Mapping, Keys: append([]strictyaml.Entry{{Key: "use", Value: strictyaml.NewText(e.Key)}}, e.Value.Keys...)}).Flow()
		return fmt.Sprintf("a mapping without the key \"use\": write %s", form)
	}
	return "a mapping without the key \"use\": write {use: kind, option: value}"
}

// Decode sets the exported fields of *into from the options of u; other fields keep their defaults.
// A field's option is its yaml tag, or its name in lower case. An unknown option or an invalid
// value is a *strictyaml.Error with its line.
func (u Use) Decode(into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("%s: cannot decode options into %T: want a pointer to a struct", u.Kind, into)
	}
	v = v.Elem()
	d := strictyaml.Decoder{File: u.file}
	for _, key := range slices.Sorted(maps.Keys(u.Options)) {
		d.Option(v, u.Kind, key, u.Options[key], u.lines[key])
	}
	return d.Err()
}

// maxName bounds names, which become parts of file names.
const maxName = 64

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
		if _, err := strictyaml.ParseFlow(u.Options[key]); err != nil {
			errs = append(errs, fmt.Errorf("option %s: %w", key, err))
		}
		if key == "use" || key == "name" {
			errs = append(errs, fmt.Errorf("%q cannot be an option", key))
		}
	}
	return errors.Join(errs...)
}

// checkName accepts letters, digits and, after the first character, - . _ + and those in more.
func checkName(s, more string) error {
	if s == "" {
		return errors.New("the name is empty")
	}
	if len(s) > maxName {
		return fmt.Errorf("name %.20q… has %d bytes: want at most %d", s, len(s), maxName)
	}
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("-._+"+more, r)) {
			return fmt.Errorf("invalid name %q: use letters and digits, and - . _ + after the first", s)
		}
	}
	return nil
}
