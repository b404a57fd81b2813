package chart

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var groups = []BarGroup{
	{"host", []BarRow{{Row: Row{Name: "on", Color: 1, Value: 2.1, Lo: 1.9, Hi: 2.3, Bounded: true, Label: "2.10× [1.90, 2.30]"}}, {Row: Row{Name: "off", Color: 2, Value: 1, Label: "1.00×"}}}},
	{"a-network-with-a-very-long-name", []BarRow{
		{Row: Row{Name: "on", Color: 1, Value: 1.4, Lo: 1.3, Hi: 1.6, Bounded: true, Label: "1.40× [1.30, 1.60]"}, Published: []float64{2, 1.8}},
		{Row: Row{Name: "off", Label: "no module of that name"}, Empty: true}}},
}

var publishedCharts = map[string]drawing{
	"bars":      Bars{groups, false, 1, "throughput ÷ host, off", "Bars."},
	"bars-dots": Bars{groups, true, 1, "throughput ÷ host, off", "Dots."},
	"bars-none": Bars{nil, true, 0, "throughput", "Nothing measured."},
	"sweep-published": Sweep{[]Curve{
		{Name: "host", Plain: true, Points: []CurvePoint{{X: 1, Y: 5}, {X: 2, Y: 6}, {X: 3, Y: 5.5}}, Published: []CurvePoint{{X: 2, Y: 9}}},
		{Name: "bridge", Color: 1, Dashed: true, Plain: true, Points: []CurvePoint{{X: 1, Y: 4}, {X: 2, Y: 5}, {X: 3, Y: 5.1}}}}, 5, "hops", "throughput", "Sweep.", false},
	"sheet": Sheet{"A title that is long enough to need a second line in a picture of this width", "Somebody, 2016", []Pane{
		{"one", Bars{groups, false, 1, "throughput ÷ host", "Bars."}}, {"", Ratios{threeRatios, "host", "throughput ÷ host", "Ratios."}}},
		"published", "weir, median with its interval", []string{"Not measured: weave."}},
}

func TestPublishedGolden(t *testing.T) {
	for name, c := range publishedCharts {
		got, err := c.SVG()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wellFormed(t, got)
		file := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || got != string(want) {
			t.Errorf("differs from %s (%v); look at the drawing, then run the test with -update", file, err)
		}
	}
}

func TestNoNumberNoBars(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]drawing{
		"bar":          Bars{Groups: []BarGroup{{"x", []BarRow{{Row: Row{Value: nan}}}}}},
		"negative dot": Bars{Groups: []BarGroup{{"x", []BarRow{{Row: Row{Value: -1}}}}}, Dots: true},
		"bar's mark":   Bars{Groups: []BarGroup{{"x", []BarRow{{Row: Row{Value: 1}, Published: []float64{nan}}}}}},
		"curve's mark": Sweep{Curves: []Curve{{Name: "x", Published: []CurvePoint{{X: nan}}}}},
		"sheet":        Sheet{Panes: []Pane{{"x", Ratios{Rows: []Row{{Name: "x", Value: nan}}}}}},
	} {
		if svg, err := c.SVG(); err == nil || svg != "" {
			t.Errorf("%s: %d bytes and error %v", name, len(svg), err)
		}
	}
}

// Foreign numbers can be any float64.
func FuzzBars(f *testing.F) {
	f.Add(0.0, 24.1, 0.5)
	f.Add(math.MaxFloat64, 1e-300, -3.0)
	f.Fuzz(func(t *testing.T, a, b, c float64) {
		bars := []BarGroup{{"x", []BarRow{{Row: Row{Name: "x", Value: a, Lo: b, Hi: c, Bounded: true}, Published: []float64{b}}, {Row: Row{Value: b}}}}}
		for _, d := range []Bars{{Groups: bars, Reference: 1}, {Groups: bars, Dots: true}} {
			svg, err := d.SVG()
			if (svg == "") == (err == nil) {
				t.Errorf("%d bytes and error %v", len(svg), err)
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("draws at no place: %s", svg)
			}
		}
	})
}
