package chart

import (
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var threeRatios = []Row{
	{Name: "bridge", Color: 1, Value: 0.97, Lo: 0.93, Hi: 1.01, Bounded: true, Label: "~"},
	{Name: "vxlan-overlay", Color: 2, Value: 0.68, Lo: 0.65, Hi: 0.71, Bounded: true, Label: "0.68×"},
	{Name: "a-network-with-a-very-long-name-one", Color: 3, Value: 0.42, Label: "0.42×"},
}

var threeValues = []Row{
	{Name: "host", Value: 21.4, Lo: 20.9, Hi: 22, Bounded: true, Label: "21.4", Ceiling: 24.1},
	{Name: "bridge", Color: 1, Value: 20.8, Lo: 20.1, Hi: 21.2, Bounded: true, Label: "20.8", Ceiling: 24.1},
	{Name: "vxlan-overlay", Color: 2, Value: 14.6, Label: "14.6", Ceiling: 23.3},
}

func lines() []Curve {
	var out []Curve
	for i, name := range []string{"host", "bridge", "vxlan-overlay"} {
		l := Curve{Name: name, Color: i}
		for r := 0.0; r <= 3; r += 0.1 {
			p := 1 - math.Pow(10, -r)
			l.Points = append(l.Points, CurvePoint{X: p, Y: (20 + 4*float64(i)) * (1 + p + 0.4*r*r*r*r/8)})
		}
		out = append(out, l)
	}
	return out
}

var ladder = []Group{
	{Name: "host", Steps: []Step{{"offered", 812, 0}, {"sent", 812, 0}, {"received", 811, 0.001}, {"delivered", 797, 0.017}}},
	{Name: "vxlan-overlay", Color: 2, Steps: []Step{{"offered", 640, 0}, {"sent", 633, 0.011}, {"received", 401, 0.367}, {"delivered", 380, 0.052}}},
}

var falls = []Fall{
	{"one send each", []Row{
		{Name: "sendmmsg", Value: 0.97, Lo: 0.93, Hi: 1.02, Bounded: true, Label: "~ 0.97×"},
		{Name: "GSO", Color: 1, Value: 2.4, Lo: 2.2, Hi: 2.7, Bounded: true, Label: "2.40×"},
		{Name: "GRO", Color: 2, Value: 3.9, Lo: 3.3, Hi: 4.5, Bounded: true, Label: "3.90×"},
		{Name: "TCP", Color: 3, Value: 1.1, Lo: 1.02, Hi: 1.2, Bounded: true, Label: "1.10×"},
	}, Row{Name: "TCP ÷ UDP", Value: 9.9, Lo: 8.6, Hi: 11.4, Bounded: true, Label: "9.90×"}, "Waterfall."},
	{"one send each", []Row{{Name: "GSO", Value: 0.8, Label: "0.80×"}, {Name: "TCP", Value: 0.5, Label: "0.50×"}},
		Row{Name: "TCP ÷ UDP", Color: 2, Value: 0.41, Label: "0.41×"}, "Waterfall that leads back."},
}

var forest = []ForestGroup{
	{Name: "bridge", Color: 1, Pooled: Row{Name: "1 run", Value: 0.97, Label: "0.97×"}, Missing: "2 not counted",
		Runs: []ForestRun{{Row{Name: "001", Value: 0.97, Lo: 0.93, Hi: 1.01, Bounded: true, Label: "0.97×"}, 1}}},
	{Name: "vxlan-overlay", Color: 2, Pooled: Row{Name: "3 runs", Value: 0.63, Lo: 0.52, Hi: 0.76, Bounded: true, Label: "0.63×"}, NextLo: 0.44, NextHi: 0.88,
		Runs: []ForestRun{
			{Row{Name: "001", Value: 0.58, Lo: 0.56, Hi: 0.6, Bounded: true, Label: "0.58×"}, 0.4},
			{Row{Name: "002", Value: 0.68, Lo: 0.65, Hi: 0.71, Bounded: true, Label: "0.68×"}, 0.4},
			{Row{Name: "a-directory-with-a-very-long-name-one", Value: 0.64, Label: "0.64×"}, 0.2}}},
}

// over has a slow start, a band, names to keep apart, and a time after the window.
func over() TimeSeries {
	v := TimeSeries{Window: 3, Alt: "Over time.", Panels: []Panel{
		{Axis: "arrived at eth0 of h2p1, Gbit/s", Lines: []TimeLine{{Color: 2}}},
		{Axis: "CPUs in use by mode, cores of 2", Top: 2, Stack: true, Lines: []TimeLine{{Name: "user"}, {Name: "softirq", Color: 2}}},
		{Axis: "threads, % of a CPU", Top: 100, Lines: []TimeLine{{Name: "h1p1 engine client", Color: 1}, {Name: "ksoftirqd/1", Color: 2}, {Name: "a/thread/with/a/very/long/name", Color: 3}}}}}
	for i := range 36 {
		t := float64(i-3)/10 + 0.05
		v.Times = append(v.Times, t)
		on := 0.0
		if 0 < t && t < 3 {
			on = 1 - math.Exp(-3*t)
		}
		add := func(l *TimeLine, y, spread float64) {
			l.Y = append(l.Y, on*y)
			if spread > 0 {
				l.Lo, l.Hi = append(l.Lo, on*(y-spread)), append(l.Hi, on*(y+spread))
			}
		}
		add(&v.Panels[0].Lines[0], 14+math.Sin(3*t), 2)
		add(&v.Panels[1].Lines[0], 0.4, 0)
		add(&v.Panels[1].Lines[1], 1.1, 0)
		for n := range v.Panels[2].Lines {
			add(&v.Panels[2].Lines[n], 97-float64(n), 3)
		}
	}
	return v
}

// oneTime is an Over of two times and a line.
func oneTime(y ...float64) TimeSeries {
	return TimeSeries{Times: []float64{0, 1}, Window: 1, Panels: []Panel{{Lines: []TimeLine{{Name: "x", Y: y}}}}}
}

// trials has a slow drift that all rows share, a disturbed block, a trial that failed, and one far away.
var trials = func() Trials {
	v := Trials{Axis: "throughput, Gbit/s", Alt: "Trials."}
	for i := range 15 {
		v.Blocks = append(v.Blocks, strconv.Itoa(i+1))
	}
	for n, name := range []string{"host", "bridge", "a-network-with-a-very-long-name-one"} {
		r := TrialRow{Name: name, Color: n, Median: 20}
		for i := range v.Blocks {
			p := TrialPoint{At: i, Has: true, Value: 20 + math.Sin(float64(i)/2) + 0.3*math.Sin(float64(7*i+n)), Tip: "about 20"}
			switch {
			case i == 6:
				p.State, p.Value = TrialDisturbed, 17
			case i == 9 && n == 1:
				p.State, p.Has, p.Value = TrialNot, false, 0
			case i == 12 && n == 2:
				p.Value = 60
			}
			r.Points = append(r.Points, p)
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}()

var twoGroups = []RowGroup{
	{"host", []Row{{Name: "on", Value: 24, Lo: 22, Hi: 26, Bounded: true, Label: "24.0"}, {Name: "off", Value: 12.6, Lo: 12, Hi: 13, Bounded: true, Label: "12.6"}}},
	{"a-network-with-a-very-long-name-one", []Row{{Name: "on", Color: 2, Value: 16, Label: "16.0"}, {Name: "off", Value: 5.3, Lo: 5, Hi: 5.6, Bounded: true, Label: "5.3"}}},
}

type drawing interface{ SVG() (string, error) }

var names = []string{"host", "shared", "a-network-with-a-very-long-name"}

var charts = map[string]drawing{
	"ratios":       Ratios{threeRatios, "host", "throughput ÷ host (right is better)", "Ratios."},
	"ratios-none":  Ratios{nil, "host", "throughput ÷ host", "Nothing to compare."},
	"values":       Values{Rows: threeValues, Axis: "throughput, Gbit/s", Alt: "Values."},
	"latency":      Latency{Lines: lines(), Axis: "response time, µs", Alt: "Latency."},
	"latency-none": Latency{Axis: "response time, µs", Alt: "Nothing measured."},
	"ladder":       Ladder{ladder, "thousand packets/s", "Ladder."},
	"heat": Heat{Rows: names, Columns: names, Cells: [][]Square{{{10, "10.0"}, {8, "8.0"}, {}}, {{4, "4.0"}, {0, "0.0"}, {9.9, "9.9"}}, {{1, "1.0"}, {5, "5.0"}, {2, "2.0"}}},
		Axis: "throughput, Gbit/s", Alt: "From and to."},
	"heat-many": manyCells(),
	"sweep": Sweep{[]Curve{
		{Name: "host", Points: []CurvePoint{{X: 1000, Y: 8, Lo: 7.5, Hi: 8.4, Bounded: true}, {X: 1400, Y: 10, Lo: 9.4, Hi: 10.4, Bounded: true}, {X: 1500, Y: 6.1, Lo: 5.9, Hi: 6.4, Bounded: true}, {X: 2000, Y: 7, Lo: 6.8, Hi: 7.4, Bounded: true}}},
		{Name: "vxlan-overlay", Color: 2, Points: []CurvePoint{{X: 1000, Y: 4, Lo: 3.5, Hi: 4.4, Bounded: true}, {X: 1400, Y: 5, Lo: 4.8, Hi: 5.2, Bounded: true}, {X: 1500, Y: 2.9, Lo: 0, Hi: 0, Bounded: false}, {X: 2000, Y: 3.4, Lo: 3.2, Hi: 3.6, Bounded: true}}},
	}, 0, "datagram, byte", "throughput, Gbit/s", "Sweep.", false},
	"over":  over(),
	"lanes": twoWays,
	"machines": Machines{Side{"node1", []string{"zone east-1", "16 CPUs"}}, Side{"a-machine-with-a-very-long-name.example", []string{"zone east-2"}},
		[]Link{{"host", "MTU 9001", 0, "ens3", "ens3"}, {"vxlan-overlay", "MTU 8951", 2, "eth0", "a-very-long-device, eth0"}, {"wg", "", 3, "", ""}}, "Machines."},
	"grouped":       Grouped{twoGroups, "", "throughput, Gbit/s", "Grouped."},
	"grouped-ratio": Grouped{twoGroups, "idle", "response time ÷ idle", "Grouped ratios."},
	"heat-lines": Heat{Rows: names[:2], Columns: names[:2], Cells: [][]Square{{{10, "10.0\n[9.1, 11.0]\n= 1"}, {8, "8.0\n[7.2, 8.8]\n0.80×\n[0.75, 0.86]"}}, {{4, "4.0"}, {}}},
		Axis: "throughput, Gbit/s", Alt: "Lines."},
	"trials":      trials,
	"trials-busy": busyTrials, "overview": overview, "strips": strips,
	"runs":           fourRuns,
	"runs-one":       Runs{Dates: []string{"10:00"}, Axis: "ratio", Alt: "One run."},
	"trials-none":    Trials{Alt: "No trials."},
	"forest":         Forest{forest, "host", "throughput ÷ host (right is better)", "Forest."},
	"flame":          flame,
	"waterfall":      Waterfall{falls[0], falls, "× UDP with one send per datagram"},
	"waterfall-back": Waterfall{falls[1], falls, "× UDP with one send per datagram"},
	"cost": Cost{[]Bar{{"host", 0, []float64{0.2, 0.9, 0.4}}, {"bridge", 1, []float64{0.2, 1, 0.7, 0.1}}},
		[]string{"user", "system", "softirq", "irq"}, "CPU time per packet, µs", "Cost."},
}

// manyCells has labels that do not fit; the chart omits them.
func manyCells() Heat {
	h := Heat{Axis: "µs", Alt: "Many."}
	for i := range 24 {
		h.Rows = append(h.Rows, "h"+strings.Repeat("0", i%3))
		h.Cells = append(h.Cells, slices.Repeat([]Square{{float64(i), "123456"}}, 24))
	}
	h.Columns = h.Rows
	return h
}

func TestGolden(t *testing.T) {
	for name, c := range charts {
		t.Run(name, func(t *testing.T) {
			got, err := c.SVG()
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := c.SVG(); got != again {
				t.Error("the same chart gave different bytes")
			}
			wellFormed(t, got)
			file := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s; look at the drawing, then run the test with -update", file)
			}
		})
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
}

// The page decides colors, fonts and size.
func TestPageDecides(t *testing.T) {
	for name, c := range charts {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(svg, ">")
		for _, bad := range []string{"font-family", "<?xml"} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
		if strings.Contains(head, " width=") {
			t.Errorf("%s has a fixed width: %s", name, head)
		}
		if strings.Contains(svg, "#") {
			t.Errorf("%s has a color of its own", name)
		}
		if small := regexp.MustCompile(`font-size[:=]"?([0-9]|10)(\.\d+)?\b`).FindString(svg + Style); small != "" {
			t.Errorf("%s has text below 11 px: %s", name, small)
		}
	}
}

func TestNoNumberNoChart(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]drawing{
		"ratio":               Ratios{Rows: []Row{{Name: "x", Value: nan}}},
		"ratio below 0":       Ratios{Rows: []Row{{Name: "x", Value: -1}}},
		"value":               Values{Rows: []Row{{Name: "x", Value: math.Inf(1)}}},
		"trial":               Trials{[]TrialRow{{Name: "x", Median: 1, Points: []TrialPoint{{Value: nan, Has: true}}}}, []string{"1"}, "", "", "", "", "", ""},
		"trial of no block":   Trials{[]TrialRow{{Name: "x", Median: 1, Points: []TrialPoint{{At: 1}}}}, []string{"1"}, "", "", "", "", "", ""},
		"run":                 Runs{Dates: []string{"x"}, Curves: []Curve{{Name: "x", Points: []CurvePoint{{Y: nan}}}}},
		"run below 0":         Runs{Dates: []string{"x"}, Curves: []Curve{{Name: "x", Points: []CurvePoint{{Y: -1}}}}},
		"run that is not":     Runs{Dates: []string{"x"}, Curves: []Curve{{Name: "x", Points: []CurvePoint{{X: 1, Y: 1}}}}},
		"latency":             Latency{Lines: []Curve{{Name: "x", Points: []CurvePoint{{X: 0.5, Y: nan}}}}},
		"ladder":              Ladder{Groups: []Group{{Name: "x", Steps: []Step{{Name: "sent", Value: nan}}}}},
		"flame":               Flame{Frames: []Frame{{Value: nan}}},
		"flame of nothing":    Flame{Frames: []Frame{{Label: "x"}}},
		"waterfall":           Waterfall{Fall: Fall{"x", []Row{{Name: "y", Value: nan}}, Row{Value: 1}, ""}},
		"waterfall below 0":   Waterfall{Fall: Fall{"x", nil, Row{Value: -1}, ""}},
		"waterfall's product": Waterfall{Fall: Fall{"x", []Row{{Value: 1e99}, {Value: 1e99}}, Row{Value: 1}, ""}},
		"cost":                Cost{Bars: []Bar{{"x", 0, []float64{nan}}}, Names: []string{"user"}},
		"cost unnamed":        Cost{Bars: []Bar{{"x", 0, []float64{1, 2}}}, Names: []string{"user"}},
		"sweep":               Sweep{Curves: []Curve{{Name: "x", Points: []CurvePoint{{X: nan}}}}},
		"heat":                Heat{Rows: []string{"x"}, Columns: []string{"y"}, Cells: [][]Square{{{nan, "x"}}}},
		"over":                oneTime(1, nan),
		"over too short":      oneTime(1),
		"lanes back in time":  Lanes{Lanes: []string{"x"}, Panels: []LanePanel{{Stops: []Stop{{At: 1}, {At: 0.5}}}}},
		"lanes out of it":     Lanes{Lanes: []string{"x"}, Panels: []LanePanel{{Stops: []Stop{{Lane: 1}}}}},
		"over nothing":        TimeSeries{Times: []float64{0, 1}},
		"over back in time":   TimeSeries{Times: []float64{1, 0}, Panels: oneTime(1, 2).Panels},
		"over a color":        TimeSeries{Times: []float64{0, 1}, Panels: []Panel{{Stack: true, Lines: []TimeLine{{Color: 6, Y: []float64{1, 2}}}}}},
		"heat's shape":        Heat{Rows: []string{"x"}, Columns: []string{"y", "z"}, Cells: [][]Square{{{1, "x"}}}},
	} {
		if svg, err := c.SVG(); err == nil || svg != "" {
			t.Errorf("%s: %d bytes and error %v", name, len(svg), err)
		}
	}
}

// A network that stalls has an interval from 0, or a ratio of 0: it stays in the chart, at its edge.
func TestRatioOfZero(t *testing.T) {
	for _, r := range []Row{{Name: "x", Value: 0.9, Hi: 0.95, Bounded: true}, {Name: "x", Hi: 0.5, Bounded: true}} {
		svg, err := Ratios{Rows: []Row{{Name: "y", Value: 0.8, Lo: 0.7, Hi: 0.9, Bounded: true}, r}}.SVG()
		if err != nil || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%+v: %v\n%s", r, err, svg)
		}
	}
}

// Foreign numbers can be any float64.
func FuzzAxes(f *testing.F) {
	f.Add(0.0, 24.1, 0.5)
	f.Add(math.MaxFloat64, 1e-300, -3.0)
	f.Add(1e15, 1e15+0.1, 1e99)
	f.Fuzz(func(t *testing.T, a, b, c float64) {
		rows := []Row{{Name: "x", Value: a, Lo: b, Hi: c, Bounded: true, Ceiling: max(c, 0)}, {Name: "y", Value: b}}
		points := []CurvePoint{{X: min(a, b), Y: c}, {X: max(a, b), Y: a, Lo: b, Hi: c, Bounded: true}}
		for name, d := range map[string]drawing{
			"ratios":    Ratios{Rows: rows},
			"values":    Values{Rows: rows},
			"latency":   Latency{Lines: []Curve{{Name: "x", Points: []CurvePoint{{Y: a}, {X: c, Y: b}}}}},
			"ladder":    Ladder{Groups: []Group{{Name: "x", Steps: []Step{{Name: "a", Value: a, Lost: c}, {Name: "b", Value: b}}}}},
			"sweep":     Sweep{Curves: []Curve{{Name: "x", Points: points}}, Reference: 1},
			"waterfall": Waterfall{Fall: Fall{"x", rows, rows[1], ""}},
			"cost":      Cost{Bars: []Bar{{"x", 0, []float64{a, b, c}}}, Names: []string{"", "", ""}},
			"heat":      Heat{Rows: []string{"x"}, Columns: []string{"y"}, Cells: [][]Square{{{a, "x"}}}},
			"over":      TimeSeries{Times: []float64{a, b}, Window: c, Panels: []Panel{{Top: a, Lines: []TimeLine{{Y: []float64{b, c}, Lo: []float64{a, a}, Hi: []float64{c, b}}}}}},
			"trials":    Trials{[]TrialRow{{Name: "x", Median: a, Points: []TrialPoint{{Value: b, Has: true}, {At: 1, Value: c, Has: true}}}}, []string{"1", "2"}, "", "", "", "", "", ""},
			"stack":     TimeSeries{Times: []float64{0, 1}, Panels: []Panel{{Stack: true, Lines: []TimeLine{{Y: []float64{a, b}}, {Y: []float64{b, c}}}}}},
		} {
			svg, err := d.SVG()
			if (svg == "") == (err == nil) {
				t.Errorf("%s: %d bytes and error %v", name, len(svg), err)
			}
			if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
				t.Errorf("%s draws at no place: %s", name, svg)
			}
		}
	})
}

func TestSpread(t *testing.T) {
	ys := []float64{50, 51, 52, 53, 300}
	spread(ys, 15, 40, 310)
	for i := 1; i < len(ys); i++ {
		if ys[i]-ys[i-1] < 14.9 {
			t.Errorf("positions %v and %v are closer than 15", ys[i-1], ys[i])
		}
	}
	if ys[0] < 40 || ys[4] > 310 {
		t.Errorf("%v left the range", ys)
	}
}

func TestClip(t *testing.T) {
	for _, s := range []string{"host", "flannel-vxlan-directrouting-on-a-long-day", "żółć-żółć-żółć-żółć-żółć-żółć", ""} {
		got := clip(s, 100, 12)
		if textWidth(got, 12) > 100 {
			t.Errorf("clip(%q) = %q is wider than 100", s, got)
		}
	}
	if got := clip("network-number-1", 60, 12); !strings.HasSuffix(got, "1") {
		t.Errorf("clip lost the end: %q", got)
	}
}
