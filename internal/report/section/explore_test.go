package section

import (
	"bytes"
	"encoding/csv"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/weir-bench/weir/internal/report/reporttest"
)

// A reader explores a page with pointer and keyboard. Every test has the page to itself.

var wide = screen{1280, 1500, "light"}

// hover moves the pointer to the middle of the first element that an expression finds.
func (x *tab) hover(expression string) {
	x.Helper()
	at := eval[[]float64](x, `(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })(%s)`, expression)
	x.do(chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]))
}

const tipText = `document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent`

func TestPointer(t *testing.T) {
	x := open(t, synthetic(t), wide)
	x.hover(`document.querySelector('#probe-tcp-stream-ratio [data-n="2"] circle')`)
	x.until(`(%s).startsWith('vxlan-overlay: 0.6')`, tipText)
	if tip := eval[string](x, tipText); !strings.Contains(tip, "× [") {
		t.Errorf("the tooltip %q has no interval", tip)
	}
	at := eval[[]float64](x, `(p => { p.scrollIntoView({block: 'center'}); const on = p.getPointAtLength(p.getTotalLength() / 3).matrixTransform(p.getScreenCTM()); return [on.x, on.y]; })
		(document.querySelector('#probe-udp-rr-percentiles [data-n="1"] path'))`)
	x.do(chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]))
	x.until(`(%s).startsWith('bridge: ')`, tipText)
	if tip := eval[string](x, tipText); !strings.Contains(tip, " %: ") || !strings.Contains(tip, "µs") {
		t.Errorf("the tooltip %q has no share or unit", tip)
	}
	x.hover(`document.querySelector('h1')`)
	x.until(`(%s) === ''`, tipText)
	x.quiet()
}

func TestKeyboard(t *testing.T) {
	x := open(t, synthetic(t), wide)
	if n := eval[int](x, `document.querySelectorAll('#probe-tcp-stream-median [tabindex="0"]').length`); n != 1 {
		t.Errorf("a chart has %d stops of the tab key: want 1", n)
	}
	x.js(`document.querySelector('#probe-tcp-stream-median [data-k]').focus()`)
	x.until(`(%s).startsWith('host: ')`, tipText)
	x.do(chromedp.KeyEvent(kb.ArrowDown))
	x.until(`(%s).startsWith('bridge: ') && document.activeElement.getAttribute('aria-label').startsWith('bridge: ')`, tipText)
	x.do(chromedp.KeyEvent(kb.End))
	x.until(`(%s).startsWith('vxlan-overlay: ')`, tipText)
	x.do(chromedp.KeyEvent(kb.Escape))
	x.until(`(%s) === ''`, tipText)

	x.js(`document.querySelector('#probe-udp-stream-each [data-n="2"]').focus()`)
	x.until(`(%s).startsWith('vxlan-overlay: block 1: ')`, tipText)
	x.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	x.until(`(%s).startsWith('vxlan-overlay: block 3: ') && (%s).includes('invalid')`, tipText, tipText)
	x.quiet()
}

// Hidden networks leave tables and charts, whose rows close up; the address keeps the choice.
func TestFilter(t *testing.T) {
	x := open(t, synthetic(t), wide)
	high := eval[float64](x, `document.querySelector('#probe-tcp-stream-median svg').getBoundingClientRect().height`)
	x.click("#filter summary")
	x.click(`#filter input[name=n][value="1"]`)
	x.until(`location.hash.includes('n=bridge')`)
	const hidden = `![...document.querySelectorAll('main th, main figure text, section .answers li')].some(e => e.getClientRects().length && e.textContent.trim().startsWith('bridge'))`
	x.until(hidden)
	if now := eval[float64](x, `document.querySelector('#probe-tcp-stream-median svg').getBoundingClientRect().height`); now >= high {
		t.Errorf("the chart is %v px high, and was %v px with all networks", now, high)
	}
	x.click(`#filter input[name=p][value="0"]`)
	x.until(`!document.querySelector('#probe-tcp-stream').getClientRects().length && !document.querySelector('nav a').getClientRects().length`)
	x.click(`nav a[href="#method"]`) // also closes the menu
	x.until(`location.hash.includes('at=method') && location.hash.includes('n=bridge') && scrollY > 0`)
	x.visit(eval[string](x, `location.href`))
	x.until(hidden + ` && !document.querySelector('#probe-tcp-stream').getClientRects().length && scrollY > 0`)
	x.visit(strings.Split(eval[string](x, `location.href`), "#")[0])
	x.until(`[...document.querySelectorAll('th')].some(e => e.getClientRects().length && e.textContent.startsWith('bridge'))`)
	x.quiet()
}

