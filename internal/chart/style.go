package chart

import (
	"fmt"
	"strings"
)

// Okabe and Ito's palette (jfly.uni-koeln.de/color), darkened to give thin lines and small text a contrast of
// 4.5 on white. Text is legible on every heat color.
var (
	partColors   = []string{"#2f6f9f", "#8fbcd9", "#d98a2b", "#f0c98a", "#8a6fb0", "#9aa3ad"}
	seriesColors = []string{"#5c6570", "#0068a8", "#b84a00", "#007a5a", "#a03d7c", "#8a6100", "#3a7ca5", "#6b4fb3", "#3d4a57"}
	heatColors   = []string{"#f1f6fa", "#dfecf5", "#cce1f0", "#b6d4e9", "#9ec6e1", "#84b6d8", "#6aa5ce"}
)

// Style has the rules of all charts, once for a page. Colors are variables that the page sets, with a fallback
// for a file.
var Style = style()

func style() string {
	var b strings.Builder
	rule := func(selector, format string, args ...any) {
		fmt.Fprintf(&b, "svg %s{%s}\n", selector, fmt.Sprintf(format, args...))
	}
	rule(".a", "fill:currentColor;stroke:none")
	rule(".l", "fill:none;stroke:currentColor")
	rule(".w", "fill:none;stroke:currentColor;stroke-width:2")
	rule(".q", "fill:none;stroke:currentColor;stroke-width:%s", px(barWidth))
	rule(".d", "fill:currentColor;stroke:var(--bg,#fff)") // dots that stand off from what they cover
	rule(".o", "fill:var(--bg,#fff);stroke:currentColor")
	rule(".p", "fill:none;stroke:currentColor;stroke-linecap:round") // points: lines of no length
	rule(".t", "fill:currentColor;font-size:%spx", px(textSize))
	rule(".v", "fill:currentColor;font-size:%spx", px(smallSize))
	rule(".c", "text-anchor:middle")
	rule(".e", "text-anchor:end")
	for _, c := range []struct {
		ink  ink
		name string
		hex  string
	}{{inkFG, "fg", "#1b1f24"}, {inkMuted, "muted", "#5c6570"}, {inkGrid, "grid", "#e3e6ea"}, {inkBG, "bg", "#fff"}, {inkBad, "bad", "#b3261e"}} {
		rule("."+string(c.ink), "color:var(--%s,%s)", c.name, c.hex)
	}
	for _, p := range []struct {
		inks   []ink
		colors []string
	}{{parts, partColors}, {series, seriesColors}, {heats, heatColors}} {
		for i, in := range p.inks {
			rule("."+string(in), "color:var(--%s,%s)", in, p.colors[i])
		}
	}
	for step := 1; step <= flameSteps; step++ { // people who cannot tell red from green can tell these apart
		for n, name := range []string{"less", "more"} {
			rule(fmt.Sprintf(".%s%d", name, step), "color:color-mix(in srgb,var(--s%d,%s) %d%%,var(--grid,#e3e6ea))", n+1, seriesColors[n+1], strongest*step/flameSteps)
		}
	}
	return b.String()
}

// Standalone makes a file of a chart's SVG, which needs Style around it otherwise.
func Standalone(svg string) string {
	head, body, _ := strings.Cut(svg, ">")
	return head + " font-family=\"sans-serif\">\n<style>\n" + Style + "</style>\n" +
		"<rect x=\"-10%\" y=\"-10%\" width=\"120%\" height=\"120%\" class=\"a b\"/>" + body
}
