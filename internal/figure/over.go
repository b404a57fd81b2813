package figure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/analysis/timeline"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/unit"
)

// A Thread is one of chart threads.
type Thread struct {
	Name string `json:"name"` // program, or program/thread
	analysis.Thread
}

// A Pane is what one cell used inside its trials.
type Pane struct {
	Network string             `json:"network"`
	Probe   string             `json:"probe"`
	Levels  map[string]string  `json:"levels,omitempty"`  // of the study's factors
	Inside  *timeline.Timeline `json:"inside,omitempty"`  // of chart over
	Threads []Thread           `json:"threads,omitempty"` // of chart threads, the busiest first
}

const (
	threadsShown = 4    // of a cell
	leastShare   = 0.01 // of a CPU, that is drawn
)

// overTime takes what trials sampled inside their windows.
func (r *Result) overTime(run *analysis.Run) error {
	for _, o := range timeline.Of(run) {
		if r.has(o.Cell) && o.Used != nil {
			r.Panes = append(r.Panes, Pane{Network: o.Network, Probe: o.Probe, Levels: o.Levels, Inside: &o})
		}
	}
	return r.checkPanes(run, "sampled its trials over time: these need windows of 2 s or more")
}

// threads takes the busiest threads of each cell.
func (r *Result) threads(run *analysis.Run) error {
	for t, row := range run.Rows() {
		ts := row.Threads()
		if !r.has(t.Cell(*row)) || len(ts) == 0 {
			continue
		}
		p := Pane{Network: row.Network, Probe: t.Probe}
		for _, thread := range ts[:min(threadsShown, len(ts))] {
			p.Threads = append(p.Threads, Thread{thread.Name(), thread})
		}
		r.Panes = append(r.Panes, p)
	}
	return r.checkPanes(run, "recorded its threads")
}

func (r *Result) has(c analysis.Cell) bool {
	for k, l := range c.Levels {
		if ls := r.levels(k); ls != nil && !slices.Contains(ls, l) {
			return false
		}
	}
	return slices.Contains(r.levels(analysis.Network), c.Network) && slices.Contains(r.levels(analysis.Probe), c.Probe)
}

func (r *Result) checkPanes(run *analysis.Run, what string) error {
	if r.Panes == nil {
		return fmt.Errorf("no trial of figure %s %s", r.ID, what)
	}
	for _, n := range r.levels(analysis.Network) {
		if !slices.ContainsFunc(r.Panes, func(p Pane) bool { return p.Network == n }) {
			r.Missing = append(r.Missing, n+": "+missing(run, n))
		}
	}
	return nil
}

// overPanels has a chart of the CPUs in use and one of the throughput for each probe.
func (r Result) overPanels() (out []chart.Pane) {
	for _, probe := range r.levels(analysis.Probe) {
		cpu := chart.Sweep{X: say("seconds since the window began"), Y: say("CPUs in use, % of the machine"), Alt: word(r.Caption)}
		for _, p := range r.Published {
			if p.Value.Unit == "1" && p.about(map[string]string{analysis.Probe: probe}) {
				cpu.Reference = 100 * p.Value.Value
			}
		}
		rate := chart.Sweep{X: cpu.X, Alt: word(r.Caption)}
		top := 0.0
		for _, p := range r.Panes {
			if p.Probe == probe && p.Inside.Throughput != nil {
				top = max(top, slices.Max(p.Inside.Throughput.Median))
			}
		}
		factor, label := unit.Scale(top, "bit/s")
		rate.Y = say("throughput with headers, %s", label)
		for _, p := range r.Panes {
			if p.Probe != probe {
				continue
			}
			name, color := r.curve(p)
			share := 100.0
			if p.Inside.CPUs > 0 {
				share /= float64(p.Inside.CPUs)
			}
			cpu.Curves = append(cpu.Curves, course(name, color, p.Inside.Times, *p.Inside.Used, share))
			if p.Inside.Throughput != nil {
				c := course(name, color, p.Inside.Times, *p.Inside.Throughput, factor)
				c.Published = r.seconds(p, factor)
				rate.Curves = append(rate.Curves, c)
			}
		}
		if cpu.Curves != nil {
			out = append(out, chart.Pane{Title: probe, Chart: cpu})
		}
		if rate.Curves != nil {
			out = append(out, chart.Pane{Chart: rate})
		}
	}
	return out
}

