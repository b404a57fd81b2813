package catalog

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type docs struct {
	types  map[string]string // by type
	fields map[string]string // by type and YAML key, "IPvlan.mode"
}

func typeDocs(t *testing.T, pkg string) docs {
	t.Helper()
	files, err := fs.Glob(os.DirFS(pkg), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	says := docs{map[string]string{}, map[string]string{}}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), pkg+"/"+name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				spec := g.Specs[0].(*ast.TypeSpec)
				says.types[spec.Name.Name] = g.Doc.Text()
				says.add(spec)
			}
		}
	}
	return says
}

var yamlKey = regexp.MustCompile(`yaml:"([\w-]+)"`)

func (d docs) add(spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		if key := yamlKey.FindStringSubmatch(f.Tag.Value); key != nil {
			d.fields[spec.Name.Name+"."+key[1]] = strings.Join(strings.Fields(cmp.Or(f.Comment.Text(), f.Doc.Text())), " ")
		}
	}
}

// products are type names that are also product names.
var products = []string{"Bridge", "CNI", "Canal", "Host", "IPIP", "OVS", "Relay", "Terway", "VXLAN", "Via", "Weave", "WireGuard"}

// about returns the comment on a network's type, with the names that users know.
func (d docs) about(say sayer, name string) string {
	own := reflect.TypeOf(Networks[name].New()).Elem().Name()
	text := strings.Replace(say.paragraphs(d.types[own]), own+" ", name+" ", 1) // it begins with it
	for _, other := range Names(Networks) {
		typ := reflect.TypeOf(Networks[other].New()).Elem().Name()
		if !slices.Contains(products, typ) {
			text = regexp.MustCompile(`\b`+typ+`\b`).ReplaceAllString(text, other)
		}
	}
	return text
}

func (d docs) option(say sayer, n Network, key string) string {
	v := reflect.ValueOf(n.New()).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if m := yamlKey.FindStringSubmatch(string(f.Tag)); m == nil || m[1] != key {
			continue
		}
		owner := v.Type()
		if len(f.Index) > 1 { // an embedded struct
			owner = owner.Field(f.Index[0]).Type
		}
		says := say(d.fields[owner.Name()+"."+key])
		if now := v.FieldByIndex(f.Index); !now.IsZero() {
			says += fmt.Sprintf(say("; default %v"), now.Interface())
		}
		return says
	}
	return ""
}
