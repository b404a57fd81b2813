package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/chart"
)

// charts returns a file of each chart of package chart, by name, and one with several panes.
func charts(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../chart/testdata/*.svg")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d charts, %v", len(files), err)
	}
	out := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		svg := string(b)
		if !strings.Contains(svg, "<style>") {
			svg = chart.Standalone(svg)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".svg")] = svg
	}
	return out
}

// The PNG of every chart decodes, is twice as large as the drawing, and has ink where the SVG has text.
func TestPNG(t *testing.T) {
	for name, svg := range charts(t) {
		d, err := read(svg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		im := rendered(t, svg)
		if want := (image.Point{int(math.Ceil(2 * d.width)), int(math.Ceil(2 * d.height))}); im.Bounds().Size() != want {
			t.Errorf("%s: size %v, want %v", name, im.Bounds().Size(), want)
		}
		texts := 0
		for _, s := range d.shapes {
			if strings.TrimSpace(s.text) == "" || s.inside().A == 0 {
				continue
			}
			texts++
			if s.size < 11 {
				t.Errorf("%s: %q has size %g, want 11 or more", name, s.text, s.size)
			}
			if !inked(im, s) {
				t.Errorf("%s: nothing is drawn where the SVG has %q", name, s.text)
			}
		}
		if texts == 0 {
			t.Errorf("%s: no text", name)
		}
	}
}

func rendered(t testing.TB, svg string) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := PNG(&b, svg); err != nil {
		t.Fatal(err)
	}
	im, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// inked reports whether pixels above the baseline at a text's anchor differ from each other.
func inked(im image.Image, s shape) bool {
	x, y := int(2*s.at.x), int(2*s.at.y)
	from, to := x, x+int(2*s.size)
	switch s.anchor {
	case "end":
		from, to = x-int(2*s.size), x
	case "middle":
		from, to = x-int(s.size), x+int(s.size)
	}
	colors := map[color.Color]bool{}
	for py := y - int(1.5*s.size); py < y; py++ {
		for px := from; px < to; px++ {
			if (image.Point{px, py}).In(im.Bounds()) {
				colors[im.At(px, py)] = true
			}
		}
	}
	return len(colors) > 3 // shades of letters; a line behind them has fewer
}

// The pixels of simple shapes.
func TestShapes(t *testing.T) {
	svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -20 100 100">
<style>
svg .l{fill:none;stroke:currentColor}
svg .red,svg .also{color:var(--x,#f00)}
svg .p{fill:none;stroke:currentColor;stroke-linecap:round}
</style>
<rect x="-10%" y="-20%" width="100%" height="100%" fill="#ffffff"/>
<g style="fill:#0000ff"><rect x="0" y="0" width="10" height="10"><title>not drawn</title></rect></g>
<g class="l red"><path d="M20,5H40" stroke-width="4"/></g>
<path class="l red" d="M20,15H60" stroke-width="4" stroke-dasharray="10 5"/>
<circle cx="70" cy="5" r="5" style="fill:color-mix(in srgb,#000000 25%,var(--g,#ffffff))"/>
<path class="l also" d="M0,30L10,20L20,30" stroke-width="4"/>
<path class="p red" d="M40,30L40,30" stroke-width="8"/>
<rect x="60" y="20" width="10" height="10" style="fill:#000000;fill-opacity:0.5"/>
<svg x="0" y="40" width="20" height="20" viewBox="0 0 10 10"><rect x="2.5" y="2.5" width="5" height="5" fill="#00ff00"/>
<path d="M0,9H10" stroke="#ff0000" stroke-width="1"/></svg>
<path d="M60,40H80V60H60Z" fill="none" stroke="#ff0000" stroke-width="2"/>
<path d="M40,40L50,50L40,60L30,50ZM40,40Z" fill="none" stroke="none"/>
</svg>`
	im := rendered(t, svg)
	for _, c := range []struct {
		what string
		x, y float64
		want color.NRGBA
	}{
		{"background", -9, -19, color.NRGBA{255, 255, 255, 255}},
		{"inside a rectangle", 5, 5, color.NRGBA{0, 0, 255, 255}},
		{"just inside its corner", 9.8, 9.8, color.NRGBA{0, 0, 255, 255}},
		{"just outside", 10.3, 5, color.NRGBA{255, 255, 255, 255}},
		{"on a line", 30, 6.8, color.NRGBA{255, 0, 0, 255}},
		{"beside it", 30, 7.3, color.NRGBA{255, 255, 255, 255}},
		{"before its end, which has no cap", 19.7, 5, color.NRGBA{255, 255, 255, 255}},
		{"on a dash", 25, 15, color.NRGBA{255, 0, 0, 255}},
		{"in a gap", 32, 15, color.NRGBA{255, 255, 255, 255}},
		{"on the second dash", 37, 15, color.NRGBA{255, 0, 0, 255}},
		{"in a circle, mixed", 72, 7, color.NRGBA{191, 191, 191, 255}},
		{"outside its corner", 74.5, 9.5, color.NRGBA{255, 255, 255, 255}},
		{"the tip of a miter", 10, 18, color.NRGBA{255, 0, 0, 255}},
		{"above the tip", 10, 16.5, color.NRGBA{255, 255, 255, 255}},
		{"a point of no length", 43, 30, color.NRGBA{255, 0, 0, 255}},
		{"half opaque", 65, 25, color.NRGBA{127, 127, 127, 255}},
		{"in a nested drawing", 10, 50, color.NRGBA{0, 255, 0, 255}},
		{"in its corner", 5.3, 45.3, color.NRGBA{0, 255, 0, 255}},
		{"on its scaled line", 10, 57.2, color.NRGBA{255, 0, 0, 255}},
		{"beside its scaled line", 10, 59.2, color.NRGBA{255, 255, 255, 255}},
		{"the corner of a frame", 59.3, 39.3, color.NRGBA{255, 0, 0, 255}},
		{"inside the frame", 70, 50, color.NRGBA{255, 255, 255, 255}},
	} {
		r, g, b, _ := im.At(int(math.Floor(2*(c.x+10))), int(math.Floor(2*(c.y+20)))).RGBA()
		got := [3]int{int(r >> 8), int(g >> 8), int(b >> 8)}
		for i, want := range []uint8{c.want.R, c.want.G, c.want.B} {
			if d := got[i] - int(want); d < -2 || d > 2 {
				t.Errorf("%s at %g,%g: color %v, want %v", c.what, c.x, c.y, got, c.want)
				break
			}
		}
	}
}

// What a picture would lack is an error, also where it is not yet known.
func TestErrors(t *testing.T) {
	in := func(s string) string {
		return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">` + s + `</svg>`
	}
	for _, c := range []struct{ svg, want string }{
		{"", "no <svg>"},
		{"<p/>", "unknown element"},
		{"<g/>", "no <svg>"},
		{in("<rect"), "cannot read"},
		{in("<polygon/>"), "<polygon>: unknown element"},
		{in(`<g transform="scale(2)"/>`), "unknown attribute transform"},
		{in(`<rect x="1" rx="2"/>`), "unknown attribute rx"},
		{in(`<rect x="one"/>`), `invalid x "one"`},
		{in(`<circle r="NaN"/>`), `invalid r "NaN"`},
		{in(`<path d="M1,2C1,2,3,4,5,6"/>`), `invalid number "2C1"`},
		{in(`<path d="M1,2,3,4"/>`), "cannot draw command M with 4 numbers"},
		{in(`<path d="M1,2C1"/>`), "invalid number"},
		{in(`<path d="L1,2"/>`), "cannot draw command L"},
		{in(`<path d="M1,2Q"/>`), "invalid number"},
		{in(`<g style="fill:red"/>`), `unknown color "red"`},
		{in(`<g style="fill:var(--x)"/>`), "unknown color"},
		{in(`<g style="fill:color-mix(in srgb,#000000,#ffffff)"/>`), "unknown mix"},
		{in(`<g style="opacity:0.5"/>`), "unknown property opacity"},
		{in(`<g fill-opacity="2"/>`), "want a number from 0 to 1"},
		{in(`<g stroke-dasharray="0 3"/>`), "invalid stroke-dasharray"},
		{in(`<g stroke-dasharray="3"/>`), "want pairs"},
		{in(`<g font-size="1000"/>`), "invalid font-size"},
		{in(`<style>svg .a:hover{fill:none}</style>`), "unknown rule"},
		{in(`<style>.a{fill:none}</style>`), "unknown rule"},
		{in(`<svg width="20" height="10" viewBox="0 0 10 10"/>`), "is distorted"},
		{in(`<svg viewBox="0 0 10 10"/>`), "is distorted"},
		{`<svg viewBox="0 0 10"/>`, "invalid viewBox"},
		{`<svg viewBox="0 0 19000 19000"/>`, "invalid viewBox"},
	} {
		if _, err := read(c.svg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.svg, err, c.want)
		}
		if err := PNG(new(bytes.Buffer), c.svg); err == nil {
			t.Errorf("%s: a PNG without an error", c.svg)
		}
		if err := PDF(new(bytes.Buffer), c.svg, ""); err == nil {
			t.Errorf("%s: a PDF without an error", c.svg)
		}
	}
}

// Characters that the font lacks become boxes, and are named.
func TestMissing(t *testing.T) {
	svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 40"><text x="4" y="20">µ ÷ × → − ≠ … ◆ ◇ ■ ♥ 网络网` + "\U00010000" + `</text></svg>`
	missing, err := Missing(svg)
	if err != nil || missing != "络网\U00010000" {
		t.Errorf("missing %q, %v", missing, err)
	}
	if err := PNG(new(bytes.Buffer), svg); err != nil {
		t.Error(err)
	}
	if err := PDF(new(bytes.Buffer), svg, "网络\U00010000"); err != nil {
		t.Error(err)
	}
}

// poppler runs a program of poppler-utils, a reader of PDF that shares nothing with this package.
func poppler(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is missing: install poppler-utils", name)
	}
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// Another program reads the PDF of every chart: its size, its title, all its texts, and, drawn by that
// program, pixels like those of the PNG.
func TestPDF(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	space := regexp.MustCompile(`\s+`)
	for name, svg := range charts(t) {
		var b bytes.Buffer
		if err := PDF(&b, svg, "A (title) of "+name); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var again bytes.Buffer
		if err := PDF(&again, svg, "A (title) of "+name); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: other bytes the second time, %v", name, err)
		}
		file := filepath.Join(t.TempDir(), "chart")
		if err := os.WriteFile(file+".pdf", b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if name == "sheet" {
			info := string(poppler(t, "pdfinfo", file+".pdf"))
			if !strings.Contains(info, "A (title) of "+name) || !regexp.MustCompile(`Pages: +1\n`).MatchString(info) || !strings.Contains(info, "Page size:       488 x ") {
				t.Errorf("%s: pdfinfo says\n%s", name, info)
			}
		}
		text := space.ReplaceAllString(string(poppler(t, "pdftotext", "-raw", file+".pdf", "-")), "")
		d, err := read(svg)
		if err != nil {
			t.Fatal(err)
		}
		f, err := regular()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.shapes {
			if want, _ := legible(f, s.text); !strings.Contains(text, space.ReplaceAllString(want, "")) {
				t.Errorf("%s: pdftotext does not find %q", name, want)
			}
		}
		if !slices.Contains([]string{"sheet", "over", "heat", "trials", "runs", "flame"}, name) { // drawing takes time
			continue
		}
		poppler(t, "pdftoppm", "-r", "144", "-png", "-singlefile", file+".pdf", file)
		drawn, err := os.Open(file + ".png")
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := png.Decode(drawn)
		drawn.Close()
		if err != nil {
			t.Fatal(err)
		}
		if off := difference(rendered(t, svg), theirs); off > 0.02 {
			t.Errorf("%s: the PDF differs from the PNG by %.1f %% on average", name, 100*off)
		}
	}
}

// difference returns the mean difference of two images' pixels in gray, 0 to 1, over what both have.
func difference(a, b image.Image) float64 {
	box := a.Bounds().Intersect(b.Bounds())
	if d := a.Bounds().Size().Sub(b.Bounds().Size()); d.X*d.X > 4 || d.Y*d.Y > 4 {
		return 1
	}
	sum := 0.0
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			p, q := color.GrayModel.Convert(a.At(x, y)).(color.Gray), color.GrayModel.Convert(b.At(x, y)).(color.Gray)
			sum += math.Abs(float64(p.Y)-float64(q.Y)) / 255
		}
	}
	return sum / float64(box.Dx()*box.Dy())
}

// Any text is a drawing or an error.
func FuzzRead(f *testing.F) {
	for _, svg := range charts(f) {
		if len(svg) < 6000 {
			f.Add(svg)
		}
	}
	f.Fuzz(func(t *testing.T, svg string) {
		d, err := read(svg)
		if err != nil || d.width*d.height > 2e4 || len(d.shapes) > 50 {
			return
		}
		if err := PNG(new(bytes.Buffer), svg); err != nil {
			t.Error(err)
		}
	})
}
