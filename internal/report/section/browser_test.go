package section

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/weir-bench/weir/internal/report/reporttest"
)

var (
	pageFile = flag.String("page", "", "file of a page to test, instead of the synthetic run's")
	pageDir  = flag.String("pages", "", "directory with pages of which to take pictures")
	pictures = flag.String("pictures", "", "directory for the pictures")
)

// A tab is a page in headless Chromium.
type tab struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string
	errors   []string
}

// A screen is what a reader reads a page on.
type screen struct {
	width, height int64
	scheme        string
}

func (s screen) String() string { return fmt.Sprintf("%d-%s", s.width, s.scheme) }

var screens = []screen{{1280, 1500, "light"}, {1280, 1500, "dark"}, {400, 1200, "light"}, {400, 1200, "dark"}}

// open opens a file in a browser of its own. It skips the test where there is none.
func open(t testing.TB, file string, s screen) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("no chromium: apt-get install chromium")
	}
	profile, err := os.MkdirTemp("", "weir-report-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(profile) }) // unlike that of t.TempDir, does not fail the test if the browser's last child still writes
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(profile), chromedp.Env("TMPDIR="+profile), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	x := &tab{TB: t, ctx: ctx}
	if err := chromedp.Listen(ctx, x.listen); err != nil {
		t.Fatal(err)
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}
	call(x, network.Enable, network.EnableParams{})
	call(x, runtime.Enable, cdp.Empty{})
	call(x, log.Enable, cdp.Empty{})
	call(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	call(x, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	x.do(chromedp.EmulateViewport(s.width, s.height))
	x.visit("file://" + file)
	return x
}

func (x *tab) listen(event any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		x.requests = append(x.requests, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			x.errors = append(x.errors, fmt.Sprintf("console: %s", a.Value))
		}
	case *runtime.EventExceptionThrown:
		x.errors = append(x.errors, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception.Description))
	case *log.EventEntryAdded:
		x.errors = append(x.errors, e.Entry.Text)
	}
}

func (x *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	x.Helper()
	if err := chromedp.Do(x.ctx, actions...); err != nil {
		x.Fatal(err)
	}
}

// call sends a command of the DevTools protocol.
func call[P, R any](x *tab, command cdp.Command[P, R], params P) {
	x.Helper()
	if _, err := chromedp.Call(x.ctx, command, params); err != nil {
		x.Fatal(err)
	}
}

// visit loads an address again even if only its hash differs.
func (x *tab) visit(address string) {
	x.Helper()
	x.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#filter")))
	x.js(`document.querySelectorAll('section > details.fold').forEach(d => d.open = true)`)
}

// eval returns the value of an expression.
func eval[T any](x *tab, expression string, args ...any) T {
	x.Helper()
	v, err := chromedp.Run(x.ctx, chromedp.Evaluate[T](fmt.Sprintf(expression, args...)))
	if err != nil {
		x.Fatalf("%s: %v", fmt.Sprintf(expression, args...), err)
	}
	return v
}

// js runs statements.
func (x *tab) js(statements string) {
	x.Helper()
	if _, err := chromedp.Run(x.ctx, chromedp.Evaluate[bool](statements+";\ntrue")); err != nil {
		x.Fatalf("%.200s: %v", statements, err)
	}
}

func (x *tab) click(selector string) {
	x.Helper()
	x.do(chromedp.Click(chromedp.CSS(selector)))
}

// until waits for a condition, which the page brings about by itself.
func (x *tab) until(expression string, args ...any) {
	x.Helper()
	if _, err := chromedp.Run(x.ctx, chromedp.Poll[any](fmt.Sprintf(expression, args...), chromedp.WithPollingTimeout(time.Minute))); err != nil {
		x.Fatalf("%s: %v", fmt.Sprintf(expression, args...), err)
	}
}

