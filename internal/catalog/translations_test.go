package catalog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/strictyaml"
)

// A sayer translates a text of docs/networks.md: a paragraph, a cell or a format.
type sayer func(string) string

func english(s string) string { return s }

// paragraphs translates a text paragraph by paragraph, except indented code.
func (say sayer) paragraphs(text string) string {
	all := strings.Split(text, "\n\n")
	for i, p := range all {
		if words := strings.TrimSpace(p); words != "" && !strings.HasPrefix(p, "    ") {
			all[i] = strings.Replace(p, words, say(words), 1)
		}
	}
	return strings.Join(all, "\n\n")
}

// todo stands for a translation that somebody else will write; the page has the English text. `make check` refuses it.
const todo = "TODO"

// A translation is the Chinese of docs/networks.md.
type translation struct {
	t    *testing.T
	file string
	of   map[string]string // by the English text in one line
	used map[string]bool
}

func translations(t *testing.T) *translation {
	t.Helper()
	x := &translation{t, "testdata/networks.zh.yaml", map[string]string{}, map[string]bool{}}
	src, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		En string `yaml:"en"`
		Zh string `yaml:"zh"`
	}
	if err := strictyaml.Decode(src, x.file, &entries); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if x.of[e.En] != "" || e.Zh == "" {
			t.Errorf("%s has %q twice, or without a translation", x.file, e.En)
		}
		x.of[e.En] = e.Zh
	}
	return x
}

func (x *translation) say(s string) string {
	key := strings.Join(strings.Fields(s), " ")
	if key == "" {
		return s
	}
	zh := x.of[key]
	if zh == "" && *update {
		x.add(key)
		zh = todo
	} else if zh == "" && !x.used[key] {
		x.t.Errorf("%s lacks %q: add it, or run this test with -update, which adds %s; and delete the entry of the text that it replaces", x.file, key, todo)
	}
	x.used[key] = true
	if zh == todo {
		return s
	}
	return zh
}

// add writes an entry that waits for its translation.
func (x *translation) add(key string) {
	x.of[key] = todo
	f, err := os.OpenFile(x.file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(f, "- en: %q\n  zh: %s\n", key, todo)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// stale reports translations of texts that are gone.
func (x *translation) stale() {
	for key := range x.of {
		if !x.used[key] {
			x.t.Errorf("%s has %q, which the page no longer says: delete it", x.file, key)
		}
	}
}
