package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/cli"
)

// roff matches what roff(7) adds to text.
var roff = regexp.MustCompile(`(?m)^\.\S+ ?|\\f[A-Z]|\\&|\\$`)

func plain(text string) string {
	text = strings.NewReplacer(`\-`, "-", `\'`, "'", `\(aq`, "'", `\e`, `\`, `\~`, " ").Replace(roff.ReplaceAllString(text, ""))
	return strings.Join(strings.Fields(text), " ")
}

// Every command has a page with every word of its description and its examples: the pages pass through
// Markdown, which could take words for markup.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	if err := writeDocs("v1.2.3", dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, c := range append(cli.Command("v1.2.3").Commands(), cli.Command("v1.2.3")) {
		if c.Hidden {
			continue
		}
		pages++
		b, err := os.ReadFile(filepath.Join(dir, "man", strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		page := plain(string(b))
		for _, want := range []string{c.Short, c.Long, c.Example, "Jan 2026", "weir v1.2.3"} {
			if want = strings.Join(strings.Fields(want), " "); !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q:\n%s", c.CommandPath(), want, page)
			}
		}
	}
	if pages < 15 {
		t.Errorf("%d pages", pages)
	}
	for _, name := range []string{"weir.bash", "_weir", "weir.fish"} {
		if b, err := os.ReadFile(filepath.Join(dir, "completions", name)); err != nil || !strings.Contains(string(b), "__complete") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The list names this test's own modules, with checksums, and is the same every time.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := writeSBOM(b, "v1.2.3", self); err != nil {
			t.Fatal(err)
		}
	}
	var list bom
	if err := json.Unmarshal(first.Bytes(), &list); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("%v:\n%s", err, &first)
	}
	found := map[string]bool{}
	for _, c := range list.Components {
		found[c.Name] = c.Version != "" && strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") && (c.Name == "std" || strings.HasPrefix(c.Properties[0].Value, "h1:"))
	}
	if !found["std"] || !found["github.com/spf13/cobra"] || list.Metadata.Component.Version != "v1.2.3" || len(list.Dependencies[0].DependsOn) != len(list.Components) {
		t.Errorf("%s", &first)
	}
	if err := writeSBOM(&first, "v1.2.3", "main.go"); err == nil {
		t.Error("a text: no error")
	}
}
