package trial

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// A silence is a stall unless the sender's schedule contains it.
func TestStalled(t *testing.T) {
	for _, c := range []struct {
		throughput, silence, pause float64
		want                       string
	}{
		{1e9, 0.049, 0, ""},
		{1e9, 0.051, 0, "more than 50 ms"},
		{1e3, 0.8, 0.8, ""},
		{1e3, 0.9, 0.8, "more than 50 ms"},
		{0, 0.3, 0, "nothing arrived in the window"},
	} {
		values := []record.Value{{Name: "throughput", Value: c.throughput}, {Name: "silence", Value: c.silence}}
		got := stalled(&record.Result{Values: values}, probe.Measured{Values: values, Pause: c.pause})
		if (got == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(got), c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for _, c := range []struct {
		received, failed float64
		want             string
	}{
		{10, 10, "the server's kernel refused"},
		{10, 6, "the server's kernel refused"}, // the warm-up's were accepted
		{10, 4, "a stall lasted longer"},
		{0, 0, "a stall lasted longer"}, // none arrived either
	} {
		r := record.Result{Values: []record.Value{{Name: "throughput"}, {Name: "fragments.received", Value: c.received}, {Name: "fragments.failed", Value: c.failed}}}
		if got := stalled(&r, probe.Measured{Values: r.Values[:1]}); !strings.Contains(fmt.Sprint(got), c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := stalled(new(record.Result), probe.Measured{Values: []record.Value{{Value: 1}}}); got != nil {
		t.Errorf("a tool that tells of no silence: %q", got)
	}
}

// A device carries traffic in either direction. Where packets are merged, only bytes count.
func TestCarried(t *testing.T) {
	moved := sample.Counters{"dev.e.rx_bytes": 5000, "dev.e.tx_bytes": 100, "dev.e.rx_packets": 5, "dev.e.tx_packets": 2}
	for _, c := range []struct {
		name           string
		joined         bool
		moved          sample.Counters
		bytes, packets float64
		ok             bool
	}{
		{"all", false, moved, 5000, 5, true},
		{"too few bytes", false, moved, 5100, 0, false},
		{"a count that was rounded", false, moved, 5040, 5.04, true},
		{"too few packets", false, moved, 0, 6, false},
		{"joined packets", true, moved, 5000, 100, true},
		{"joined, too few bytes", true, moved, 5100, 0, false},
		{"nothing", true, sample.Counters{}, 0, 0, false},
	} {
		err := carried(plan.Expect{State: plan.State{In: "h", Dev: "e"}, Proof: plan.Proof{Joined: c.joined}}, []string{"e"}, c.moved, c.bytes, c.packets)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What an event leads over other devices must have passed those that it names, together with the plan's.
func TestEventOver(t *testing.T) {
	for _, c := range []struct {
		event plan.Event
		want  string // of the error
	}{
		{plan.Event{}, "eth0 of h2 moved 1000 bytes in 1 packets"},
		{plan.Event{Name: "x"}, "say so in the study (traffic: moves)"},
		{plan.Event{Name: "x", Traffic: plan.Moves}, ""},
		{plan.Event{Name: "x", Traffic: plan.Moves, Over: []plan.Device{{In: "h2", Dev: "eth1"}}}, ""},
		{plan.Event{Name: "x", Traffic: plan.Moves, Over: []plan.Device{{In: "h2", Dev: "eth2"}}}, "eth0 and eth2 of h2 moved 1000 bytes in 1 packets"},
		{plan.Event{Name: "x", Traffic: plan.Moves, Over: []plan.Device{{In: "h1", Dev: "eth1"}}}, "the event x names the devices that it may take (over)"},
		{plan.Event{Name: "x", Do: []plan.Step{{In: "h2", Daemon: &plan.Daemon{Name: "bird", Do: plan.Kill}}}}, ""},
	} {
		s, _, _, _ := setup()
		s.Event = c.event
		x := &execution{}
		x.readings.First.Nodes = map[string]sample.Counters{"h1": {}, "h2": {"dev.eth0.rx_bytes": 1, "dev.eth0.rx_packets": 1}}
		x.readings.Last.Nodes = map[string]sample.Counters{"h1": {}, "h2": {"dev.eth0.rx_bytes": 1001, "dev.eth0.rx_packets": 2, "dev.eth1.rx_bytes": 9000, "dev.eth1.rx_packets": 9}}
		m := probe.Measured{Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1}}, Messages: 10, Moved: 10000}
		err := s.judge(&record.Result{}, m, x)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.event, err, c.want)
		}
	}
}

// A small receive buffer is noted only if it dropped datagrams, on a machine that is not weir's.
func TestSqueezed(t *testing.T) {
	for _, c := range []struct {
		private bool
		rcvbuf  string
		dropped float64
		want    string
	}{
		{false, "425984", 0.1, "dropped 10% of the datagrams: its buffer is 212992 bytes, and weir asks for 4194304; raise net.core.rmem_max on h2"},
		{false, "425984", 0, ""}, {true, "425984", 0.1, ""}, {false, "8388608", 0.1, ""}, {false, "", 0.1, ""},
	} {
		s, _, _, _ := setup()
		s.Site.Private = c.private
		r := record.Result{Observed: map[string]string{"rcvbuf": c.rcvbuf}, Values: []record.Value{{Name: "loss.socket", Unit: "1", Value: c.dropped}}}
		if got := s.squeezed(&r); (got == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(got), c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A host forwards a few packets of a path below its IP stack, while a next hop is resolved, and no more.
func TestBelow(t *testing.T) {
	e := plan.Expect{State: plan.State{In: "h1"}, Proof: plan.Proof{Below: true}}
	for _, c := range []struct {
		moved          sample.Counters
		bytes, packets float64
		ok             bool
	}{
		{nil, 0, 100, true},
		{sample.Counters{"ip.ForwDatagrams": 10}, 0, 100, true},
		{sample.Counters{"ip.ForwDatagrams": 11}, 0, 100, false},
		{sample.Counters{"ip6.OutForwDatagrams": 100}, 0, 100, false},
		{sample.Counters{"ip.ForwDatagrams": 2}, 4000, 0, true},
		{sample.Counters{"ip.ForwDatagrams": 1600}, 1 << 30, 0, true},
		{sample.Counters{"ip.ForwDatagrams": 1 << 14}, 1 << 30, 0, false}, // all of a stream, 64 KiB at a time
	} {
		err := below(e, c.moved, c.bytes, c.packets)
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "the IP stack of h1 forwarded") {
			t.Errorf("%v of %g bytes, %g packets: %v", c.moved, c.bytes, c.packets, err)
		}
	}
}
