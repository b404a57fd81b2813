package chart

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
)

// A lettering is a text in its place, as wide as textWidth says.
type lettering struct {
	text           string
	left, right, y float64
}

// letterings returns the texts of a drawing, and its width.
func letterings(t *testing.T, svg string) (out []lettering, wide float64) {
	t.Helper()
	type looks struct {
		class string
		size  float64
	}
	var stack []looks
	var at *lettering
	var x float64
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return out, wide
		} else if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			look := looks{}
			if len(stack) > 0 {
				look = stack[len(stack)-1]
			}
			x = 0
			y := 0.0
			for _, a := range e.Attr {
				number, _ := strconv.ParseFloat(a.Value, 64)
				switch a.Name.Local {
				case "class":
					look.class = a.Value
				case "font-size":
					look.size = number
				case "x":
					x = number
				case "y":
					y = number
				case "viewBox":
					wide, _ = strconv.ParseFloat(strings.Fields(a.Value)[2], 64)
				}
			}
			stack = append(stack, look)
			if e.Name.Local == "text" {
				at = &lettering{y: y}
			}
		case xml.CharData:
			if at != nil {
				at.text += string(e)
			}
		case xml.EndElement:
			look := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if e.Name.Local != "text" {
				continue
			}
			size := map[string]float64{"t": textSize, "v": smallSize, "a": look.size}[strings.Fields(look.class)[0]]
			w := textWidth(at.text, size)
			at.left = x
			if classes := " " + look.class + " "; strings.Contains(classes, " c ") {
				at.left -= w / 2
			} else if strings.Contains(classes, " e ") {
				at.left -= w
			}
			at.right = at.left + w
			out, at = append(out, *at), nil
		}
	}
}

// rare is a distribution that reaches one response in 100,000. sizes are levels on a logarithmic axis, some close to each other.
func rare() Latency {
	l := Curve{Name: "vxlan-overlay"}
	for r := 0.0; r <= 5; r += 0.25 {
		l.Points = append(l.Points, CurvePoint{X: 1 - math.Pow(10, -r), Y: 20 + r})
	}
	return Latency{Lines: []Curve{l}, Axis: "response time, µs"}
}

func sizes(even bool, levels ...float64) Sweep {
	k := Curve{Name: "a-network-with-a-long-name"}
	for _, x := range levels {
		k.Points = append(k.Points, CurvePoint{X: x, Y: 1})
	}
	return Sweep{Curves: []Curve{k}, X: "size, byte", Y: "throughput, Gbit/s", Even: even}
}

// No text of a chart covers another one.
func TestTextsAreApart(t *testing.T) {
	all := maps.Clone(charts)
	all["latency of rare ones"] = rare()
	all["sweep of sizes"] = sizes(false, 64, 100, 1400, 1472, 1473, 16384)
	all["sweep of even levels"] = sizes(true, 18, 64, 128, 1400, 1472, 1473, 9000, 16384, 32768, 65507)
	all["overview"] = Overview{Groups: []RowGroup{{"UDP response time by sockperf, mtu 9000 ÷ 1500", threeRatios}, {"TCP throughput", threeRatios}}, One: "no difference", Axis: "ratio"}
	for name, c := range all {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		texts, wide := letterings(t, svg)
		if len(texts) == 0 || wide == 0 {
			t.Errorf("%s: no text in %.1f px", name, wide)
		}
		for i, a := range texts {
			for _, b := range texts[:i] {
				if math.Abs(a.y-b.y) < 9 && a.left+1 < b.right && b.left+1 < a.right {
					t.Errorf("%s: %q at %.1f to %.1f, %.1f covers %q at %.1f to %.1f, %.1f", name, a.text, a.left, a.right, a.y, b.text, b.left, b.right, b.y)
				}
			}
		}
	}
}

// No line runs behind a heading that reaches into the plot.
func TestHeadingsAreFree(t *testing.T) {
	rows := []Row{{Name: "a", Value: 0.9, Lo: 0.8, Hi: 1, Bounded: true, Label: "0.90×"}}
	of := func(heading string) string {
		svg, err := Overview{Groups: []RowGroup{{heading, rows}}, One: "host"}.SVG()
		if err != nil {
			t.Fatal(err)
		}
		return svg
	}
	if svg := of("UDP response time by sockperf"); strings.Count(svg, "<rect class=\"a y\"") != 1 {
		t.Errorf("lines cross the heading:\n%s", svg)
	}
	if svg := of("x"); strings.Contains(svg, "a y") {
		t.Errorf("a short heading covers something:\n%s", svg)
	}
}

// Below the title of its axis of time, a drawing ends.
func TestTimeSeriesEnds(t *testing.T) {
	svg, err := over().SVG()
	if err != nil {
		t.Fatal(err)
	}
	var wide, high, last float64
	if _, err := fmt.Sscanf(svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %f %f"`, &wide, &high); err != nil {
		t.Fatal(err)
	}
	texts, _ := letterings(t, svg)
	for _, l := range texts {
		last = max(last, l.y)
	}
	if high < last+3 || high > last+14 {
		t.Errorf("the drawing ends at %.1f px, its last text at %.1f", high, last)
	}
}

// Why a bar is missing stands free, too.
func TestEmptyBarsAreFree(t *testing.T) {
	svg, err := Bars{Groups: []BarGroup{{"x", []BarRow{{Row: Row{Name: "a", Value: 1, Label: "1.00×"}}, {Row: Row{Name: "b", Label: "the kernel lacks this"}, Empty: true}}}}, Reference: 1}.SVG()
	if err != nil || strings.Count(svg, "a y\"") != 1 {
		t.Errorf("%v: lines cross the reason:\n%s", err, svg)
	}
}
