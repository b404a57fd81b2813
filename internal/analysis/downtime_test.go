package analysis

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// pulled makes the trials of a run in which a cable is pulled for 300 ms. Traffic of host stops for 1 s and that of routed for
// 1.2 s, when a neighbor is known again; nothing stops without the event.
func pulled(blocks int) ([]record.Result, Options) {
	var all []record.Result
	o := Options{Baseline: "host", Evidence: map[string]*evidence.Trial{}}
	for b := 1; b <= blocks; b++ {
		for network, stops := range map[string]float64{"host": 1, "routed": 1.2} {
			for _, event := range []string{NoEvent, "pulled"} {
				name := fmt.Sprintf("b%d-%s-%s", b, network, event)
				r := record.Result{Trial: name, Block: b, Status: record.OK, Observed: record.Observed{},
					Config: map[string]string{Network: network, Probe: "udp-outage", Event: event}}
				e := &evidence.Event{Limit: 3e6, From: 1e9, Bin: 1e8, Arrivals: []int64{10, 10, 0, 0, 5}}
				if event == NoEvent {
					r.Values = []record.Value{record.Outage.Whole().Value("s", 0)}
				} else {
					stop := stops + 0.001*float64(b)
					r.Values = []record.Value{record.Outage.Whole().Value("s", stop), record.EventLasted.Whole().Value("s", 0.3),
						record.OutageDelay.Whole().Value("s", 0), record.Recovery.Whole().Value("s", stop-0.3)}
					e.Name, e.Begin, e.Undo, e.Undone = event, 12e8, 15e8, 15e8
					end := e.Begin + int64(stop*1e9)
					e.Gaps = []evidence.Gap{{Way: evidence.There, Begin: e.Begin, End: end + 5e9}, {Way: evidence.RoundTrip, Begin: e.Begin, End: end}}
					e.Changes = []evidence.Change{
						{At: e.Begin + 1e5, In: "h2", What: evidence.OfDevice, Dev: "eth0", State: evidence.Down},
						{At: end + 2e5, In: "h1", What: evidence.OfNeighbor, Dev: "eth0", To: "198.18.0.2", State: evidence.Known}}
				}
				all, o.Evidence[name] = append(all, r), &evidence.Trial{Format: evidence.Format, Event: e}
			}
		}
	}
	return all, o
}

func TestDowntimes(t *testing.T) {
	r := New(pulled(12))
	all := r.Downtimes()
	var names []string
	for _, d := range all {
		names = append(names, d.Event+" "+d.Network)
	}
	if got, want := fmt.Sprint(names), "[pulled host pulled routed none host none routed]"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	host, routed, none := all[0], all[1], all[2]
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if !near(host.Outage.Center, 1.0065) || !near(host.Worst, 1.012) || !host.Outage.Bounded() || host.Stopped != 12 || host.Of != 12 || host.More.N != 0 {
		t.Errorf("host: %+v", host)
	}
	if !near(routed.More.Center, 0.2) || !routed.More.Bounded() || routed.More.Lo < 0.19 || !near(routed.After.Center, 0.9065) || !near(routed.Lasted, 0.3) {
		t.Errorf("routed: %+v", routed)
	}
	if none.Stopped != 0 || none.Worst != 0 || none.Outage.Center != 0 || none.Outage.Hi != 0 || none.Told != nil || none.Delay.N != 0 || none.Limit != 0.003 {
		t.Errorf("without an event: %+v", none)
	}
	if got := host.Reasons(); len(got) != 1 || got[0].In != "h1" || got[0].What != evidence.OfNeighbor || got[0].Meets != 12 || !near(got[0].Resumed, -2e-4) {
		t.Errorf("traffic flowed again with %+v", got)
	}
	if host.AtLeast || host.Open != 0 || host.ToEnd || host.P99 != 0 {
		t.Errorf("host has ended outages, and too few for a 99th percentile: %+v", host)
	}
	if len(host.Told) != 2 || host.Told[0].State != evidence.Down || !near(host.Told[0].At, 1e-4) {
		t.Errorf("told: %+v", host.Told)
	}
	for _, row := range r.Tables[0].Rows {
		if row.Ratio.N > 0 {
			t.Errorf("a ratio of outages: %+v", row.Ratio)
		}
	}
}

