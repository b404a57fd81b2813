package trial

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// silent answers no questions.
type silent struct{}

func (silent) Write(b []byte) (int, error) { return len(b), nil }
func (silent) Close() error                { return nil }

// A background's report counts only if it is possible.
func TestCollect(t *testing.T) {
	for _, c := range []struct {
		name, says string
		want       float64
		reason     string
	}{
		{"work", `{"event":"count","at":1000000000,"bytes":10}` + "\n" + `{"event":"count","at":3000000000,"bytes":30}` + "\n", 10, ""},
		{"none", `{"event":"count","at":1,"bytes":10}` + "\n" + `{"event":"count","at":3,"bytes":10}` + "\n", 0, "load x: work is 0 1/s: it did nothing in the window"},
		{"less than before", `{"event":"count","at":1,"bytes":10}` + "\n" + `{"event":"count","at":3,"bytes":9}` + "\n", 0, "it did nothing in the window"},
		{"no time", `{"event":"count","at":3,"bytes":10}` + "\n" + `{"event":"count","at":3,"bytes":11}` + "\n", 0, "impossible: a window from 3 to 3 ns"},
		{"one answer too many", strings.Repeat(`{"event":"count","at":1,"bytes":10}`+"\n", 3), 0, "the window of the trial is unknown"},
		{"no answer", "", 0, "did not report what it did within 10s"},
		{"junk", strings.Repeat(`{"event":"count","at":"noon"}`+"\n", 2), 0, "load x: json: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, _, _ := setup()
				start(t, &s)
				load := &Background{name: "load x", questions: silent{}, values: func(from, to count) []record.Value {
					return []record.Value{{Name: "work", Unit: "1/s", Value: float64(to.Bytes-from.Bytes) / to.since(from)}}
				}}
				load.counter.done, load.driver.done = make(chan struct{}), make(chan struct{})
				if _, err := load.counter.stdout.Write([]byte(c.says)); err != nil {
					t.Fatal(err)
				}
				s.Background = []*Background{load}
				r, err := Run(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if c.reason == "" != (r.Status == record.OK) || !strings.Contains(r.Reason, c.reason) {
					t.Errorf("%s: %s", r.Status, r.Reason)
				}
				if v, _ := r.Get("work"); c.reason == "" && v.Value != c.want {
					t.Errorf("%+v, want %g", v, c.want)
				}
				if _, ok := r.Get("cpu.per.bit"); ok || r.Observed["cpu.includes"] != "load x" {
					t.Errorf("a cost of two traffics, found %v", r.Observed)
				}
				if _, ok := r.Get("packet.rate"); ok {
					t.Error("a packet rate of two traffics")
				}
			})
		})
	}
}

// A load's datagrams can be fragmented; the probe's must not be.
func TestFragmentsOfALoad(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		s, _, _, _ := setup()
		other := &Background{name: "x"}
		if loaded {
			other.driver.done = make(chan struct{})
		}
		s.Background = []*Background{other}
		s.Plan.Expect = []plan.Expect{{State: plan.State{In: "h1"}, Proof: plan.Proof{NoFragments: true}}}
		x := &execution{}
		x.readings.First.Nodes = map[string]sample.Counters{"h1": {"ip.FragCreates": 1}}
		x.readings.Last.Nodes = map[string]sample.Counters{"h1": {"ip.FragCreates": 3}}
		m := probe.Measured{Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1}}, Protocol: "udp", Datagram: 1400}
		err := s.judge(&record.Result{}, m, x)
		if loaded != (err == nil) {
			t.Errorf("under load %v: %v", loaded, err)
		}
		var r record.Result
		s.Plan.Path.MTU = 1400 // required fragmentation is counted
		s.fragmented(&r, m, x)
		if _, counted := r.Get("fragments.sent"); counted == loaded {
			t.Errorf("under load %v: %+v", loaded, r.Values)
		}
	}
}
