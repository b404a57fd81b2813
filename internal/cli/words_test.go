package cli

import (
	"os"
	"testing"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// shippedWords are texts of the data that weir ships, by one of their places.
type shippedWords map[string]string

func (w shippedWords) add(place string, texts ...string) {
	for _, s := range texts {
		if s != "" {
			w[s] = place
		}
	}
}

// translated fails on a text without Chinese, and on an entry of the catalog's file whose text is not among them.
func (w shippedWords) translated(t *testing.T, file string) {
	t.Helper()
	if len(w) == 0 {
		t.Fatal("no text found")
	}
	for s, place := range w {
		if lang.Stored(s).In(lang.Chinese) == s {
			t.Errorf("%s: %s lacks %q", place, file, s)
		}
	}
	src, err := os.ReadFile("../lang/zh/" + file)
	if err != nil {
		t.Fatal(err)
	}
	n, bad := strictyaml.Parse(src)
	if bad != nil {
		t.Fatal(bad)
	}
	for _, e := range n.Keys {
		if w[e.Key] == "" {
			t.Errorf("%s has %q, which nothing says: delete it", file, e.Key)
		}
	}
}

// The texts of the shipped claims that people read are in the catalog, and no others.
func TestClaimsInChinese(t *testing.T) {
	shipped, err := claim.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	w := shippedWords{}
	for _, c := range shipped {
		w.add(c.ID, c.Text, c.Note, c.Study.Question)
	}
	w.translated(t, "words-claims.yaml")
}
