package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The commands print no English sentence but through T. Errors and help are English, and `weir version`, which issues quote.
func TestCommandsPrintTexts(t *testing.T) {
	var names []string
	for _, room := range []string{"cli", "job", "place"} {
		files, err := filepath.Glob("../" + room + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, files...)
	}
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "../cli/version.go" {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !prints(call) {
				return true
			}
			found++
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if inner, ok := n.(*ast.CallExpr); ok && says(name, inner.Fun) {
						return false
					}
					lit, ok := n.(*ast.BasicLit)
					if !ok || lit.Kind != token.STRING {
						return true
					}
					if s, ok := literal(lit); ok && sentence(s) {
						t.Errorf("%s: %s is printed in English only: use lang.T", fset.Position(lit.Pos()), lit.Value)
					}
					return true
				})
			}
			return true
		})
	}
	if found < 100 {
		t.Errorf("only %d calls found that print: the test looks in the wrong place", found)
	}
	for s, want := range map[string]bool{"%d runs\n": true, "picture: %s": true, "weir: %s: %v\n": false, "\x1b[%dA": false, "\n%s\n  weir run %s -o after\n": false} {
		if sentence(s) != want {
			t.Errorf("sentence(%q) = %v", s, !want)
		}
	}
}

// prints reports whether a call prints what it gets, or keeps it to be printed.
func prints(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if f.Name == "append" {
			to, ok := call.Args[0].(*ast.SelectorExpr)
			return ok && slices.Contains([]string{"Problems", "Warnings"}, to.Sel.Name)
		}
		return slices.Contains([]string{"say", "warn", "note", "patiently"}, f.Name)
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		if ok && x.Name == "fmt" && strings.HasPrefix(f.Sel.Name, "Fprint") {
			to, ok := call.Args[0].(*ast.SelectorExpr)
			return !ok || to.Sel.Name != "log" // weir.log is English
		}
		return ok && (x.Name == "fmt" && strings.HasPrefix(f.Sel.Name, "Print") || x.Name == "lang" && f.Sel.Name == "Text") || slices.Contains([]string{"say", "Say", "Warn", "Note"}, f.Sel.Name)
	}
	return false
}

var (
	verbOrCommand = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]|(?m)^ *weir [a-z]+ .*$|^weir:`)
	wordOfText    = regexp.MustCompile(`[a-z]{3}`)
)

// sentence reports whether a format has words: "sampling" is one of a protocol.
func sentence(format string) bool {
	return format != "sampling" && wordOfText.MatchString(verbOrCommand.ReplaceAllString(format, ""))
}
