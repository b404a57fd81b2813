package chart

// fourRuns has a run without one of the networks, a ratio without an interval, one from 0, and two changes.
var fourRuns = Runs{Dates: []string{"Nov 2", "Nov 9", "Nov 16", "Nov 23"}, Marks: []string{"", "a", "b"}, Curves: []Curve{
	{Name: "bridge", Color: 1, Points: []CurvePoint{{X: -0.1, Y: 0.97, Lo: 0.94, Hi: 1, Bounded: true}, {X: 0.9, Y: 0.96}, {X: 2.9, Y: 0.98, Lo: 0.95, Hi: 1.02, Bounded: true}}},
	{Name: "vxlan-overlay", Color: 2, Points: []CurvePoint{{X: 0.1, Y: 0.66, Lo: 0.6, Hi: 0.7, Bounded: true}, {X: 1.1, Y: 0.65, Lo: 0.61, Hi: 0.7, Bounded: true}, {X: 2.1, Y: 0.44, Lo: 0.4, Hi: 0.5, Bounded: true}, {X: 3.1, Y: 0.45, Lo: 0, Hi: 0.5, Bounded: true}}},
}, Axis: "throughput ÷ host (higher is better)", Alt: "Runs."}
