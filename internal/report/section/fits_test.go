package section

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page of 1280 pixels shows whole tables, and says the answer before its first chart in few words.
func TestPageFits(t *testing.T) {
	x := open(t, cmp.Or(*pageFile, synthetic(t)), screen{1280, 1500, "light"})
	x.js(`document.querySelectorAll('details').forEach(d => d.open = false)`)
	two := eval[int](x, `(() => {
		let n = 0;
		for (let w = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), t = w.nextNode(); t; t = w.nextNode()) {
			const r = document.createRange();
			r.selectNode(t);
			const b = r.getBoundingClientRect();
			if (b.height && b.top < 1600 && t.parentElement.checkVisibility()) n += t.data.split(/\s+/).filter(Boolean).length;
		}
		return n; })()`)
	if t.Logf("%d words on two screens", two); two > 450 || two < 50 {
		t.Errorf("%d words on the first two screens of 800 px, want 50 to 450", two)
	}
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

// On a screen and on a phone, no text of a chart covers another; on a phone, the charts of the answer follow each other without
// a gap, and begin where its sentences do.
func TestChartsFit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(write(t, writers["html"], onPaths(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range []screen{screens[0], screens[2]} {
		t.Run(s.String(), func(t *testing.T) {
			x := open(t, cmp.Or(*pageFile, file), s)
			if over := eval[string](x, `[...document.querySelectorAll('svg')].filter(e => e.getClientRects().length).flatMap(svg => {
				const all = [...svg.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect(), e.closest('figure').id]);
				return all.flatMap(([a, r, id], i) => all.slice(0, i).filter(([, q]) => r.left + 1.5 < q.right && q.left + 1.5 < r.right && r.top + 4 < q.bottom && q.top + 4 < r.bottom).map(([b]) => id + ': ' + a + ' / ' + b));
				}).join('\n')`); over != "" {
				t.Errorf("texts cover each other:\n%s", over)
			}
			if s.width > 600 {
				return
			}
			if gap := eval[float64](x, `document.getElementById('ways').getBoundingClientRect().top - document.querySelector('#overview svg').getBoundingClientRect().bottom`); gap < 4 || gap > 20 {
				t.Errorf("%.1f px between the first chart and the second, want 4 to 20", gap)
			}
			if off := eval[float64](x, `document.querySelector('#overview figcaption').getBoundingClientRect().left - document.querySelector('#answer > .answers').getBoundingClientRect().left`); math.Abs(off) > 0.5 {
				t.Errorf("the first chart's caption begins %.1f px beside the sentences", off)
			}
		})
	}
}
