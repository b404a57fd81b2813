package trial

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

func TestQueues(t *testing.T) {
	const path = "sys/class/net/eth0/queues/rx-"
	queues := func(masks ...string) bridged {
		files := fstest.MapFS{}
		for i, mask := range masks {
			files[path+string(rune('0'+i))+"/rps_cpus"] = &fstest.MapFile{Data: []byte(mask + "\n")}
		}
		return bridged{files: files}
	}
	on := []plan.Step{{In: "h1", Sysctl: &plan.Sysctl{Key: plan.DefaultRPS, Value: "3"}}, {In: "h2", Sysctl: &plan.Sysctl{Key: plan.DefaultRPS, Value: "3"}}}
	carries := func(in string) plan.Expect {
		return plan.Expect{State: plan.State{In: in, Dev: "eth0"}, Proof: plan.Proof{MustCarry: true}}
	}
	for _, c := range []struct {
		name        string
		steps       []plan.Step
		h1, h2, p1  bridged
		rps, queues string
		err         string
	}{
		{"off", nil, queues("0"), queues("00000000,00000000"), queues("0"), "off", "1", ""},
		{"on", on, queues("3"), queues("00000000,00000003"), queues("0"), "3 off", "1", ""},
		{"two queues", nil, queues("0", "0"), queues("0"), queues("0"), "off", "1 2", ""},
		{"lost", on, queues("3"), queues("0"), queues("0"), "", "", "receive packet steering of eth0 in h2 is off, the plan has it on"},
		{"no sysfs", nil, queues(), queues(), queues(), "", "", ""},
		{"no sysfs, on", on, queues(), queues(), queues(), "unknown", "", ""},
	} {
		s := &Setup{
			Plan:   plan.Plan{Steps: c.steps, Expect: []plan.Expect{carries("h1"), carries("h2"), carries("h1p1"), {State: plan.State{In: "h3", Dev: "eth0"}}, {State: plan.State{In: "h1"}}}},
			Client: plan.End{Node: "h1p1", Host: "h1"}, Server: plan.End{Node: "h2", Host: "h2"},
			Site: &target.Site{Nodes: map[string]target.Node{"h1": c.h1, "h2": c.h2, "h1p1": c.p1, "h3": queues("7", "7", "7")}}}
		r := record.Result{Observed: map[string]string{}}
		err := s.queues(&r)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if err == nil && (r.Observed["rps"] != c.rps || r.Observed["rx.queues"] != c.queues) {
			t.Errorf("%s: rps %q, queues %q, want %q, %q", c.name, r.Observed["rps"], r.Observed["rx.queues"], c.rps, c.queues)
		}
	}
}

// Two of three CPUs share the packets as 3 to 1, and were woken twice in half a second.
func TestSpread(t *testing.T) {
	host := &target.Host{ID: "m"}
	s := &Setup{Client: plan.End{Node: "a"}, Server: plan.End{Node: "b"},
		Site: &target.Site{Nodes: map[string]target.Node{"a": hosted{host: host}, "b": hosted{host: host}}}}
	at := func(cpu0, cpu1, woken float64) sample.Counters {
		return sample.Counters{"softnet.processed": cpu0 + cpu1 + 50, "softnet.cpu0.processed": cpu0, "softnet.cpu1.processed": cpu1, "softnet.cpu2.processed": 50, "softnet.rps": woken}
	}
	x := &execution{readings: readings{First: newReading(), Last: newReading()}}
	x.readings.First.Hosts["m"] = target.Reading{At: 1e9, Counters: at(100, 200, 7)}
	x.readings.Last.Hosts["m"] = target.Reading{At: 15e8, Counters: at(400, 300, 9)}
	r := record.Result{}
	s.spread(&r, x)
	if v, _ := r.Get("rx.cpus"); v.Value != 400.0/300 {
		t.Errorf("rx.cpus %v", v)
	}
	if v, _ := r.Get("rps.rate"); v.Value != 4 {
		t.Errorf("rps.rate %v", v)
	}
	none := record.Result{}
	if s.spread(&none, &execution{readings: readings{First: newReading(), Last: newReading()}}); len(none.Values) > 0 {
		t.Errorf("without readings: %v", none.Values)
	}
}

// A hosted node has only a host.
type hosted struct {
	target.Node
	host *target.Host
}

func (h hosted) Host() *target.Host { return h.host }
