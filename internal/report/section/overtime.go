package section

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/analysis/timeline"
	"github.com/weir-bench/weir/internal/chart"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/unit"
)

var overTimeAbout = say("Medians over the trials at each time since the measured window began, between dotted lines; shades are quartiles. Hosts of a lab share the machine's CPUs: the modes are the machine's, in steps of 10 ms, and threads belong to the host or pod whose network they use. Throughput is what the receiving end's device counted, with headers.")

// overTimeSection has a part per probe and condition with a figure per network whose trials were sampled.
func overTimeSection(s source) []doc.Section {
	x := doc.Section{ID: "over-time", Title: say("CPU and throughput over time"), Label: say("over time"), About: overTimeAbout, Flat: true, In: []doc.Medium{doc.Page}}
	var titles doc.Groups[string, timeline.Timeline]
	for _, o := range timeline.Of(s.p) {
		titles.Add(s.Under(o.Probe, o.Levels), o)
	}
	for _, title := range titles.Keys {
		cells := titles.Of[title]
		id := "over-time " + cells[0].Probe + " " + prose.Levels(cells[0].Levels)
		part := doc.Section{ID: id, Probe: cells[0].Probe, Title: title, Label: title, Data: cells, Fold: len(titles.Keys) > manyTables}
		for _, o := range cells {
			part.Figures = append(part.Figures, s.overTime(o, id))
		}
		x.Parts = append(x.Parts, part)
	}
	if x.Parts == nil {
		return nil
	}
	return []doc.Section{x}
}

func (s source) overTime(o timeline.Timeline, id string) doc.Figure {
	var alt []string
	v := chart.TimeSeries{X: say("s since the measured window began"), Times: o.Times, Window: o.Window}
	if o.Throughput != nil {
		top := 0.0
		for _, y := range o.Throughput.High {
			top = max(top, y)
		}
		factor, label := unit.Scale(top, o.Throughput.Unit)
		v.Panels = append(v.Panels, chart.Panel{Axis: say("arrived at %s of %s, %s", o.Throughput.Name, o.Throughput.Place, label),
			Lines: []chart.TimeLine{timeLine(*o.Throughput, "", s.color(o.Network), factor)}})
		alt = append(alt, say("throughput %s", unit.Format(o.Throughput.Mean, o.Throughput.Unit)))
	}
	axis := say("CPUs in use by mode, cores")
	if o.CPUs > 0 {
		axis = say("CPUs in use by mode, cores of %d", o.CPUs)
	}
	modes := chart.Panel{Axis: axis, Top: float64(o.CPUs), Stack: true}
	for _, c := range o.Modes {
		modes.Lines = append(modes.Lines, chart.TimeLine{Name: word(c.Name), Color: slices.Index(timeline.Modes, c.Name), Y: c.Median})
		alt = append(alt, say("%s %.2f cores", c.Name, c.Mean))
	}
	v.Panels = append(v.Panels, modes)
	if len(o.Threads) > 0 {
		threads := chart.Panel{Axis: say("threads, % of a CPU"), Top: 100}
		for i, c := range o.Threads {
			program, thread := sample.Program(c.Name)
			label := strings.TrimSpace(c.Place + " " + string(finding.Describe(analysis.Thread{Program: program, Thread: thread}).Name))
			threads.Lines = append(threads.Lines, timeLine(c, label, i+1, 100))
			alt = append(alt, say("%s %.0f %% of a CPU", label, 100*c.Mean))
		}
		v.Panels = append(v.Panels, threads)
	}
	v.Alt = say("CPU and throughput over time, %s, %s: means %s.", o.Network, s.Under(o.Probe, o.Levels), prose.Alternatives(alt))
	f := doc.Figure{ID: id + " " + o.Network + " " + o.Host, Caption: o.Network, Chart: v, Note: say("%s of %d.", prose.Count(o.Trials, "trial"), o.Of)}
	if o.Host != "" {
		f.Caption += say(", machine %s", o.Host)
	}
	return f
}

func timeLine(c timeline.Course, name string, color int, factor float64) chart.TimeLine {
	l := chart.TimeLine{Name: name, Color: color}
	for i := range c.Median {
		l.Y, l.Lo, l.Hi = append(l.Y, c.Median[i]*factor), append(l.Lo, c.Low[i]*factor), append(l.Hi, c.High[i]*factor)
	}
	return l
}
