package picture

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A style is what an element inherits and overrides.
type style struct {
	color        color.NRGBA // that currentColor names
	fill, stroke paint
	opacity      float64 // of the fill
	width        float64 // of the stroke
	dash         []float64
	round        bool // the stroke's ends
	size         float64
	anchor       string // of a text: "start", "middle" or "end"
}

// plain is the initial style of SVG.
var plain = style{color: color.NRGBA{A: 255}, fill: paint{color: color.NRGBA{A: 255}}, opacity: 1, width: 1, size: 16, anchor: "start"}

// A paint is a color, with alpha 0 for none, or the current color of the element.
type paint struct {
	color   color.NRGBA
	current bool
}

// inside returns the color of the fill with its opacity, outside that of the stroke.
func (s style) inside() color.NRGBA {
	c := s.of(s.fill)
	c.A = uint8(math.Round(float64(c.A) * s.opacity))
	return c
}

func (s style) outside() color.NRGBA { return s.of(s.stroke) }

func (s style) of(p paint) color.NRGBA {
	if p.current {
		return s.color
	}
	return p.color
}

// scaled returns the style with its lengths multiplied.
func (s style) scaled(by float64) style {
	s.width, s.size = s.width*by, s.size*by
	s.dash = slices.Clone(s.dash)
	for i := range s.dash {
		s.dash[i] *= by
	}
	return s
}

// A rule of a style sheet is about elements of a class.
type rule struct{ class, properties string }

// rules reads a style sheet whose selectors are classes below svg: "svg .a,svg .b{fill:none}".
func rules(sheet string) (out []rule, _ error) {
	for part := range strings.SplitSeq(sheet, "}") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		selectors, properties, ok := strings.Cut(part, "{")
		for selector := range strings.SplitSeq(selectors, ",") {
			class, isClass := strings.CutPrefix(strings.TrimSpace(selector), "svg .")
			if !ok || !isClass || strings.ContainsAny(class, ".:[> ") {
				return nil, fmt.Errorf("unknown rule %q", part)
			}
			out = append(out, rule{class, properties})
		}
	}
	return out, nil
}

// set applies what an element states: attributes, then the rules for its classes, then its attribute style.
func (s *style) set(attributes map[string]string, sheet []rule) error {
	var errs []error
	for _, k := range []string{"fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "font-size", "text-anchor"} {
		if v, ok := attributes[k]; ok {
			errs = append(errs, s.property(k, v))
		}
	}
	classes := strings.Fields(attributes["class"])
	for _, r := range sheet {
		if slices.Contains(classes, r.class) {
			errs = append(errs, s.properties(r.properties))
		}
	}
	return errors.Join(append(errs, s.properties(attributes["style"]))...)
}

func (s *style) properties(all string) error {
	var errs []error
	for p := range strings.SplitSeq(all, ";") {
		if k, v, ok := strings.Cut(p, ":"); ok {
			errs = append(errs, s.property(strings.TrimSpace(k), strings.TrimSpace(v)))
		}
	}
	return errors.Join(errs...)
}

func (s *style) property(name, value string) (err error) {
	number := func(s string, least, most float64) float64 {
		v, bad := strconv.ParseFloat(strings.TrimSuffix(s, "px"), 64)
		if bad != nil || !(v >= least && v <= most) {
			err = fmt.Errorf("invalid %s %q: want a number from %g to %g", name, value, least, most)
		}
		return v
	}
	painted := func() (p paint) {
		if p.current = value == "currentColor"; !p.current {
			p.color, err = parseColor(value)
		}
		return p
	}
	switch name {
	case "color":
		s.color, err = parseColor(value)
	case "fill":
		s.fill = painted()
	case "stroke":
		s.stroke = painted()
	case "fill-opacity":
		s.opacity = number(value, 0, 1)
	case "stroke-width":
		s.width = number(value, 0, longest)
	case "stroke-dasharray":
		s.dash = nil
		for f := range strings.FieldsSeq(value) {
			s.dash = append(s.dash, number(f, 0.1, longest))
		}
		if err == nil && len(s.dash)%2 != 0 {
			err = fmt.Errorf("invalid %s %q: want pairs of a dash and a gap", name, value)
		}
	case "stroke-linecap":
		s.round = value == "round"
	case "font-size":
		s.size = number(value, 1, 200)
	case "text-anchor":
		s.anchor = value
	case "pointer-events", "font-family", "cursor", "min-width", "max-width": // a page's, and that of other fonts
	default:
		return fmt.Errorf("unknown property %s", name)
	}
	return err
}

// parseColor reads #rrggbb, #rgb, none, and what CSS makes of them: var(--name,color) is its fallback, and
// color-mix(in srgb,color share%,color) is computed.
func parseColor(s string) (color.NRGBA, error) {
	s = strings.TrimSpace(s)
	if s == "none" || s == "transparent" {
		return color.NRGBA{}, nil
	}
	if inner, ok := strings.CutPrefix(s, "var("); ok && strings.HasSuffix(inner, ")") {
		if _, fallback, ok := strings.Cut(inner[:len(inner)-1], ","); ok {
			return parseColor(fallback)
		}
	}
	if strings.HasPrefix(s, "color-mix(") {
		return mix(s)
	}
	hex, ok := strings.CutPrefix(s, "#")
	if ok && len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	if v, err := strconv.ParseUint(hex, 16, 32); ok && len(hex) == 6 && err == nil {
		return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, nil
	}
	return color.NRGBA{}, fmt.Errorf("unknown color %q", s)
}

// mixed matches two opaque colors that are mixed in sRGB (CSS Color 5).
var mixed = regexp.MustCompile(`^color-mix\(in srgb,(.+) (\d{1,2})%,(.+)\)$`)

func mix(s string) (color.NRGBA, error) {
	m := mixed.FindStringSubmatch(s)
	if m == nil {
		return color.NRGBA{}, fmt.Errorf("unknown mix of colors %q", s)
	}
	a, errA := parseColor(m[1])
	b, errB := parseColor(m[3])
	share, _ := strconv.ParseFloat(m[2], 64) // digits
	part := func(a, b uint8) uint8 { return uint8(math.Round((float64(a)*share + float64(b)*(100-share)) / 100)) }
	return color.NRGBA{part(a.R, b.R), part(a.G, b.G), part(a.B, b.B), 255}, errors.Join(errA, errB)
}
