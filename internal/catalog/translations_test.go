package catalog

import (
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
	if zh == "" && !x.used[key] {
		x.t.Errorf("%s lacks %q: add it, and delete the entry of the text that it replaces", x.file, key)
	}
	x.used[key] = true
	return zh
}

// stale reports translations of texts that are gone.
func (x *translation) stale() {
	for key := range x.of {
		if !x.used[key] {
			x.t.Errorf("%s has %q, which the page no longer says: delete it", x.file, key)
		}
	}
}
