package study

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A decoder fills Go values from nodes and collects everything that is wrong,
// so that a file is repaired in one pass.
type decoder struct {
	file string
	errs []*Error
}

func (d *decoder) fail(line int, format string, args ...any) {
	d.errs = append(d.errs, &Error{d.file, line, fmt.Errorf(format, args...)})
}

// err returns all errors in the order of their lines.
func (d *decoder) err() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	var all []error
	for _, e := range d.errs {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Decode reads src, one YAML document, into the struct that into points to, as
// strictly as a study is read: a key must be a field's, and be there once. name is
// the file's name, and in every error. The error joins one *Error for everything
// that is wrong.
func Decode(src []byte, name string, into any) error {
	n, bad := parse(src)
	if bad != nil {
		bad.File = name
		return bad
	}
	if n == nil {
		return &Error{File: name, Err: errors.New("nothing in it")}
	}
	d := decoder{file: name}
	d.decode(n, reflect.ValueOf(into).Elem(), "the file")
	return d.err()
}

// A Place is where something stands in a file. As a field of a struct it is set
// to where its mapping begins; no key can set it.
type Place struct {
	File string
	Line int
}

// Errorf returns an *Error at p.
func (p Place) Errorf(format string, args ...any) *Error {
	return &Error{p.File, p.Line, fmt.Errorf(format, args...)}
}

var placeType = reflect.TypeFor[Place]()

// A type with a nodeDecoder reads more than one kind of node.
type nodeDecoder interface{ decodeNode(*decoder, *node) }

var durationType = reflect.TypeFor[time.Duration]()

// decode sets v, which is called what in errors.
func (d *decoder) decode(n *node, v reflect.Value, what string) {
	if nd, ok := v.Addr().Interface().(nodeDecoder); ok {
		nd.decodeNode(d, n)
		return
	}
	tu, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	if ok && !(v.Kind() == reflect.Slice && n.kind == list) { // a slice that reads text takes one value or a list
		if d.want(n, text, what) {
			if err := tu.UnmarshalText([]byte(n.text)); err != nil {
				d.fail(n.line, "%s: %w", what, err)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if d.want(n, mapping, what) {
			d.fields(n, v, what)
		}
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.decode(n, p.Elem(), what)
		v.Set(p)
	case reflect.Slice:
		if d.want(n, list, what) {
			s := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
			for i, it := range n.items {
				d.decode(it, s.Index(i), fmt.Sprintf("%s[%d]", what, i))
			}
			v.Set(s)
		}
	case reflect.Map:
		if d.want(n, mapping, what) {
			m := reflect.MakeMap(v.Type())
			for _, e := range n.keys {
				el := reflect.New(v.Type().Elem()).Elem()
				d.decode(e.value, el, what+"."+e.key)
				m.SetMapIndex(reflect.ValueOf(e.key).Convert(v.Type().Key()), el)
			}
			v.Set(m)
		}
	default:
		if d.want(n, text, what) {
			if err := scalar(n.text, v); err != nil {
				d.fail(n.line, "%s: %w", what, err)
			}
		}
	}
}

func (d *decoder) want(n *node, k kind, what string) bool {
	switch {
	case n.kind == k:
		return true
	case n.kind == null:
		d.fail(n.line, "%s has no value", what)
	case k == list:
		d.fail(n.line, "%s must be a list, as in [a, b], not %s", what, n.kind)
	case k == mapping:
		d.fail(n.line, "%s must be a mapping, as in {key: value}, not %s", what, n.kind)
	default:
		d.fail(n.line, "%s must be one value, not %s", what, n.kind)
	}
	return false
}

// fields decodes a mapping into a struct. Every key must be a field's.
func (d *decoder) fields(n *node, v reflect.Value, what string) {
	for i := range v.NumField() {
		if v.Type().Field(i).Type == placeType {
			v.Field(i).Set(reflect.ValueOf(Place{d.file, n.line}))
		}
	}
	for _, e := range n.keys {
		f, ok := field(v, e.key)
		if !ok {
			d.fail(e.line, "%s", unknown(what, "key", e.key, fieldNames(v.Type())))
			continue
		}
		d.decode(e.value, f, e.key)
	}
}

// field finds the exported field called key: by its yaml tag, or by its name in
// lower case. Fields of embedded structs count as fields of v.
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
	case !f.IsExported() || tag == "-" || f.Type == placeType || f.Anonymous && f.Type.Kind() == reflect.Struct:
		return "", false
	case tag != "":
		return tag, true
	}
	return strings.ToLower(f.Name), true
}

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

// unknown says that what has no such key or option (noun), and which one may
// have been meant.
func unknown(what, noun, key string, known []string) string {
	s := fmt.Sprintf("%s has no %s %q", what, noun, key)
	if len(known) == 0 {
		return s + ": it has none"
	}
	if c := closest(key, known); c != "" {
		s += fmt.Sprintf(": did you mean %q?", c)
	}
	return s + " (known: " + strings.Join(known, ", ") + ")"
}

// closest returns the word that is at most a third of its letters away from s, or "".
func closest(s string, words []string) string {
	best, at := "", math.MaxInt
	for _, w := range words {
		if n := distance(strings.ToLower(s), w); n < at && n <= max(1, len(w)/3) {
			best, at = w, n
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to get from a to b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > 2*len(b)+2 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// scalar sets a bool, number, duration or string from its text.
func scalar(s string, v reflect.Value) error {
	if v.Type() == durationType {
		x, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is no duration: write it as 150ms, 1s or 10m", s)
		}
		v.SetInt(int64(x))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		if s != "true" && s != "false" {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		v.SetBool(s == "true")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return integerError(s, err)
		}
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := strconv.ParseUint(s, 10, v.Type().Bits())
		if err != nil {
			return integerError(s, err)
		}
		v.SetUint(x)
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(s, v.Type().Bits())
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%q is no number", s)
		}
		v.SetFloat(x)
	default:
		return fmt.Errorf("a field of type %s cannot be set from text", v.Type())
	}
	return nil
}

func integerError(s string, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is out of range", s)
	}
	return fmt.Errorf("%q is no whole number that fits here", s)
}
