package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/catalog"
)

const root = "../.."

var vague = []string{"util", "utils", "common", "helpers", "helper", "types", "base", "manager", "misc", "shared", "lib"}

// inits lists files that can have a function init: they lock the main thread (package netns).
var inits = []string{"bench/main.go", "cmd/weir/main.go", "internal/nstest/nstest.go"}

// maxLines is the limit on a file's length; long gives the reasons for longer files.
const maxLines = 350

var long = map[string]string{}

var notOurs = []string{".git", "bin", "dist", "weir-results", "node_modules"}

func files(t *testing.T, f func(name string, b []byte)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notOurs, base):
			return fs.SkipDir
		case base == ".git": // in a worktree it is a file
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err == nil && !bytes.ContainsRune(b, 0) {
			f(name, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// parsed are the Go files that an earlier test has read, by their names.
var parsed = map[string]*ast.File{}

func goFiles(t *testing.T, f func(name string, b []byte, file *ast.File)) {
	t.Helper()
	seen := 0
	files(t, func(name string, b []byte) {
		if path.Ext(name) != ".go" {
			return
		}
		seen++
		if parsed[name] == nil {
			file, err := parser.ParseFile(token.NewFileSet(), name, b, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed[name] = file
		}
		f(name, b, parsed[name])
	})
	if seen < 100 {
		t.Fatalf("only %d Go files below %s: the test searches the wrong directory", seen, root)
	}
}

func TestPackageNames(t *testing.T) {
	goFiles(t, func(name string, _ []byte, file *ast.File) {
		if slices.Contains(vague, strings.TrimSuffix(file.Name.Name, "_test")) || slices.Contains(vague, path.Base(path.Dir(name))) {
			t.Errorf("%s: package %s: the name does not state a purpose", name, file.Name.Name)
		}
	})
}

func TestNoInit(t *testing.T) {
	goFiles(t, func(name string, _ []byte, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && !slices.Contains(inits, name) {
				t.Errorf("%s has a function init; call it where it is needed instead", name)
			}
		}
	})
}

func TestFileLength(t *testing.T) {
	goFiles(t, func(name string, b []byte, _ *ast.File) {
		n, why := bytes.Count(b, []byte("\n")), long[name]
		switch {
		case n > maxLines && why == "":
			t.Errorf("%s has %d lines, more than %d: split it, or give the reason in long", name, n, maxLines)
		case n <= maxLines && why != "":
			t.Errorf("%s has %d lines; remove its reason from long", name, n)
		}
	})
}

// maxRoom is the limit on a package's lines without tests; large has packages that exceed it, and how long they may be.
const maxRoom = 6000

var large = map[string]int{"internal/report/section": 8700, "internal/probe": 7400, "internal/engine": 7200}

func TestPackageLength(t *testing.T) {
	lines := map[string]int{}
	goFiles(t, func(name string, b []byte, _ *ast.File) {
		if !strings.HasSuffix(name, "_test.go") {
			lines[path.Dir(name)] += bytes.Count(b, []byte("\n"))
		}
	})
	for dir, n := range lines {
		switch most, listed := large[dir]; {
		case n > max(most, maxRoom):
			t.Errorf("package %s has %d lines, more than %d: split it", dir, n, max(most, maxRoom))
		case n <= maxRoom && listed:
			t.Errorf("package %s has %d lines; remove it from large", dir, n)
		}
	}
}

// elsewhere matches paths that exist on one machine only: home directories and build directories.
var elsewhere = regexp.MustCompile(`(?:^|[\s"'(=:\x60])(/(?:home|Users|root|work|builds|workspace|usr/local/go|go/src|tmp/go-build)/\w[\w./-]*)`)

func TestNoMachine(t *testing.T) {
	files(t, func(name string, b []byte) {
		for i, line := range bytes.Split(b, []byte("\n")) {
			if m := elsewhere.FindSubmatch(line); m != nil {
				t.Errorf("%s:%d: %s is a path of one machine", name, i+1, m[1])
			}
		}
	})
}

// methods returns the exported types of a package that have all these methods, sorted.
func methods(t *testing.T, dir string, names ...string) (types []string) {
	t.Helper()
	have := map[string][]string{}
	goFiles(t, func(name string, _ []byte, file *ast.File) {
		if path.Dir(name) != dir || strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			recv := f.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			if id, ok := recv.(*ast.Ident); ok && id.IsExported() {
				have[id.Name] = append(have[id.Name], f.Name.Name)
			}
		}
	})
	for typ, ms := range have {
		if !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(ms, n) }) {
			types = append(types, typ)
		}
	}
	slices.Sort(types)
	return types
}

func typeName(v any) string { return reflect.TypeOf(v).Elem().Name() }

func TestNetworksAreListed(t *testing.T) {
	listed := map[string]bool{"Also": true} // the option also of every network
	for name, e := range catalog.Networks {
		listed[typeName(e.New())] = true
		if e.About == "" {
			t.Errorf("network %s has no description", name)
		}
		needFile(t, "network "+name, "internal/network/testdata/"+name+".*.golden")
	}
	need(t, methods(t, "internal/network", "Plan"), listed, "catalog.Networks")
}

