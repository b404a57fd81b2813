package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	load "golang.org/x/tools/go/packages"
)

// What a trial measured and observed has a vocabulary in package record. Outside it, no code writes the ID of a
// quantity or the key of an observation as a literal, and none takes an ID apart: what a value is about is in its
// fields.
func TestVocabulary(t *testing.T) {
	all, err := load.Load(&load.Config{Dir: root, Mode: load.NeedName | load.NeedFiles | load.NeedSyntax |
		load.NeedTypes | load.NeedTypesInfo | load.NeedImports}, module+"...")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, p := range all {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		if p.PkgPath == module+"record" {
			continue
		}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				if bad := gluedName(p.TypesInfo, n); bad != "" {
					t.Errorf("%s: %s", p.Fset.Position(n.Pos()), bad)
				}
				return true
			})
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("checked %d files: the test looks in the wrong place", checked)
	}
}

// gluedName says what is wrong with a node, "" for nothing.
func gluedName(info *types.Info, n ast.Node) string {
	is := func(e ast.Expr, name string) bool {
		named, ok := types.Unalias(info.TypeOf(e)).(*types.Named)
		return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"record"
	}
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING && n.Value != `""` && (is(n, "Quantity") || is(n, "NoteCode")) {
			return n.Value + " is a literal: define it in package record, and use its variable"
		}
	case *ast.IndexExpr:
		if lit, ok := n.Index.(*ast.BasicLit); ok && is(n.X, "Observed") {
			return lit.Value + " is the key of an observation: define a Fact in package record"
		}
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		x, ok := f.X.(*ast.Ident)
		cuts := ok && slices.Contains([]string{"strings", "regexp", "path"}, x.Name) && f.Sel.Name != "Join"
		if cuts && slices.ContainsFunc(n.Args, func(arg ast.Expr) bool {
			c, ok := arg.(*ast.CallExpr)
			return ok && len(c.Args) == 1 && is(c.Args[0], "Quantity")
		}) {
			return "takes the ID of a quantity apart (" + strings.Join([]string{x.Name, f.Sel.Name}, ".") + "): put what it looks for into a field of About or Definition"
		}
	}
	return ""
}
