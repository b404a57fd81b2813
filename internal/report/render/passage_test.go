package render

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/report/doc"
)

// A page shows of a long text what readers read at once, and the rest when they ask; in what they have opened, all of it.
func TestPassage(t *testing.T) {
	ten := "One two three (docs/x) five 1.5 six.seven eight nine ten."
	for text, first := range map[string]string{
		"":                                     "",
		strings.Repeat(ten+" ", 3) + ten:       strings.Repeat(ten+" ", 3) + ten,
		strings.Repeat(ten+" ", 4) + ten:       strings.Repeat(ten+" ", 3) + ten,
		strings.Repeat("x ", 45) + "x. " + ten: strings.Repeat("x ", 45) + "x.",
		strings.Repeat("x ", 45) + "x.":        strings.Repeat("x ", 45) + "x.",
		strings.Repeat("长", 70) + "。" + "短。长。":                        strings.Repeat("长", 70) + "。短。长。",
		strings.Repeat("长", 70) + "。" + strings.Repeat("短", 40) + "。": strings.Repeat("长", 70) + "。",
	} {
		got := passageOf(text, false)
		if got.First != first || strings.TrimSpace(got.First+" "+got.Rest) != strings.TrimSpace(text) && got.First+got.Rest != text {
			t.Errorf("%q\nshown  %q\nfolded %q\nwant   %q", text, got.First, got.Rest, first)
		}
		if all := passageOf(text, true); all.First != text || all.Rest != "" {
			t.Errorf("%q: folded where all is to be seen", text)
		}
	}
	text := strings.Repeat(ten+" ", 4) + "Last of <all>."
	page := func(s doc.Section) string {
		var b strings.Builder
		if err := HTML(&b, &doc.Document{Sections: []doc.Section{s}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const folded = `<details class="more"><summary>more</summary>`
	if s := page(doc.Section{ID: "x", Title: "x", About: text, Notes: []string{text}}); strings.Count(s, folded) != 2 || !strings.Contains(s, folded+"Last of &lt;all&gt;.</details></li>") {
		t.Errorf("the page folds %d texts, want 2:\n%s", strings.Count(s, folded), s)
	}
	for _, s := range []doc.Section{{ID: "x", Title: "x", About: text, Notes: []string{text}, Fold: true}, {ID: "x", Title: "x", Notes: []string{text}, Box: true}} {
		if strings.Contains(page(s), folded) {
			t.Errorf("%+v: a text is folded twice", s)
		}
	}
}
