package render

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/doc"
)

// The first of each term has its meaning, words that contain it do not, and names stay text.
func TestGloss(t *testing.T) {
	for _, tc := range []struct {
		in    *lang.Language
		texts []string
		want  string
	}{
		{nil, []string{"unblocked, --blocks 9: 12 blocks & <b> of vxlan-overlay", "each block, a trial"}, "unblocked, --blocks 9: 12 [blocks] &amp; &lt;b&gt; of vxlan-overlay|each block, a [trial]"},
		{lang.Chinese, []string{"12 个区组", "一个区组"}, "12 个[区组]|一个区组"},
	} {
		v := &view{Document: &doc.Document{Lang: tc.in}}
		v.terms = v.findTerms()
		var got []string
		for _, text := range tc.texts {
			s := string(v.gloss(text))
			for {
				before, rest, found := strings.Cut(s, "<abbr title=\"")
				if !found {
					break
				}
				_, rest, _ = strings.Cut(rest, "\">")
				s = before + "[" + strings.Replace(rest, "</abbr>", "]", 1)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "|"); s != tc.want {
			t.Errorf("got %s, want %s", s, tc.want)
		}
	}
}
