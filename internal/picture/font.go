package picture

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

// regular is Go Regular, whose license allows to embed it: Latin, Greek and Cyrillic letters and the
// symbols of WGL4. It is as wide as Helvetica, by which package chart estimates widths.
var regular = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(goregular.TTF) })

// stand replaces symbols of charts that the font lacks.
var stand = strings.NewReplacer("◇", "◊", "◆", "♦", "△", "▲")

// legible returns s with a box for each character that the font lacks, and those characters.
func legible(f *opentype.Font, s string) (text string, missing []rune) {
	var b sfnt.Buffer
	text = strings.Map(func(r rune) rune {
		if g, err := f.GlyphIndex(&b, r); err == nil && g != 0 {
			return r
		}
		missing = append(missing, r)
		return '□'
	}, stand.Replace(s))
	return text, missing
}

// Missing returns the characters of an SVG that PNG and PDF show as boxes, in order and once each.
func Missing(svg string) (string, error) {
	d, err := read(svg)
	if err != nil {
		return "", err
	}
	f, err := regular()
	if err != nil {
		return "", err
	}
	var all []rune
	for _, s := range d.shapes {
		_, missing := legible(f, s.text)
		all = append(all, missing...)
	}
	slices.Sort(all)
	return string(slices.Compact(all)), nil
}