const inColumn = `[...document.querySelectorAll('#probe-tcp-stream-2 tbody tr')].map(r => r.cells[%d].innerText).join()`

func TestSortAndCopy(t *testing.T) {
	x := open(t, synthetic(t), wide)
	x.js(`addEventListener('copy', () => { window.copied = document.activeElement.value; })`)
	before := eval[string](x, inColumn, 0)
	sort := `#probe-tcp-stream-2 th:nth-child(2) button`
	x.click(sort)
	x.until(inColumn+` === 'vxlan-overlay,bridge,host' && location.hash.includes('sort=probe-tcp-stream-2')`, 0)
	if s := eval[string](x, `document.querySelector('#probe-tcp-stream-2 th:nth-child(2)').ariaSort`); s != "ascending" {
		t.Errorf("sorted %s", s)
	}
	x.visit(eval[string](x, `location.href`))
	x.until(inColumn+` === 'vxlan-overlay,bridge,host'`, 0)
	x.js(`addEventListener('copy', () => { window.copied = document.activeElement.value; })`)
	x.hover(`document.querySelector('#probe-tcp-stream-2')`)
	x.click(`.tools:has(+ .scroll #probe-tcp-stream-2) button:nth-child(2)`)
	x.until(`window.copied`)
	rows, err := csv.NewReader(strings.NewReader(eval[string](x, `copied`))).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][1] != "throughput, Gbit/s" || rows[1][0] != "vxlan-overlay" || !strings.HasPrefix(rows[1][3], "[0.") {
		t.Errorf("%v: %v", err, rows)
	}
	x.js(`window.copied = ''`)
	x.click(`.tools:has(+ .scroll #probe-tcp-stream-2) button:nth-child(1)`)
	x.until(`window.copied`)
	lines := strings.Split(eval[string](x, `copied`), "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[0], "| network | throughput, Gbit/s | ÷ host |") || !strings.HasPrefix(lines[1], "| --- |") {
		t.Errorf("%q", lines)
	}
	x.click(sort)
	x.until(inColumn+` === 'host,bridge,vxlan-overlay'`, 0)
	x.click(sort)
	x.until(inColumn+` === %q && !location.hash.includes('sort')`, 0, before)
	x.quiet()
}

