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
	"github.com/weir-bench/weir/record"
)

func TestStored(t *testing.T) {
	for s, want := range map[string]string{
		"3 disturbed blocks will be measured again":                   "3 个受干扰的区组将重新测量",
		"2 of 5 agents do not run, and their nodes are left out (h1)": "5 个代理中有 2 个没有运行，略去其节点（h1）",
		"a sentence of another version":                               "a sentence of another version",
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

// The notes of trials are in the catalog, and nothing else is in their file.
func TestNotesInChinese(t *testing.T) {
	said := map[string]bool{}
	for code, format := range record.NoteFormats() {
		said[format] = true
		if code != record.NoteText {
			langtest.Need(t, *update, "words-warnings.yaml", string(code), format)
		}
	}
	for _, e := range entries(t) {
		if e.file == "zh/words-warnings.yaml" && !said[e.Key] {
			t.Errorf("%s has %q, which no note says: delete it", e.file, e.Key)
		}
	}
}

func TestNote(t *testing.T) {
	for want, n := range map[string]record.Note{
		"计数器：/proc/net/snmp is missing":    record.NoteCounters.With("/proc/net/snmp is missing"),
		"整个窗口内没有数据到达：停顿比窗口还长":              record.NoteSilent.With(),
		"不知道本区组之前 h1 空闲时的使用量：CPU 时间包含它":    record.NoteIdleUnknown.With("h1"),
		"said by 100 % of another program": record.NoteText.With("said by 100 % of another program"),
		"of-a-newer-version [%d h1]":       {Code: "of-a-newer-version", Args: []string{"%d", "h1"}},
	} {
		if got := Note(n).In(Chinese); got != want {
			t.Errorf("%s in Chinese is %q, want %q", n, got, want)
		}
		if got := Note(n).String(); got != n.String() {
			t.Errorf("%s in English is %q", n, got)
		}
	}
}

// A quantity has the words of the vocabulary.
func TestQuantity(t *testing.T) {
	if got := Quantity(record.RTT); got.String() != "response time" || got.In(Chinese) != "响应时间" {
		t.Errorf("%q", got)
	}
	if got := Quantity("of.another.program"); got.In(Chinese) != "of.another.program" {
		t.Errorf("%q", got)
	}
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
		if compared := n.Get("compare"); compared != nil {
			for _, c := range compared.Items {
				if text := c.Get("text"); text != nil && text.Text != "GRO" && text.Text != "bridge-nf" { // names
					langtest.Need(t, *update, "words-studies.yaml", name, text.Text)
				}
			}
		}
	}
}

// The sentence that says most itself is found, not one whose last word takes in the rest.
func TestStoredFindsTheClosest(t *testing.T) {
	for s, want := range map[string]string{
		"33 of 55 can run here": "55 个中有 33 个可在此运行",
		"to enable a, b:":       "启用 a, b：",
		"the kernel lacks CONFIG_X: load its module as root (modprobe x), or boot a kernel built with it, as weir run --in-vm does": "内核没有 CONFIG_X：以 root 身份加载其模块（modprobe x），或启动带有它的内核，例如用 weir run --in-vm",
		"the kernel lacks CONFIG_X": "内核没有 CONFIG_X",
		"a: not found: it is part of B (no package has it: build them, c.d/e)": "a：未找到：它属于 B（没有软件包：请自行构建，c.d/e）",
		"a: not found: it is part of B":                                        "a：未找到：它属于 B",
	} {
		if got := Stored(s).In(Chinese); got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
}

// What weir doctor says of a machine is in the catalog: the details and remedies that the source has as sentences.
func TestChecksInChinese(t *testing.T) {
	found := 0
	for _, name := range []string{"../facts/check.go", "../target/vm/check.go", "../job/doctor.go", "../job/doctor_machines.go"} {
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
