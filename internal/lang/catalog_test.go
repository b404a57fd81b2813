package lang

import (
	"cmp"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang/langtest"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "write sentences that zh/*.yaml lacks, with TODO for their Chinese")

// fileOf is the file of the catalog for the sentences of a package; report.yaml if it has none.
var fileOf = map[string]string{"../cli": "cli.yaml", "../costmodel": "finding.yaml", "../explain": "finding.yaml", "../finding": "finding.yaml"}

// TestCatalogIsComplete compares the catalog with every call of lang.T, or of what passes formats on to it, in the source.
func TestCatalogIsComplete(t *testing.T) {
	used := map[string]string{} // formats and one of their places
	args := map[string]int{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "../lang/") {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !says(name, call.Fun) {
				return true
			}
			place := fset.Position(call.Pos()).String()
			format, ok := literal(call.Args[0])
			if !ok {
				if !forwards(call) {
					t.Errorf("%s: the format is not a constant: the catalog cannot have it", place)
				}
				return true
			}
			used[format] = place
			args[format] = len(call.Args) - 1
			if places := numbers(format, len(call.Args)-1); len(places) != len(call.Args)-1 {
				t.Errorf("%s: format %q uses %d of %d arguments", place, format, len(places), len(call.Args)-1)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(used) == 0 {
		t.Fatal("no call of lang.T found")
	}
	known := map[string]bool{}
	for _, d := range record.Quantities() { // whose Chinese the vocabulary has
		known[d.Word] = true
	}
	for _, e := range entries(t) {
		if known[e.Key] {
			t.Errorf("%q is in the catalog twice", e.Key)
		}
		known[e.Key] = true
		if used[e.Key] == "" && !strings.HasPrefix(e.file, "zh/words") {
			t.Errorf("the catalog has %q, which no code says: delete it", e.Key)
		}
		if n := args[e.Key]; e.Value.Text != todo && !slices.Equal(numbers(e.Key, n), numbers(e.Value.Text, n)) {
			t.Errorf("%q and its translation %q use different arguments", e.Key, e.Value.Text)
		}
		if e.Value.Text == "" && e.Key != " " {
			t.Errorf("%q has an empty translation: say it with fmt.Sprintf, or translate it", e.Key)
		}
	}
	for format, place := range used {
		file := cmp.Or(fileOf[filepath.Dir(place)], "report.yaml")
		langtest.Need(t, *update, file, place, format)
	}
}

// says reports whether a function that a file calls marks a sentence: lang.T, or what passes formats on to it.
func says(name string, f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && (x.Name == "lang" && f.Sel.Name == "T" || f.Sel.Name == "warn" && strings.HasPrefix(name, "../stat/"))
	case *ast.Ident:
		return f.Name == "say" && (strings.HasPrefix(name, "../report/") || strings.HasPrefix(name, "../figure/"))
	}
	return false
}

// forwards reports whether a call passes on what its function got, as a package's say does.
func forwards(call *ast.CallExpr) bool { return call.Ellipsis.IsValid() }

// literal returns the value of a string, or of strings joined by +.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, ok := literal(e.X)
		y, also := literal(e.Y)
		return x + y, ok && also && e.Op == token.ADD
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return "", false
}

// numbers are the arguments that a format uses, each once, in order.
func numbers(format string, args int) (out []int) {
	for _, v := range verbs(format, args) {
		out = append(out, v.arg)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// An entry is one of the catalog. Those of files of words translate data, which is looked up as it comes.
type entry struct {
	strictyaml.Entry
	file string
}

// entries are those of all files of the Chinese catalog, whose keys are sorted.
func entries(t *testing.T) (all []entry) {
	names, err := fs.Glob(files, "zh/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n, bad := strictyaml.Parse(src)
		if bad != nil {
			t.Fatalf("%s: %v", name, bad)
		}
		if n == nil {
			continue
		}
		if !slices.IsSortedFunc(n.Keys, func(a, b strictyaml.Entry) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("%s: keys are not sorted by their bytes", name)
		}
		for _, e := range n.Keys {
			all = append(all, entry{e, name})
		}
	}
	return all
}