// Saved charts are whole files in the page's colors, without what is hidden.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	x := open(t, synthetic(t), screen{1280, 1500, "dark"})
	x.visit(eval[string](x, `location.href`) + "#n=bridge")
	done := make(chan string, 2)
	names := map[string]string{}
	if err := chromedp.Listen(x.ctx, func(event any) {
		switch e := event.(type) {
		case *browser.EventDownloadWillBegin:
			names[e.GUID] = e.SuggestedFilename
		case *browser.EventDownloadProgress:
			if e.State == browser.DownloadProgressStateCompleted {
				done <- names[e.GUID]
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	events := true
	call(x, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, EventsEnabled: &events})
	read := func(button, want string) []byte {
		x.hover(`document.querySelector('#probe-tcp-stream-median svg')`)
		x.click(button)
		select {
		case name := <-done:
			if name != want {
				t.Errorf("saved as %s: want %s", name, want)
			}
		case <-x.ctx.Done():
			t.Fatal("nothing was saved")
		}
		b, err := os.ReadFile(filepath.Join(dir, want))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	svg := string(read(`#probe-tcp-stream-median .tools button:nth-of-type(1)`, "probe-tcp-stream-median.svg"))
	if !strings.Contains(svg, "vxlan-overlay") || strings.Contains(svg, "bridge</text>") || !strings.Contains(svg, `fill="rgb(21, 24, 27)"`) {
		t.Errorf("not as the page shows it:\n%s", svg)
	}
	for _, bad := range []string{"var(", "<style", "currentColor", "color("} {
		if strings.Contains(svg, bad) {
			t.Errorf("%q in a file that every program shall draw:\n%s", bad, svg)
		}
	}
	picture, err := png.Decode(bytes.NewReader(read(`#probe-tcp-stream-median .tools button:nth-of-type(2)`, "probe-tcp-stream-median.png")))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := picture.At(3, 3).RGBA(); picture.Bounds().Dx() < 1000 || r>>8 != 0x15 || g>>8 != 0x18 || b>>8 != 0x1b {
		t.Errorf("%v, with a corner of %x %x %x", picture.Bounds(), r>>8, g>>8, b>>8)
	}
	x.quiet()
}

// The tail of a distribution fills the chart, with axes of its own.
func TestZoom(t *testing.T) {
	x := open(t, synthetic(t), wide)
	const line = `document.querySelector('#probe-udp-rr-percentiles [data-n="2"] path').getAttribute('d')`
	before := eval[string](x, line)
	const choose = `(v => { const s = document.querySelector('#probe-udp-rr-percentiles select'); s.value = v; s.dispatchEvent(new Event('change')); })(%q)`
	x.js(strings.ReplaceAll(choose, "%q", `"99-100"`))
	x.until(`location.hash.includes('zoom=probe-udp-rr-percentiles%%3A99-100')`)
	if after := eval[string](x, line); after == before || strings.Contains(after, "NaN") {
		t.Errorf("the line is %s, and was %s", after, before)
	}
	if first := eval[string](x, `[...document.querySelectorAll('#probe-udp-rr-percentiles [data-axes] text')].map(e => e.textContent).join()`); !strings.HasPrefix(first, "99 %,99.9") || strings.Contains(first, "NaN") {
		t.Errorf("the axes are %s", first)
	}
	x.js(`document.querySelector('#probe-udp-rr-percentiles [data-n="2"][data-k]').focus()`)
	x.until(`(%s).startsWith('vxlan-overlay: 99 %%: ')`, tipText)
	x.visit(eval[string](x, `location.href`))
	x.until(line+` !== %q`, before)
	x.js(strings.ReplaceAll(choose, "%q", `""`))
	x.until(line+` === %q && !location.hash.includes('zoom')`, before)
	x.quiet()
}

// An address that somebody has edited does no harm.
func TestHostileAddress(t *testing.T) {
	x := open(t, synthetic(t), wide)
	page := eval[string](x, `location.href`)
	for _, hash := range []string{"#%ff", "#at=%3Cb%3E&n=x&p=%00", "#sort=x&sort=:&sort=answer:1:1&sort=probe-tcp-stream-2:99:z", "#zoom=method:1-2&zoom=probe-udp-rr-percentiles:a-b&zoom=probe-tcp-stream-median:0-90", "#n=host&n=bridge&n=vxlan-overlay&p=tcp-stream&p=udp-rr"} {
		x.visit(page + hash)
	}
	x.quiet()
}

// Without a script, a page has everything but the tools: titles of marks, tables, and no empty control.
func TestWithoutScript(t *testing.T) {
	s := write(t, writers["html"], reporttest.Run(t))
	at := strings.Index(s, `<script type="application/json"`)
	if at < 0 {
		t.Fatal("no script")
	}
	for _, bad := range []string{"<button", "<select", "<input", "hidden", "display:none"} {
		if strings.Contains(s[strings.Index(s, "<body>"):at], bad) {
			t.Errorf("the page has %s, which needs its script", bad)
		}
	}
}
