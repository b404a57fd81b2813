package chart

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// sheets returns every chart as a file.
func sheets(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	all := maps.Clone(charts)
	maps.Copy(all, publishedCharts)
	for name, c := range all {
		svg, err := c.SVG()
		if _, whole := c.(Sheet); !whole && err == nil {
			svg, err = Sheet{Title: "Title", Subtitle: "Somebody, 2016", Panes: []Pane{{"pane", c}}, Published: "published"}.SVG()
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = svg
	}
	return out
}

// A file says in plain attributes what each element looks like: many programs know no CSS.
func TestPlain(t *testing.T) {
	painted, size := regexp.MustCompile(`(?:fill|stroke)="([^"]*)"`), regexp.MustCompile(`font-size="[0-9.]+"`)
	for name, svg := range sheets(t) {
		wellFormed(t, svg)
		for _, bad := range []string{"class=", "style", "var(", "color-mix", "currentColor"} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
		for _, m := range painted.FindAllStringSubmatch(svg, -1) {
			if !regexp.MustCompile(`^(none|#[0-9a-f]{3}|#[0-9a-f]{6})$`).MatchString(m[1]) {
				t.Errorf("%s is painted %q", name, m[0])
			}
		}
		for line := range strings.Lines(svg) {
			if strings.HasPrefix(line, "<text") && (!painted.MatchString(line) || !size.MatchString(line)) {
				t.Errorf("%s: a text without a color or a size: %s", name, line)
			}
		}
	}
}

// Another program draws every file in its size and with all its colors.
func TestConverts(t *testing.T) {
	if _, err := exec.LookPath("rsvg-convert"); err != nil {
		t.Skip("rsvg-convert is missing: install librsvg2-bin")
	}
	convert := func(format, svg string) []byte {
		c := exec.Command("rsvg-convert", "-z", "2", "-f", format)
		c.Stdin = strings.NewReader(svg)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		return out
	}
	painted := regexp.MustCompile(`(?:fill|stroke)="(#[0-9a-f]+)"`)
	for name, svg := range sheets(t) {
		decoded, err := png.Decode(bytes.NewReader(convert("png", svg)))
		if err != nil {
			t.Fatal(err)
		}
		im, ok := decoded.(*image.RGBA)
		if !ok {
			t.Fatalf("%s: %T", name, decoded)
		}
		var w, h float64
		if _, err := fmt.Sscanf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%f\" height=\"%f\"", &w, &h); err != nil {
			t.Fatal(err)
		}
		if got := im.Bounds(); float64(got.Dx()) < 2*w-2 || float64(got.Dy()) < 2*h-2 || w < sheetWidth {
			t.Errorf("%s: %v, want 2 × %g × %g", name, got, w, h)
		}
		drawn := map[color.RGBA]bool{}
		for y := range im.Bounds().Dy() {
			for x := range im.Bounds().Dx() {
				drawn[im.RGBAAt(x, y)] = true
			}
		}
		for line := range strings.Lines(svg) {
			for _, m := range painted.FindAllStringSubmatch(line, -1) {
				if c := rgb(t, m[1]); !drawn[c] && !strings.Contains(line, "fill-opacity") {
					t.Errorf("%s: no pixel is %v, the color of %.200s", name, c, line)
				}
			}
		}
	}
	if b := convert("pdf", sheets(t)["sheet"]); !bytes.HasPrefix(b, []byte("%PDF-")) {
		t.Errorf("%.20q is no PDF", b)
	}
}

// rgb returns the pixel of #rrggbb or #rgb.
func rgb(t *testing.T, s string) color.RGBA {
	t.Helper()
	c := color.RGBA{A: 255}
	if len(s) == len("#rgb") {
		s = fmt.Sprintf("#%[1]c%[1]c%[2]c%[2]c%[3]c%[3]c", s[1], s[2], s[3])
	}
	if _, err := fmt.Sscanf(s, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		t.Fatalf("color %q: %v", s, err)
	}
	return c
}
