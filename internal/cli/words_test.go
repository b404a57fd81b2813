package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/figure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/lang/langtest"
	"github.com/weir-bench/weir/internal/strictyaml"
	"github.com/weir-bench/weir/schema"
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
		if langtest.Need(t, *update, file, place, s) && lang.Stored(s).In(lang.Draft) == s {
			t.Errorf("%s: no Chinese of %q", place, s)
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

// namesInTables are cells of published tables that Chinese readers expect as they are.
var namesInTables = []string{
	"3.10.0-229.4.2.el7.x86_64", "100Mb/s", "4 Core x Intel(R) Core(TM) i5-3470 CPU @ 3.20GHz", "8G", "CPU", "CentOS Linux 7.1.1503 (Core)", "Dell OPTIPLEX 9010",
	"IPAM", "bridge", "calico", "flannel (host-gw)", "flannel (vxlan)", "macvlan (bridge)", "matrix", "no", "underlay", "veth", "yes",
}

// The texts of the shipped figures that people read are in the catalog, and no others.
func TestFiguresInChinese(t *testing.T) {
	shipped, err := figure.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	w := shippedWords{}
	for _, f := range shipped {
		w.add(f.ID, f.Source, f.Place, f.Caption, f.Question, f.Numbers, f.Note, f.Cannot, f.Study.Question)
		if strings.Trim(f.Section, "0123456789.") != "" {
			w.add(f.ID, f.Section)
		}
		if slices.ContainsFunc(strings.Split(f.Instead, "; "), func(s string) bool { return !strings.HasPrefix(s, "weir ") }) { // not only commands
			w.add(f.ID, f.Instead)
		}
		for _, pub := range f.Published {
			if pub.Thread != "" && pub.Thread != "ksoftirqd" {
				w.add(f.ID, pub.Thread)
			}
		}
		for _, cell := range slices.Concat(f.Table...) {
			if !slices.Contains(namesInTables, cell) {
				w.add(f.ID, cell)
			}
		}
	}
	w.translated(t, "words-figures.yaml")
}

// The titles of the schemas are in the catalog, and no others.
func TestSchemasInChinese(t *testing.T) {
	w := shippedWords{}
	for _, name := range schemaNames() {
		b, err := fs.ReadFile(schema.FS, name+".json")
		if err != nil {
			t.Fatal(err)
		}
		var s struct{ Title string }
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		w.add(name, s.Title)
	}
	w.translated(t, "words-schemas.yaml")
}
