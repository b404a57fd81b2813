package chart

// busyTrials are all disturbed: their scale is that of what is drawn, not the smallest.
var busyTrials = Trials{Rows: []TrialRow{{Name: "host", Median: 10, Points: []TrialPoint{{At: 0, Value: 5, Has: true, State: TrialDisturbed}, {At: 1, Value: 14, Has: true, State: TrialDisturbed}}}},
	Blocks: []string{"1", "2"}, Axis: "throughput, Gbit/s", Alt: "Busy.", Block: "区组", Scale: "半行为中位数的 {}。", Disturbed: "受干扰"}

// overview has an interval that says nothing, a network without one, and one that stalls.
var overview = Overview{[]RowGroup{{"TCP throughput", []Row{{Name: "bridge", Color: 1, Value: 0.93, Lo: 0.82, Hi: 1.06, Bounded: true, Label: "~ 0.93×"},
	{Name: "a-network-with-a-very-long-name", Color: 9, Value: 0.65, Lo: 0.01, Hi: 40, Bounded: true, Label: "0.65×"}}},
	{"UDP response time", []Row{{Name: "bridge", Color: 1, Value: 1.22, Label: "1.22×"}, {Name: "stalls", Color: 2, Value: 0, Lo: 0, Hi: 0.4, Bounded: true, Label: "0.00×"}}}}, "host", "÷ host", "Overview."}
