package chart

import (
	"strings"
	"testing"
)

// One interval that says nothing leaves the others room: the axis follows it a little, and its end is an arrow.
func TestWideInterval(t *testing.T) {
	rows := []Row{{Name: "a", Color: 1, Value: 0.9, Lo: 0.85, Hi: 0.95, Bounded: true}, {Name: "b", Color: 2, Value: 1.2, Lo: 0.01, Hi: 900, Bounded: true}}
	for name, c := range map[string]drawing{"ratios": Ratios{Rows: rows}, "values": Values{Rows: rows}, "grouped": Grouped{Groups: []RowGroup{{"x", rows}}, One: "x"},
		"bars": Bars{Groups: []BarGroup{{"x", []BarRow{{Row: rows[1]}}}}}, "sweep": Sweep{Curves: []Curve{{Name: "x", Points: []CurvePoint{{X: 1, Y: 1.2, Lo: 0.5, Hi: 900, Bounded: true}}}}}} {
		svg, err := c.SVG()
		if err != nil || strings.Contains(svg, ">100<") || strings.Contains(svg, ">500<") {
			t.Errorf("%s: %v: the axis reaches as far as the interval\n%s", name, err, svg)
		}
	}
}

// No two of a dozen networks have one color.
func TestColors(t *testing.T) {
	seen := map[ink]bool{}
	for n := range 13 {
		in, _ := seriesInk(n)
		if seen[in] {
			t.Errorf("network %d has the color of another", n)
		}
		seen[in] = true
	}
}

// busyTrials are all disturbed: their scale is that of what is drawn, not the smallest.
var busyTrials = Trials{Rows: []TrialRow{{Name: "host", Median: 10, Points: []TrialPoint{{At: 0, Value: 5, Has: true, State: TrialDisturbed}, {At: 1, Value: 14, Has: true, State: TrialDisturbed}}}},
	Blocks: []string{"1", "2"}, Axis: "throughput, Gbit/s", Alt: "Busy.", Block: "区组", Scale: "半行为中位数的 {}。", Disturbed: "受干扰"}

// overview has an interval that says nothing, a network without one, and one that stalls.
var overview = Overview{[]RowGroup{{"TCP throughput", []Row{{Name: "bridge", Color: 1, Value: 0.93, Lo: 0.82, Hi: 1.06, Bounded: true, Label: "~ 0.93×"},
	{Name: "a-network-with-a-very-long-name", Color: 13, Value: 0.65, Lo: 0.01, Hi: 40, Bounded: true, Label: "0.65×"}}},
	{"UDP response time", []Row{{Name: "bridge", Color: 1, Value: 1.22, Label: "1.22×"}, {Name: "stalls", Color: 2, Value: 0, Lo: 0, Hi: 0.4, Bounded: true, Label: "0.00×"}}}}, "host", "÷ host", "Overview."}

// Numbers of an axis do not cover each other, and a long name has two lines instead of an ellipsis.
func TestOverviewText(t *testing.T) {
	var rows []Row
	for _, v := range []float64{0.03, 0.9, 3} {
		rows = append(rows, Row{Name: "calico-bgp-datapath, size 32768", Value: v, Label: "1.00×"})
	}
	svg, err := Overview{Groups: []RowGroup{{"TCP throughput", rows}}, One: "host"}.SVG()
	if err != nil || strings.Contains(svg, "…") || strings.Count(svg, ">size 32768<") != 3 {
		t.Errorf("%v: names are cut\n%s", err, svg)
	}
	if strings.Contains(svg, ">0.05<") && strings.Contains(svg, ">0.1<") {
		t.Errorf("0.05 and 0.1 cover each other\n%s", svg)
	}
}
