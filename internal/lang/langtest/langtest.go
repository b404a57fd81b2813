// Package langtest lets the tests of every package ask for the Chinese of a sentence, and lets those who write no Chinese
// leave a TODO, which `make check` refuses. Only tests may import it.
package langtest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/record"
)

// Need reports whether the Chinese catalog has a sentence, whose place in the source helps to find it. If not, it fails the
// test, or with update writes the sentence into a file of the catalog, with TODO for its Chinese. The program knows the
// sentence once it is built again.
func Need(t testing.TB, update bool, file, place, sentence string) bool {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if known == nil {
		known = all(t)
	}
	switch {
	case known[sentence]:
		return true
	case update:
		insert(t, filepath.Join(dir(), file), sentence)
		known[sentence] = true
	default:
		t.Errorf("%s: internal/lang/zh/%s lacks %q: write its Chinese there, or run this test with -update, which writes TODO", place, file, sentence)
	}
	return false
}

var (
	mu    sync.Mutex
	known map[string]bool // sentences of all files, and words of the vocabulary
)

func all(t testing.TB) map[string]bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir(), "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no catalog in %s: %v", dir(), err)
	}
	out := map[string]bool{}
	for _, d := range record.Quantities() {
		out[d.Word] = true
	}
	for _, name := range names {
		_, keys := read(t, name)
		for _, e := range keys {
			out[e.Key] = true
		}
	}
	return out
}

// insert adds an entry to a file, whose lines are sorted by their keys.
func insert(t testing.TB, name, sentence string) {
	t.Helper()
	lines, keys := read(t, name)
	at := len(lines)
	if i := slices.IndexFunc(keys, func(e strictyaml.Entry) bool { return e.Key > sentence }); i >= 0 {
		at = keys[i].Line - 1
	}
	lines = slices.Insert(lines, at, strconv.Quote(sentence)+": TODO\n")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) (lines []string, keys []strictyaml.Entry) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n, bad := strictyaml.Parse(src)
	if bad != nil {
		t.Fatalf("%s: %v", name, bad)
	}
	return slices.Collect(strings.Lines(string(src))), n.Keys
}

// dir is internal/lang/zh, as seen from a package's tests.
func dir() string {
	const zh = "internal/lang/zh"
	for up := ""; len(up) < 60; up += "../" {
		if _, err := os.Stat(up + zh); err == nil {
			return up + zh
		}
	}
	return zh
}
