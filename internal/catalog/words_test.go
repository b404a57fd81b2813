package catalog

import (
	"testing"
	"unicode"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/lang/langtest"
)

// What a report says about weir's own probes is in the catalog of words. Tools of others keep their English remarks.
func TestProbesInChinese(t *testing.T) {
	for name, fresh := range Probes {
		i := fresh().Info()
		if len(i.Tools) > 0 {
			continue
		}
		for _, s := range []string{i.Title, i.Method, i.Measures, i.Differs} {
			if s != "" && langtest.Need(t, *update, "words-report.yaml", name, s) && !containsHan(lang.Stored(s).In(lang.Draft)) {
				t.Errorf("%s: no Chinese of %q", name, s)
			}
		}
	}
}

func containsHan(s string) bool {
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			return true
		}
	}
	return false
}