// A reason is one only if it is there in nearly all trials, and if traffic did not flow as soon as the event was undone.
func TestNoReason(t *testing.T) {
	for name, change := range map[string]func(r *record.Result, e *evidence.Event, block int){
		"far from it": func(_ *record.Result, e *evidence.Event, _ int) { e.Changes[1].At += 1e8 },
		"in half":     func(_ *record.Result, e *evidence.Event, b int) { e.Changes = e.Changes[:1+b%2] },
		"twice in half": func(_ *record.Result, e *evidence.Event, b int) {
			e.Changes = append(e.Changes[:1+b%2], slices.Repeat(e.Changes[1:2], b%2)...)
		},
		"undone at once": func(r *record.Result, _ *evidence.Event, _ int) { r.Values[3].Value = 0.001 },
		"never again":    func(_ *record.Result, e *evidence.Event, _ int) { e.Gaps[1].Open = true },
		"not stopped":    func(r *record.Result, _ *evidence.Event, b int) { r.Values[0].Value *= float64(b % 2) },
	} {
		results, o := pulled(12)
		for i := range results {
			if e := o.Evidence[results[i].Trial].Event; e.Name != "" {
				change(&results[i], e, results[i].Block)
			}
		}
		if got := New(results, o).Downtimes()[0].Reasons(); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Ends that learn of each other at the same moment are both named; what else the kernel told then is not.
func TestReasonsOfBothEnds(t *testing.T) {
	results, o := pulled(12)
	for _, x := range o.Evidence {
		if e := x.Event; e.Name != "" {
			known := e.Changes[1]
			known.In, known.To, known.At = "h2", "198.18.0.1", known.At+3e5
			later := known
			later.To, later.At = "198.18.0.3", e.Changes[1].At-4e6
			route := evidence.Change{At: known.At, In: "h2", What: evidence.OfRoute, To: "default", State: evidence.Set}
			e.Changes = append(e.Changes, known, later, route)
		}
	}
	got := New(results, o).Downtimes()[0].Reasons()
	if len(got) != 2 || got[0].To != "198.18.0.2" || got[1].To != "198.18.0.1" {
		t.Errorf("%+v, want the neighbors of h1 and h2", got)
	}
}

// An outage that is open can be of any greater length: the median is that of the others while it can be told, and at least as
// long otherwise. A difference to it is not told.
func TestOpenOutages(t *testing.T) {
	for open, want := range map[int]struct{ exact, bounded bool }{1: {true, true}, 4: {true, true}, 7: {false, true}, 12: {false, true}} {
		results, o := pulled(12)
		for _, r := range results {
			if e := o.Evidence[r.Trial].Event; e.Name != "" && r.Config[Network] == "routed" && r.Block > 12-open {
				e.Gaps[1].Open = true
			}
		}
		all := New(results, o).Downtimes()
		d := all[1]
		if d.Open != open || d.AtLeast == want.exact || math.Abs(d.Outage.Center-1.2065) > 1e-9 || d.Outage.Bounded() != want.bounded || d.Outage.Open() != (open > 1) {
			t.Errorf("%d open: %+v", open, d)
		}
		if d.More.N != 0 || all[0].Open != 0 || all[0].Outage.Open() {
			t.Errorf("%d open: routed %+v, host %+v", open, d.More, all[0].Outage)
		}
	}
}

// The 99th percentile of fewer trials than 100 would be the worst of them.
func TestPercentileOfOutages(t *testing.T) {
	for blocks, want := range map[int]float64{99: 0, 100: 1.099, 150: 1.149} {
		d := New(pulled(blocks)).Downtimes()[0]
		if math.Abs(d.P99-want) > 1e-9 || math.Abs(d.Worst-(1+0.001*float64(blocks))) > 1e-9 {
			t.Errorf("%d trials: 99th percentile %v and worst %v, want %v", blocks, d.P99, d.Worst, want)
		}
	}
}

func TestAligned(t *testing.T) {
	all := New(pulled(2)).Downtimes()[:2]
	times, rates := Aligned(all)
	if len(times) != 4 && len(times) != 5 || len(rates) != 2 || len(rates[0]) != 2 {
		t.Fatalf("%v, %v", times, rates)
	}
	if math.Abs(times[0]+0.15) > 1e-9 || rates[1][1][0] != 100 || rates[1][1][2] != 0 {
		t.Errorf("%v, %v: want 100/s from 0.2 s before the event, and nothing after it", times, rates)
	}
	if times, rates := Aligned(nil); times != nil || rates != nil {
		t.Errorf("of nothing: %v, %v", times, rates)
	}
}
