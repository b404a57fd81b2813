package archtest

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A worked example of CONTRIBUTING.md begins with its subject's name and ends with a line that
// lists every file that contains the name.
var (
	exampleHead  = regexp.MustCompile("(?m)^### [^\n]*: `(\\w+)`$")
	exampleFiles = regexp.MustCompile("(?m)^Files: (.*)$")
	exampleFile  = regexp.MustCompile("`([^`]+)`")
)

// The files that an example lists are the only Go files that know its subject: an
// addition of this kind costs no more than these. Tests do not count, except for the toy
// target, which lives in one.
func TestWorkedExamples(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	heads := exampleHead.FindAllSubmatchIndex(b, -1)
	if len(heads) != 6 {
		t.Fatalf("CONTRIBUTING.md has %d worked examples, want a network, a probe, a value, a target, a section and a finding", len(heads))
	}
	for i, h := range heads {
		name, end := string(b[h[2]:h[3]]), len(b)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		line := exampleFiles.FindSubmatch(b[h[1]:end])
		if line == nil {
			t.Errorf("%s: the example has no line \"Files:\"", name)
			continue
		}
		var listed, goListed []string
		for _, m := range exampleFile.FindAllSubmatch(line[1], -1) {
			listed = append(listed, string(m[1]))
		}
		for _, f := range listed {
			if found, _ := filepath.Glob(filepath.Join(root, f)); len(found) == 0 {
				t.Errorf("%s: %s does not exist", name, f)
			}
			if strings.HasSuffix(f, ".go") {
				goListed = append(goListed, f)
			}
		}
		slices.Sort(goListed)
		if have := mentions(t, name, goListed); !slices.Equal(have, goListed) {
			t.Errorf("%s stands in %v, and the example lists %v", name, have, goListed)
		}
	}
}

// mentions returns the Go files that use an identifier, sorted. Lower-case names are
// looked for in the packages of the listed files only.
func mentions(t *testing.T, name string, listed []string) (in []string) {
	goFiles(t, func(file string, _ []byte, tree *ast.File) {
		near := slices.ContainsFunc(listed, func(l string) bool { return path.Dir(l) == path.Dir(file) })
		if strings.HasSuffix(file, "_test.go") && !slices.Contains(listed, file) || !ast.IsExported(name) && !near || slices.Contains(in, file) {
			return
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				in = append(in, file)
				return false
			}
			return !slices.Contains(in, file)
		})
	})
	slices.Sort(in)
	return in
}
