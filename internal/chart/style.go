package chart

import (
	"fmt"
	"regexp"
	"strings"
)

// Okabe and Ito's palette (jfly.uni-koeln.de/color), darkened to give thin lines and small text a contrast of
// 4.5 on white. Text is legible on every heat color.
var (
	partColors   = []string{"#2f6f9f", "#8fbcd9", "#d98a2b", "#f0c98a", "#8a6fb0", "#9aa3ad"}
	lessColors   = []string{"#b6cddd", "#88b4d0", "#5b9ac2"} // of a flame graph: the blue and the orange of series, by 20, 40 and 60 %
	moreColors   = []string{"#dac7bb", "#d2a88c", "#c9885e"} // in the gray of a grid; people who cannot tell red from green can tell these apart
	seriesColors = []string{"#5c6570", "#0068a8", "#b84a00", "#007a5a", "#a03d7c", "#8a6100", "#3a7ca5", "#6b4fb3", "#3d4a57", "#5a7500", "#00778a", "#c2185b", "#1f3a8a"}
	heatColors   = []string{"#f1f6fa", "#dfecf5", "#cce1f0", "#b6d4e9", "#9ec6e1", "#84b6d8", "#6aa5ce"}
)

// Style has the rules of all charts, once for a page. Colors are variables that the page sets, with a fallback.
// looks has the properties of each class with the fallbacks.
var Style, looks = style()

var variable = regexp.MustCompile(`var\(--\w+,([^)]*)\)`)

func style() (string, map[string]string) {
	var b strings.Builder
	looks := map[string]string{}
	rule := func(class, format string, args ...any) {
		properties := fmt.Sprintf(format, args...)
		fmt.Fprintf(&b, "svg .%s{%s}\n", class, properties)
		looks[class] = variable.ReplaceAllString(properties, "$1")
	}
	rule("a", "fill:currentColor;stroke:none")
	rule("l", "fill:none;stroke:currentColor")
	rule("w", "fill:none;stroke:currentColor;stroke-width:2")
	rule("q", "fill:none;stroke:currentColor;stroke-width:%s", px(barWidth))
	rule("d", "fill:currentColor;stroke:var(--bg,#fff)") // dots that stand off from what they cover
	rule("o", "fill:var(--bg,#fff);stroke:currentColor")
	rule("p", "fill:none;stroke:currentColor;stroke-linecap:round") // points: lines of no length
	rule("t", "fill:currentColor;font-size:%spx", px(textSize))
	rule("v", "fill:currentColor;font-size:%spx", px(smallSize))
	rule("c", "text-anchor:middle")
	rule("e", "text-anchor:end")
	for _, c := range []struct {
		ink  ink
		name string
		hex  string
	}{{inkFG, "fg", "#1b1f24"}, {inkMuted, "muted", "#5c6570"}, {inkGrid, "grid", "#e3e6ea"}, {inkBG, "bg", "#fff"}, {inkUnder, "under", "#fff"}, {inkBad, "bad", "#b3261e"}} {
		rule(string(c.ink), "color:var(--%s,%s)", c.name, c.hex)
	}
	for _, p := range []struct {
		inks   []ink
		colors []string
	}{{parts, partColors}, {series, seriesColors}, {heats, heatColors}, {less, lessColors}, {more, moreColors}} {
		for i, in := range p.inks {
			rule(string(in), "color:var(--%s,%s)", in, p.colors[i])
		}
	}
	return b.String(), looks
}

var classes = regexp.MustCompile(`class="([^"]*)"`)

// plain returns an SVG with attributes instead of classes: few programs that draw SVG know variables, and some no rules.
func plain(svg string) string {
	return classes.ReplaceAllStringFunc(svg, func(attribute string) string {
		var attributes []string
		color := ""
		for _, class := range strings.Fields(classes.FindStringSubmatch(attribute)[1]) {
			for property := range strings.SplitSeq(looks[class], ";") {
				if name, value, _ := strings.Cut(property, ":"); name == "color" {
					color = value
				} else {
					attributes = append(attributes, name+"=\""+strings.TrimSuffix(value, "px")+"\"")
				}
			}
		}
		return strings.ReplaceAll(strings.Join(attributes, " "), "currentColor", color)
	})
}
