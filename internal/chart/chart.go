// Package chart draws the charts of a report as SVG, one file per chart.
//
// A chart is a struct of numbers already scaled for display. Its method SVG returns an <svg>
// element for inline use in HTML, on a page with Style. Colors are CSS variables with a
// fallback, for the page's dark mode; fonts are the page's. A Sheet is a file of charts, without CSS. The same chart gives the same
// bytes.
//
// What a reader can point at is a group with a text (see mark), and what belongs to a network has its number
// (see of). The drawing is complete without a script that uses either.
//
// The package must not compute statistics, choose units or read results.
package chart

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes in units of the viewBox, which are pixels of the page. Charts are as wide as a phone, so that their
// text is not smaller there, and three stand side by side on a screen.
const (
	width      = 352.0
	wide       = 460.0 // of charts with more text than fits, which scroll on a phone
	nameMax    = 150.0 // of the column of names
	textSize   = 12.5
	smallSize  = 11.0
	gap        = 10.0
	axisHeight = 40.0
)

// A Row is one network of a dot chart.
type Row struct {
	Name    string
	Color   int     // 0 is the baseline's gray
	Value   float64 // the dot
	Lo, Hi  float64 // the interval; read only if Bounded
	Bounded bool
	Label   string  // at the right end of the row
	Tip     string  // of the tooltip; "" means the name and the label
	Ceiling float64 // 0 means none
}

func (r Row) tip() string { return cmp.Or(r.Tip, strings.TrimSpace(r.Name)+": "+r.Label) }

// numbers returns the row's numbers except its ceiling.
func (r Row) numbers() []float64 {
	switch {
	case !r.Bounded:
		return []float64{r.Value}
	case endless(r.Hi):
		return []float64{r.Value, r.Lo}
	}
	return []float64{r.Value, r.Lo, r.Hi}
}

// drawable bounds numbers: larger ones are errors, and axis arithmetic would overflow.
const drawable = 1e100

// endless reports whether an interval that ends at v has no upper end: it is drawn to the edge, with an arrow.
func endless(v float64) bool { return v > drawable }

// finite returns an error that names the first number that cannot be drawn.
func finite(name string, vs ...float64) error {
	for _, v := range vs {
		if a := math.Abs(v); math.IsNaN(v) || a > drawable || a > 0 && a < 1/drawable {
			return fmt.Errorf("chart: %s: cannot draw %v: want a finite number up to 1e100", name, v)
		}
	}
	return nil
}

// num formats v with three significant digits and no exponent.
func num(v float64) string {
	a := math.Abs(v)
	switch {
	case endless(v):
		return "∞"
	case a >= 100 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// tickNum formats a tick without trailing zeros.
func tickNum(v float64) string {
	return decimal(v, 6)
}

func decimal(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// clip shortens s in its middle to fit w, because the ends of a long name distinguish it.
func clip(s string, w, size float64) string {
	if textWidth(s, size) <= w {
		return s
	}
	r := []rune(s)
	for keep := len(r) - 1; keep > 2; keep-- {
		short := string(r[:(keep+1)/2]) + "…" + string(r[len(r)-keep/2:])
		if textWidth(short, size) <= w {
			return short
		}
	}
	return "…"
}

// wrapped breaks a name into lines as wide as w, behind a comma, a hyphen or a space.
func wrapped(name string, w, size float64) []string {
	if textWidth(name, size) <= w {
		return []string{name}
	}
	for _, behind := range []string{", ", "，", "-", " "} {
		for at := strings.LastIndex(name, behind); at > 0; at = strings.LastIndex(name[:at], behind) {
			line, rest := strings.TrimSpace(name[:at+len(behind)]), strings.TrimSpace(name[at+len(behind):])
			if rest != "" && textWidth(line, size) <= w {
				return append([]string{line}, wrapped(rest, w, size)...)
			}
		}
	}
	return []string{clip(name, w, size)}
}

// nameColumn returns the width of a column of names, and the names clipped to it.
func nameColumn(names []string) (float64, []string) { return column(names, nameMax) }

func column(names []string, most float64) (float64, []string) {
	w, out := 0.0, make([]string, len(names))
	for i, n := range names {
		out[i] = clip(n, most, textSize)
		w = max(w, textWidth(out[i], textSize))
	}
	return math.Ceil(w) + gap, out
}
