package section

import (
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/stat"
)

// An open outage is a bound, however many trials have one; networks are ranked by when traffic followed the event, but not by an
// outage that is as long as those without it, or that began after it was undone.
func TestStops(t *testing.T) {
	s := newSource(reporttest.Analyzed(reporttest.Run(t)))
	cell := func(network string, outage, delay, after float64, change func(*analysis.Downtime)) analysis.Downtime {
		at := func(v float64) stat.Interval { return stat.Interval{Center: v, N: 4} }
		d := analysis.Downtime{Event: "off", Of: 4, Stopped: 4, Limit: 0.003, Lasted: 1, Worst: outage, Outage: at(outage), Delay: at(delay), After: at(after)}
		d.Network = network
		if change != nil {
			change(&d)
		}
		return d
	}
	fast, slow := cell("host", 1, 0.02, 0.01, nil), cell("routed", 1, 0.2, 0.3, nil)
	some := func(d *analysis.Downtime) { d.Stopped, d.Open = 2, 1 }
	for name, tc := range map[string]struct {
		all   []analysis.Downtime
		noise float64
		want  []string
		not   string
	}{
		"ranked":     {[]analysis.Downtime{slow, fast}, 0.01, []string{"flowed on over the host network for 20", "ms and over", "for 200", "again over the host network within 10"}, "at least"},
		"like noise": {[]analysis.Downtime{slow, fast}, 2, []string{"off, which lasts 1"}, "After it"},
		"later":      {[]analysis.Downtime{cell("host", 0.5, 3, 2.5, nil)}, 0.01, []string{"stops UDP traffic for 500"}, "After it"},
		"some open":  {[]analysis.Downtime{cell("host", 2, 0.02, 0, some)}, 0, []string{"for at least 2", "in the worst of 2 of 4 trials", "in 1 of 4 trials"}, "up to"},
		"some":       {[]analysis.Downtime{cell("host", 2, 0.02, 0, func(d *analysis.Downtime) { d.Stopped = 2 })}, 0, []string{"for up to 2", "in 2 of 4 trials"}, "at least"},
		"to the end": {[]analysis.Downtime{cell("host", 2, 0.02, 0, func(d *analysis.Downtime) { d.ToEnd, d.Open, d.AtLeast = true, 4, true })}, 0, []string{"which lasts until the measurement ends", "for at least 2"}, "After it"},
		"held": {[]analysis.Downtime{cell("host", 2, 0.02, 0, func(d *analysis.Downtime) {
			d.Passed, d.Noticed = stat.Interval{N: 4}, stat.Interval{Center: 0.05, N: 4}
		})}, 0,
			[]string{"reported other routes or rules over the host network within 50", "nothing passed over the host network in 4 trials"}, "still answered"},
		"leaks": {[]analysis.Downtime{cell("host", 2, 0.02, 0, func(d *analysis.Downtime) {
			d.Passed, d.PassedFor, d.PassedMost = stat.Interval{Center: 12, N: 4}, stat.Interval{Center: 0.03, N: 4}, 31
		})}, 0, []string{"still answered: 12.0 over the host network for 30", "(most: 31)"}, "nothing passed"},
		"exact median": {[]analysis.Downtime{cell("host", 2, 0.02, 0, func(d *analysis.Downtime) { d.Open = 1 })}, 0, []string{"for 2", "worst of 4: at least 2"}, "for at least"},
		"nothing stops": {[]analysis.Downtime{cell("host", 0, 0, 0, func(d *analysis.Downtime) { d.Stopped, d.Passed, d.PassedMost = 0, stat.Interval{Center: 9, N: 4}, 9 })}, 0,
			[]string{"off stops no UDP traffic over the host network: no outage above 3 ms in 4 trials. Once its steps"}, "which lasts"},
	} {
		text := strings.Join(lang.In(nil, s.stops("off", "UDP traffic", tc.all, tc.noise)), " ")
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", name, text, want)
			}
		}
		if strings.Contains(text, tc.not) {
			t.Errorf("%s: %q has %q", name, text, tc.not)
		}
	}
}

// An event that fails is named with its reason, and one that leads traffic elsewhere with what to say in the study.
func TestEventFailed(t *testing.T) {
	for reason, want := range map[string]string{
		"event off: step 1 of 2, in h2: set x up or down: no such device; undo: step 1 of 3, in h2: set x":                                          "the event off failed: in h2: set x up or down: no such device",
		"event off: undo: step 1 of 3, in h2: no route":                                                                                             "the event off failed: undo: step 1 of 3, in h2: no route",
		"eth0 of h2 moved 1 bytes: the traffic took another path; if the event off is meant to lead it there, say so in the study (traffic: moves)": "the event off led traffic over other devices; if it is meant to, say so in the study (traffic: moves)",
		"client: exit status 1": "",
	} {
		table := analysis.Table{Levels: map[string]string{analysis.Event: "off"}}
		row := analysis.Row{Points: []analysis.Point{{Reason: reason}}}
		if got := lang.Text(eventFailed(table, row)).String(); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}