// quiet checks that the page has asked for nothing and complained about nothing.
func (x *tab) quiet() {
	x.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.requests {
		if !strings.HasPrefix(r, "file://") && !strings.HasPrefix(r, "blob:") && r != "about:blank" {
			x.Errorf("the page asked for %s", r)
		}
	}
	for _, e := range x.errors {
		x.Errorf("the browser complains: %s", e)
	}
}

// synthetic writes the page of the synthetic run.
func synthetic(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(write(t, writers["html"], reporttest.Run(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// axe returns the source of axe-core, which make test puts next to the other tools that no Debian package has.
func axe(t *testing.T) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "weir", "bin", "axe.js"))
	if err != nil {
		t.Skip("no axe-core: make axe")
	}
	return string(b)
}

// A page fits its screen, asks for nothing, and cuts neither a word nor an interval.
func TestScreens(t *testing.T) {
	for _, s := range screens {
		t.Run(s.String(), func(t *testing.T) {
			x := open(t, synthetic(t), s)
			if over := eval[int](x, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("the page is %d px wider than the screen", over)
			}
			if small := eval[string](x, `[...document.querySelectorAll('svg text')].filter(e => e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a < 10.95)
				.map(e => e.closest('figure').id + ': ' + e.textContent).join('\n')`); small != "" {
				t.Errorf("text below 11 px:\n%s", small)
			}
			if cut := eval[string](x, `[...document.querySelectorAll('table')].filter(e => e.getClientRects().length).flatMap(t => {
				const i = [...t.tHead.rows[0].cells].findIndex(c => c.textContent.startsWith('interval'));
				return i < 0 || i > 3 ? [] : [...t.tBodies[0].rows].map(r => r.cells[i]).filter(c => c.getBoundingClientRect().right > innerWidth + 0.5).map(c => t.id + ': ' + c.textContent);
				}).join('\n')`); cut != "" {
				t.Errorf("intervals beyond the edge:\n%s", cut)
			}
			x.quiet()
		})
	}
}

// axe finds nothing that matters on any screen.
func TestAccessible(t *testing.T) {
	source := axe(t)
	for _, s := range screens[1:3] { // a wide dark one and a narrow light one
		t.Run(s.String(), func(t *testing.T) {
			x := open(t, cmp.Or(*pageFile, synthetic(t)), s)
			x.js(`document.querySelectorAll('details').forEach(d => d.open = true)`)
			x.js(source)
			x.js(`axe.run().then(r => { window.found = r.violations.filter(v => ['serious', 'critical'].includes(v.impact))
				.map(v => v.id + ': ' + v.help + '\n' + v.nodes.slice(0, 4).map(n => '  ' + n.html.slice(0, 200) + '\n  ' + n.failureSummary).join('\n')).join('\n'); })`)
			x.until(`window.found !== undefined`)
			if found := eval[string](x, `found`); found != "" {
				t.Error(found)
			}
		})
	}
}

// TestPictures takes the pictures of the docs (make screenshots), of every page in the directory -pages. Without -pictures
// nobody keeps them.
func TestPictures(t *testing.T) {
	dir, pages := cmp.Or(*pictures, t.TempDir()), []string{cmp.Or(*pageFile, synthetic(t))}
	if *pageDir != "" {
		var err error
		if pages, err = filepath.Glob(filepath.Join(*pageDir, "*.html")); err != nil || pages == nil {
			t.Fatalf("no page in %s: %v", *pageDir, err)
		}
	}
	for _, page := range pages {
		file, err := filepath.Abs(page)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(page), ".html")
		for _, s := range screens {
			s.height = 1100
			shot, err := chromedp.Run(open(t, file, s).ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+s.String()+".png"), fewColors(t, shot), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fewColors makes a picture a third as large: each pixel has the nearest of the most frequent colors.
func fewColors(t *testing.T, file []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	area := from.Bounds()
	for y := range area.Dy() {
		for x := range area.Dx() {
			count[at(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	palette := color.Palette{}
	for _, c := range colors[:min(256, len(colors))] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range colors {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(area, palette)
	for y := range area.Dy() {
		for x := range area.Dx() {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
