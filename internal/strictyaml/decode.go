// Package strictyaml decodes hand-written YAML strictly: every key must be known and unique, text
// is never converted (1.10 is not 1.1), and anchors and tags are errors. One pass reports every
// mistake with its line. It must not know what the files contain.
package strictyaml

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Decoder fills Go values from nodes and collects all mistakes.
type Decoder struct {
	File string // in every error; may be empty
	Errs []*Error
}

func (d *Decoder) Fail(line int, format string, args ...any) {
	d.Errs = append(d.Errs, &Error{d.File, line, fmt.Errorf(format, args...)})
}

// Err returns all errors, joined in the order of their lines, or nil.
func (d *Decoder) Err() error {
	slices.SortStableFunc(d.Errs, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	var all []error
	for _, e := range d.Errs {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Decode reads src, one YAML document, into the struct that into points to. Every key must name a
// field: its yaml tag, or its name in lower case. Fields without a key keep their values. name is
// the file's name in errors. The error joins one *Error per mistake.
func Decode(src []byte, name string, into any) error {
	n, bad := Parse(src)
	if bad != nil {
		bad.File = name
		return bad
	}
	if n == nil {
		return &Error{File: name, Err: errors.New("file is empty")}
	}
	d := Decoder{File: name}
	d.Decode(n, reflect.ValueOf(into).Elem(), "the file")
	return d.Err()
}

// A Position is a place in a file. Decode sets struct fields of this type to the start of the
// struct's mapping; no key can set them.
type Position struct {
	File string
	Line int
}

func (p Position) Errorf(format string, args ...any) *Error {
	return &Error{p.File, p.Line, fmt.Errorf(format, args...)}
}

var positionType = reflect.TypeFor[Position]()

// A NodeDecoder reads itself from any kind of node.
type NodeDecoder interface{ DecodeNode(*Decoder, *Node) }

// Decode sets v, which must be addressable. Errors call it what.
func (d *Decoder) Decode(n *Node, v reflect.Value, what string) {
	if nd, ok := v.Addr().Interface().(NodeDecoder); ok {
		nd.DecodeNode(d, n)
		return
	}
	tu, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	if ok && !(v.Kind() == reflect.Slice && n.Kind == List) { // a slice that reads text takes one value or a list
		if d.Want(n, Text, what) {
			if err := tu.UnmarshalText([]byte(n.Text)); err != nil {
				d.Fail(n.Line, "%s: %w", what, err)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if d.Want(n, Mapping, what) {
			d.fields(n, v, what)
		}
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.Decode(n, p.Elem(), what)
		v.Set(p)
	case reflect.Slice:
		if d.Want(n, List, what) {
			s := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
			for i, it := range n.Items {
				d.Decode(it, s.Index(i), fmt.Sprintf("%s[%d]", what, i))
			}
			v.Set(s)
		}
	case reflect.Map:
		if d.Want(n, Mapping, what) {
			m := reflect.MakeMap(v.Type())
			for _, e := range n.Keys {
				el := reflect.New(v.Type().Elem()).Elem()
				d.Decode(e.Value, el, what+"."+e.Key)
				m.SetMapIndex(reflect.ValueOf(e.Key).Convert(v.Type().Key()), el)
			}
			v.Set(m)
		}
	default:
		if d.Want(n, Text, what) {
			if err := scalar(n.Text, v); err != nil {
				d.Fail(n.Line, "%s: %w", what, err)
			}
		}
	}
}

// Want reports whether n is of kind k, and adds an error if not.
func (d *Decoder) Want(n *Node, k Kind, what string) bool {
	form := map[Kind]string{Text: "one value", List: "a list, as in [a, b]", Mapping: "a mapping, as in {key: value}"}
	switch n.Kind {
	case k:
		return true
	case Null:
		d.Fail(n.Line, "%s has no value", what)
	default:
		d.Fail(n.Line, "%s must be %s, not %s", what, form[k], n.Kind)
	}
	return false
}

func (d *Decoder) fields(n *Node, v reflect.Value, what string) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type == positionType {
			v.FieldByIndex(f.Index).Set(reflect.ValueOf(Position{d.File, n.Line}))
		}
	}
	for _, e := range n.Keys {
		f, ok := field(v, e.Key)
		if !ok {
			d.Fail(e.Line, "%s", unknown(what, "key", e.Key, fieldNames(v.Type())))
			continue
		}
		d.Decode(e.Value, f, e.Key)
	}
}

// field finds the exported field called key, by its yaml tag or its name in lower case, including
// fields of embedded structs.
func field(v reflect.Value, key string) (reflect.Value, bool) {
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name, ok := fieldName(f); ok && name == key {
			return v.FieldByIndex(f.Index), true
		}
	}
	return reflect.Value{}, false
}

func fieldName(f reflect.StructField) (string, bool) {
	tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	switch {
	case !f.IsExported() || tag == "-" || f.Type == positionType || f.Anonymous && f.Type.Kind() == reflect.Struct:
		return "", false
	case tag != "":
		return tag, true
	}
	return strings.ToLower(f.Name), true
}

// Keys returns the sorted keys of the struct that v points to.
func Keys(v any) []string { return fieldNames(reflect.TypeOf(v).Elem()) }

func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, ok := fieldName(f); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Unset reports whether the key of the struct that v points to holds an integer, time or text that is zero: as if
// it had not been set. A field tagged zero:"used" never does.
func Unset(v any, key string) bool {
	f, ok := field(reflect.ValueOf(v).Elem(), key)
	if !ok || !f.IsZero() || !f.CanInt() && !f.CanUint() && f.Kind() != reflect.String {
		return false
	}
	for _, one := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		if name, ok := fieldName(one); ok && name == key {
			return one.Tag.Get("zero") != "used"
		}
	}
	return false
}

// Option sets the field key of the struct v from value, which is YAML on one line. Errors are at
// line and call the struct what.
func (d *Decoder) Option(v reflect.Value, what, key, value string, line int) {
	f, ok := field(v, key)
	if !ok {
		d.Fail(line, "%s", unknown(what, "option", key, fieldNames(v.Type())))
		return
	}
	n, err := ParseFlow(value)
	if err != nil {
		d.Fail(line, "%s: option %s: %w", what, key, err)
		return
	}
	var inner Decoder
	inner.Decode(n, f, what+": "+key)
	for _, e := range inner.Errs {
		d.Fail(line, "%w", e.Err)
	}
}
