package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weir-bench/weir/internal/lang/langtest"
	"github.com/weir-bench/weir/internal/strictyaml"
)

func TestStored(t *testing.T) {
	for s, want := range map[string]string{
		"counters: /proc/net/snmp is missing":                                   "计数器：/proc/net/snmp is missing",
		"nothing arrived in the window: a stall lasted longer":                  "整个窗口内没有数据到达：停顿比窗口还长",
		"the idle use of h1 before this block is unknown: CPU times include it": "不知道本区组之前 h1 空闲时的使用量：CPU 时间包含它",
		"a sentence of another version":                                         "a sentence of another version",
	} {
		if got := Stored(s).In(Chinese); got != want {
			t.Errorf("%q in Chinese is %q, want %q", s, got, want)
		}
		if got := Stored(s).String(); got != s {
			t.Errorf("%q in English is %q", s, got)
		}
	}
	if got := Capital(T("%s in %s", "h1", "h2")).In(Chinese); got[0] != 'h' {
		t.Errorf("a name became %q", got)
	}
}

// A sentence that waits for its translation is English for readers, and marked for tests.
func TestWaiting(t *testing.T) {
	files := fstest.MapFS{"zh/x.yaml": {Data: []byte(`"%s of %d runs": TODO` + "\n" + `"throughput": 吞吐量` + "\n")}}
	text := T("%s of %d runs", T("throughput"), 5)
	for draft, want := range map[bool]string{false: "吞吐量 of 5 runs", true: "待译吞吐量 5"} {
		if got := text.In(made(catalog(files, "zh/*.yaml", draft))); got != want {
			t.Errorf("draft %v: %q, want %q", draft, got, want)
		}
	}
}

// The warnings that trials store are in the catalog.
func TestWarningsInChinese(t *testing.T) {
	names, err := filepath.Glob("../trial/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			if to, ok := call.Args[0].(*ast.SelectorExpr); !ok || to.Sel.Name != "Warnings" {
				return true
			}
			if format, ok := warning(call.Args[1]); ok {
				found++
				langtest.Need(t, *update, "words-warnings.yaml", name, format)
			}
			return true
		})
	}
	if found < 8 {
		t.Errorf("only %d warnings found: the test looks in the wrong place", found)
	}
}

// warning returns the format of a warning: a literal, the first argument of fmt.Sprintf, or a literal before a name.
func warning(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.CallExpr:
		if len(x.Args) > 0 {
			return literal(x.Args[0])
		}
	case *ast.BinaryExpr:
		if s, ok := literal(x.X); ok && strings.HasSuffix(s, ": ") {
			return s + "%s", true
		}
	}
	return literal(e)
}

// The questions of the shipped studies are in the catalog.
func TestQuestionsInChinese(t *testing.T) {
	names, err := filepath.Glob("../../studies/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no study found: %v", err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n, bad := strictyaml.Parse(src)
		if bad != nil {
			t.Fatal(bad)
		}
		if q := n.Get("question"); q == nil {
			t.Errorf("%s has no question", name)
		} else {
			langtest.Need(t, *update, "words-studies.yaml", name, q.Text)
		}
	}
}

// What weir doctor says of a machine is in the catalog: the details and remedies that the source has as sentences.
func TestChecksInChinese(t *testing.T) {
	found := 0
	for _, name := range []string{"../facts/check.go", "../target/vm/check.go", "../cli/doctor_machines.go", "../cli/history.go", "../cli/profile.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		say := func(key string, value ast.Expr) {
			format, ok := literal(value)
			if call, is := value.(*ast.CallExpr); is && len(call.Args) > 0 {
				format, ok = literal(call.Args[0])
			}
			if !ok || key != "Detail" && key != "Fix" || !strings.Contains(format, " ") || strings.HasPrefix(format, "sudo ") || strings.HasPrefix(format, "; ") || strings.Trim(format, "%svd:; ") == "" {
				return
			}
			found++
			langtest.Need(t, *update, "words-terminal.yaml", name, format)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					say(key.Name, n.Value)
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if to, ok := to.(*ast.SelectorExpr); ok && len(n.Rhs) == len(n.Lhs) {
						say(to.Sel.Name, n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	if found < 20 {
		t.Errorf("only %d sentences found: the test looks in the wrong place", found)
	}
}
