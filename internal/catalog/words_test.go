package catalog

import (
	"strings"
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

// Sentences name networks by nouns, which are short and different, and Chinese unless they are a product's name.
func TestNouns(t *testing.T) {
	of := map[string]string{}
	for name, n := range Networks {
		if n.Noun == "" || len(n.Noun) > 40 || of[n.Noun] != "" {
			t.Errorf("%s is %q in sentences, as %q: want a short noun of its own", name, n.Noun, of[n.Noun])
		}
		of[n.Noun] = name
		if strings.Contains(n.Noun, " ") && n.Noun != "Weave Net" {
			langtest.Need(t, *update, "words-terminal.yaml", name, n.Noun)
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