// A probe is one file that describes, runs and parses its tool; one line of the catalog; and
// recorded output of the tool with its command lines.
func TestProbesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for name, fresh := range catalog.Probes {
		p := fresh()
		listed[typeName(p)] = true
		tool, measures := "native", name
		if tools := p.Info().Tools; len(tools) > 0 {
			tool = tools[len(tools)-1].Program
			if _, of, ok := strings.Cut(name, "-"); ok {
				measures = of // iperf2-tcp measures TCP with the tool iperf
			}
		}
		// VERSION-CASE.cmd, with a .out or .json of the same name.
		of := "internal/probe/testdata/" + tool + "/*-" + measures
		needFile(t, "probe "+name, of+".cmd")
		needFile(t, "probe "+name, of+".out", of+".json")
	}
	probes := methods(t, "internal/probe", "Commands", "Parse")
	need(t, probes, listed, "catalog.Probes")
	for _, p := range probes {
		if in := places(t, "internal/probe", p, "Info", "Commands"); len(in) != 1 {
			t.Errorf("probe %s is in %v: a probe is one file", p, in)
		}
	}
}

// places returns the files of a package that declare a type or these methods of it.
func places(t *testing.T, dir, typ string, methods ...string) []string {
	t.Helper()
	re := regexp.MustCompile(`(?m)^type ` + typ + ` struct|^func \((\w+ )?\*?` + typ + `\) (` + strings.Join(methods, "|") + `)\(`)
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		b, err := os.ReadFile(name)
		return err != nil || strings.HasSuffix(name, "_test.go") || !re.Match(b)
	})
}

// No package decides by the type of a probe: a probe describes itself.
func TestNoSwitchOnProbes(t *testing.T) {
	re := regexp.MustCompile(`case \*probe\.|\.\(\*probe\.|\bp := p\.\(type\)`)
	files(t, func(name string, b []byte) {
		if path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			if m := re.Find(b); m != nil {
				t.Errorf("%s has %q: let probe.Info say it", name, m)
			}
		}
	})
}

// What commands do has options in and an outcome out: the command line alone knows the terminal.
func TestJobsDoNotPrint(t *testing.T) {
	re, seen := regexp.MustCompile(`\bos\.Std(in|out|err)\b|\bfmt\.Print`), false
	goFiles(t, func(name string, b []byte, _ *ast.File) {
		if dir := path.Dir(name); dir != "internal/job" && dir != "internal/job/bisection" && dir != "internal/place" || strings.HasSuffix(name, "_test.go") {
			return
		}
		seen = true
		if m := re.Find(b); m != nil {
			t.Errorf("%s has %s: return it, or tell a lang.Teller", name, m)
		}
	})
	if !seen {
		t.Error("found no job: the test searches the wrong directory")
	}
}

func need(t *testing.T, types []string, listed map[string]bool, list string) {
	t.Helper()
	if len(types) == 0 {
		t.Fatal("found no type: the test searches the wrong directory")
	}
	for _, typ := range types {
		if !listed[typ] {
			t.Errorf("type %s is not in %s: add its line", typ, list)
		}
	}
}

func needFile(t *testing.T, what string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
	}
	t.Errorf("%s has no %s", what, strings.Join(patterns, " or "))
}

func TestRecordedOutputHasCommands(t *testing.T) {
	n := 0
	files(t, func(name string, _ []byte) {
		base, ext := path.Base(name), path.Ext(name)
		if ok, _ := path.Match("internal/probe/testdata/*/*", name); !ok || ext != ".out" && ext != ".json" {
			return
		}
		n++
		cmd := strings.TrimSuffix(strings.TrimSuffix(base, ext), ".server") + ".cmd"
		if _, err := os.Stat(filepath.Join(root, path.Dir(name), cmd)); err != nil {
			t.Errorf("%s cannot be recorded again: %v", name, err)
		}
	})
	if n == 0 {
		t.Error("found no recorded output: the test searches the wrong directory")
	}
}

var machine = regexp.MustCompile(`os\.DirFS\("/"\)|"/(?:proc|sys)(?:/|")`)

// acting are the packages that act on this machine or process. All others see machines through
// package target, so they work with any.
var acting = []string{"bench", "internal/cgroup", "internal/distance", "internal/engine/sock", "internal/foreign", "internal/hostns", "internal/netns",
	"internal/image", "internal/nstest", "internal/profile", "internal/rootless", "internal/session", "internal/store", "internal/target/lab", "internal/target/local", "internal/target/remote", "internal/target/targettest", "internal/target/vm"}

func TestMachinesAreReachedThroughTargets(t *testing.T) {
	seen := map[string]bool{}
	goFiles(t, func(name string, b []byte, _ *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for i, line := range bytes.Split(b, []byte("\n")) {
			code, _, _ := bytes.Cut(line, []byte("//"))
			if m := machine.Find(code); m == nil {
				continue
			} else if dir := path.Dir(name); !slices.Contains(acting, dir) {
				t.Errorf("%s:%d: %s is this machine's: ask a target.Host or target.Node", name, i+1, m)
			} else {
				seen[dir] = true
			}
		}
	})
	for _, dir := range acting {
		if _, err := os.Stat(filepath.Join(root, dir)); err == nil && !seen[dir] {
			t.Errorf("%s opens no file of this machine: take it from acting", dir)
		}
	}
}
