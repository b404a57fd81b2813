package cli

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/bisect"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/report/render"
	"github.com/weir-bench/weir/record"
)

const module = "github.com/weir-bench/weir/"

// A generator makes a schema of Go types, as encoding/json writes them: comments become descriptions.
type generator struct {
	t      *testing.T
	strict bool           // refuse other keys
	defs   map[string]any // by type
	docs   map[string]string
	parsed map[string]bool // packages in docs
}

// schemaOf returns the schema of v. With strict, it refuses keys that v lacks.
func schemaOf(t *testing.T, name, title string, v any, strict bool) map[string]any {
	g := generator{t: t, strict: strict, defs: map[string]any{}, docs: map[string]string{}, parsed: map[string]bool{}}
	s := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": fmt.Sprintf("https://%sschema/%d/%s.json", module, version(v), name), "title": title}
	if all, ok := v.(oneOf); ok {
		var like []any
		for _, one := range all {
			like = append(like, g.of(reflect.TypeOf(one)))
		}
		s["anyOf"] = like
	} else {
		maps.Copy(s, g.of(reflect.TypeOf(v)))
	}
	s["$defs"] = g.defs
	return s
}

// formatVersions are the formats of documents that have one.
var formatVersions = map[string]int{"record.Result": record.Format, "report.Document": render.Format, "analysis.Comparison": analysis.ComparisonFormat, "bisect.Outcome": bisect.Format}

// version is the format of a document; 1 if it does not have one.
func version(v any) int {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return max(1, formatVersions[nameOf(t)])
}

// override returns the schema of a field whose Go type says less than is true; nil for others.
func (g *generator) override(typ, field string) map[string]any {
	if v, ok := formatVersions[typ]; ok && field == "Format" {
		return map[string]any{"const": v}
	}
	switch typ + "." + field {
	case "report.Document.Analysis":
		return map[string]any{"anyOf": []any{g.of(reflect.TypeFor[analysis.Run]()), g.of(reflect.TypeFor[analysis.Pooled]())}}
	case "report.Document.Findings":
		return nullable(g.of(reflect.TypeFor[[]finding.Finding]()))
	}
	return nil
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// of returns the schema of a value that is not null.
func (g *generator) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[analysis.Summary]():
		return g.summary(t)
	case t.Kind() == reflect.Pointer:
		return g.of(t.Elem())
	case reflect.PointerTo(t).Implements(marshaler):
		g.t.Fatalf("%v writes JSON of its own: add its schema", t)
	case reflect.PointerTo(t).Implements(textMarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return map[string]any{"type": "array", "items": g.element(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.element(t.Elem())}
	case reflect.Struct:
		return g.object(t)
	}
	g.t.Fatalf("%v cannot be JSON", t)
	return nil
}

// element returns the schema of an element, which is null if it is nil.
func (g *generator) element(t reflect.Type) map[string]any {
	if canBeNil(t) {
		return nullable(g.of(t))
	}
	return g.of(t)
}

func canBeNil(t reflect.Type) bool {
	return t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer
}

func nullable(s map[string]any) map[string]any {
	if kind, ok := s["type"].(string); ok {
		s = maps.Clone(s)
		s["type"] = []string{kind, "null"}
		return s
	}
	return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
}

// nameOf names a type in a schema by its package, or the room that its package is of: readers know documents as reports.
func nameOf(t reflect.Type) string {
	of := path.Base(t.PkgPath())
	if above := path.Dir(t.PkgPath()); path.Base(above) == "report" {
		of = "report"
	}
	return of + "." + t.Name()
}

// object returns a reference to a struct with a name, or the schema of one without.
func (g *generator) object(t reflect.Type) map[string]any {
	name := nameOf(t)
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if _, known := g.defs[name]; known && t.Name() != "" {
		return ref
	}
	s := map[string]any{"type": "object"}
	if t.Name() != "" {
		g.defs[name] = s // before the fields, which can have it again
	}
	properties, required := map[string]any{}, map[string]bool{}
	g.fields(t, properties, required)
	s["properties"] = properties
	if len(required) > 0 {
		s["required"] = slices.Sorted(maps.Keys(required))
	}
	if g.strict {
		s["additionalProperties"] = false
	}
	if t.Name() == "" {
		return s
	}
	if doc := g.doc(t, ""); doc != "" {
		s["description"] = doc
	}
	return ref
}

// fields adds the fields of a struct after those that it embeds, which it can hide.
func (g *generator) fields(t reflect.Type, properties map[string]any, required map[string]bool) {
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		if e := f.Type; f.Anonymous && tag == "" {
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			if e.Kind() == reflect.Struct {
				g.fields(e, properties, required)
			}
		}
	}
	for f := range t.Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || key == "-" || f.Anonymous && key == "" && f.Type.Kind() != reflect.Interface {
			continue
		}
		if key == "" {
			key = f.Name
		}
		s := g.override(nameOf(t), f.Name)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		switch {
		case s != nil:
		case canBeNil(f.Type) && !optional:
			s = nullable(g.of(f.Type))
		default:
			s = g.of(f.Type)
		}
		if doc := g.doc(t, f.Name); doc != "" {
			s = maps.Clone(s)
			s["description"] = doc
		}
		properties[key] = s
		delete(required, key)
		if !optional {
			required[key] = true
		}
	}
}

// summary is what analysis.Summary writes: numbers that cannot be told are left out.
func (g *generator) summary(t reflect.Type) map[string]any {
	const name = "analysis.Summary"
	if _, known := g.defs[name]; !known {
		number, text := map[string]any{"type": "number"}, map[string]any{"type": "string"}
		properties := map[string]any{"name": text, "unit": text, "median": number, "mean": number, "sd": number, "n": map[string]any{"type": "integer"}, "missing": text}
		g.fields(reflect.TypeFor[record.About](), properties, map[string]bool{})
		s := map[string]any{"type": "object", "description": g.doc(t, ""), "required": []string{"n", "name", "unit"}, "properties": properties}
		if g.strict {
			s["additionalProperties"] = false
		}
		g.defs[name] = s
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// doc returns the comment of a type or of one of its fields, "" for a package that is not ours.
func (g *generator) doc(t reflect.Type, field string) string {
	dir, ours := strings.CutPrefix(t.PkgPath(), module)
	if !ours {
		return ""
	}
	if !g.parsed[dir] {
		g.parsed[dir] = true
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			g.t.Fatalf("%s: no files: %v", dir, err)
		}
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				g.t.Fatal(err)
			}
			g.read(dir, tree)
		}
	}
	return g.docs[dir+"."+t.Name()+"."+field]
}

func (g *generator) read(dir string, tree *ast.File) {
	for _, d := range tree.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, spec := range decl.Specs {
			typ := spec.(*ast.TypeSpec)
			of := dir + "." + typ.Name.Name + "."
			g.docs[of] = words(typ.Doc)
			if g.docs[of] == "" && len(decl.Specs) == 1 {
				g.docs[of] = words(decl.Doc)
			}
			s, ok := typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					g.docs[of+name.Name] = strings.TrimSpace(words(f.Doc) + " " + words(f.Comment))
				}
			}
		}
	}
}

func words(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
