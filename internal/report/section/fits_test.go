package section

import (
	"cmp"
	"strings"
	"testing"
)

// A page of 1280 pixels shows whole tables, and says the answer before its first chart in few words.
func TestPageFits(t *testing.T) {
	x := open(t, cmp.Or(*pageFile, synthetic(t)), screen{1280, 1500, "light"})
	x.js(`document.querySelectorAll('details').forEach(d => d.open = true)`)
	if ids := eval[string](x, `[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.querySelector('table').id + ' ' + e.scrollWidth + ' > ' + e.clientWidth).join(', ')`); ids != "" {
		t.Errorf("tables that scroll sideways: %s", ids)
	}
	before := eval[string](x, `(() => { const r = document.createRange(); r.setStart(document.body, 0); r.setEndBefore(document.querySelector('svg')); return r.toString(); })()`)
	if n := len(strings.Fields(before)); n > 150 {
		t.Errorf("%d words before the first chart, want 150 at most: %s", n, before)
	}
	if wide := eval[int](x, `document.documentElement.scrollWidth`); wide > 1280 {
		t.Errorf("the page is %d pixels wide", wide)
	}
}