// curve returns the name and color of a pane's curves: of its network, or of its levels in a figure of
// one network.
func (r Result) curve(p Pane) (name string, color int) {
	if len(p.Levels) == 0 || len(r.levels(analysis.Network)) > 1 {
		return p.Network, r.networkColor(p.Network)
	}
	var words []string
	for _, k := range slices.Sorted(maps.Keys(p.Levels)) {
		words = append(words, p.Levels[k])
	}
	return strings.Join(words, ", "), slices.IndexFunc(r.Panes, func(other Pane) bool {
		return other.Probe == p.Probe && maps.Equal(other.Levels, p.Levels)
	}) + 1
}

func course(name string, color int, times []float64, c timeline.Course, factor float64) chart.Curve {
	k := chart.Curve{Name: name, Color: color, Plain: true}
	for i, t := range times {
		k.Points = append(k.Points, chart.CurvePoint{X: t, Y: c.Median[i] * factor})
	}
	return k
}

// seconds are the published values of each second.
func (r Result) seconds(p Pane, factor float64) (out []chart.CurvePoint) {
	for _, pub := range r.Published {
		at := map[string]string{analysis.Network: p.Network, analysis.Probe: p.Probe}
		maps.Copy(at, p.Levels)
		if !pub.about(at) {
			continue
		}
		for i, q := range pub.Seconds {
			if x := float64(i) + 0.5; x < p.Inside.Window {
				out = append(out, chart.CurvePoint{X: x, Y: q.Value * factor})
			}
		}
	}
	return out
}

// networkColor is the color of a network: gray for the study's baseline.
func (r Result) networkColor(name string) int {
	all := r.levels(analysis.Network)
	if i := slices.Index(all, name); all[0] == r.Study.Baseline {
		return i
	} else {
		return i + 1
	}
}

// threadPanels has a chart for each probe with the busiest threads of each network.
func (r Result) threadPanels() (out []chart.Pane) {
	for _, probe := range r.levels(analysis.Probe) {
		c := chart.Bars{Reference: 100, Axis: say("% of one CPU"), Alt: word(r.Caption)}
		for _, p := range r.Panes {
			if p.Probe != probe {
				continue
			}
			g := chart.BarGroup{Name: p.Network}
			for _, t := range p.Threads {
				if t.Share.Center < leastShare {
					continue
				}
				name := strings.TrimSpace(t.Place + " " + t.Name)
				row := scaled(chart.Row{Name: name, Color: r.networkColor(p.Network), Value: t.Share.Center, Lo: t.Share.Lo, Hi: t.Share.Hi, Bounded: t.Share.Bounded()}, 100)
				row.Label = fixed(row.Value, 0) + " %"
				if t.Full {
					row.Label = say("%s, full", row.Label)
				}
				g.Bars = append(g.Bars, chart.BarRow{Row: row})
			}
			at := map[string]string{analysis.Network: p.Network, analysis.Probe: p.Probe}
			for _, pub := range r.Published {
				if pub.about(at) {
					g.Bars = append(g.Bars, chart.BarRow{Row: chart.Row{Name: word(pub.Thread), Label: fixed(100*pub.Value.Value, 0) + " %"}, Empty: true, Published: []float64{100 * pub.Value.Value}})
				}
			}
			c.Groups = append(c.Groups, g)
		}
		if c.Groups != nil {
			out = append(out, chart.Pane{Title: probe, Chart: c})
		}
	}
	return out
}
