package cli

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"unicode"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/lang/langtest"
)

// inChinese sets the language of this process for a test.
func inChinese(t *testing.T) {
	language = lang.Chinese
	t.Cleanup(func() { language = nil })
}

// What `weir list` says about networks, probes, factors, studies and claims is in the catalog.
func TestListsInChinese(t *testing.T) {
	files := map[string]string{"studies": "words-studies.yaml", "claims": "words-claims.yaml", "figures": "words-figures.yaml"}
	for _, name := range catalog.Names(job.Lists) {
		items, err := job.Lists[name]()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			place, han := "list "+name+": "+i.Name, func(r rune) bool { return unicode.Is(unicode.Han, r) }
			if !strings.ContainsFunc(lang.Stored(i.About).In(lang.Draft), han) && langtest.Need(t, *update, cmp.Or(files[name], "words-terminal.yaml"), place, i.About) {
				t.Errorf("%s: no Chinese of %q", place, i.About)
			}
		}
	}
}

func TestColumnsAlignInChinese(t *testing.T) {
	inChinese(t)
	var b bytes.Buffer
	if err := printColumns(&b, [][]lang.Text{{lang.T("MISSING"), "lab", "x"}, {"ok", lang.Stored("user namespaces"), "y"}, {"", "", "→ z"}}); err != nil {
		t.Fatal(err)
	}
	at := map[int]bool{}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		at[lang.Columns(line[:strings.LastIndexAny(line, "xy→")])] = true
	}
	if len(at) != 1 {
		t.Errorf("the last column begins at %v:\n%s", at, b.String())
	}
}
