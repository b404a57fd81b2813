// Package chart draws the charts of a report as SVG, one file per chart.
//
// A chart is a struct of numbers already scaled for display. Its method SVG returns an <svg>
// element for inline use in HTML, which also works as a file. Colors are CSS variables with a
// fallback, for the page's dark mode; fonts are the page's. The same chart gives the same bytes.
//
// The package must not compute statistics, choose units or read results.
package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sizes in units of the viewBox. Charts must stay legible on a phone, 360 pixels wide.
const (
	width      = 460.0
	nameMax    = 140.0 // of the column of names
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
	Ceiling float64 // 0 means none
	Trials  []Trial // hidden until the page sets --dots
}

// numbers returns the row's numbers except its trials and ceiling.
func (r Row) numbers() []float64 {
	if r.Bounded {
		return []float64{r.Value, r.Lo, r.Hi}
	}
	return []float64{r.Value}
}

// A Trial is one measurement behind a Row, drawn as a cross if it is not ok.
type Trial struct {
	Value float64
	OK    bool
}

// drawable bounds numbers: larger ones are errors, and axis arithmetic would overflow.
const drawable = 1e100

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

// nameColumn returns the width of a column of names, and the names clipped to it.
func nameColumn(names []string) (float64, []string) {
	w, out := 0.0, make([]string, len(names))
	for i, n := range names {
		out[i] = clip(n, nameMax, textSize)
		w = max(w, textWidth(out[i], textSize))
	}
	return math.Ceil(w) + gap, out
}
