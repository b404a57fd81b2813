package trial

import (
	"math"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// twoCPUs returns counters of a host that was idle for some seconds. Its modes reach less than that.
func twoCPUs(idle, system float64) sample.Counters {
	return sample.Counters{"cpu.idle": idle, "cpu0.idle": idle / 2, "cpu1.idle": idle / 2, "cpu.system": system, "cpu.steal": 0.01}
}

// Of 2 CPUs in 1 s, 0.8 were idle and 0.01 stolen, and the sampled modes reach 0.93: 13 % are missing.
func TestModesThatDoNotAddUp(t *testing.T) {
	all := map[string]span{"h1": {Counters: twoCPUs(0.8, 0.93), seconds: 1, cpus: 2}}
	u := usage(all)
	if math.Abs(u.Used-1.19) > 1e-9 || u.Busy() != 0.93 || math.Abs(1+(u.Busy()-u.Used)/capacity(all)-0.87) > 1e-9 {
		t.Errorf("used %g, busy %g", u.Used, u.Busy())
	}
	all["h2"] = span{Counters: twoCPUs(0.8, 0.93), seconds: 1} // a CPU went offline
	if u := usage(all); u.Used != 0 || capacity(all) != 0 {
		t.Errorf("used %g of %g CPUs, although the number of one host's is unknown", u.Used, capacity(all))
	}
}

func TestChangedNumberOfCPUs(t *testing.T) {
	from, to := newReading(), newReading()
	from.Hosts["h1"] = target.Reading{Counters: twoCPUs(0, 0)}
	to.Hosts["h1"] = target.Reading{At: time.Second, Counters: twoCPUs(1, 1)}
	hosts := []*target.Host{{ID: "h1"}}
	if n := spans(hosts, from, to)["h1"].cpus; n != 2 {
		t.Errorf("%d CPUs, want 2", n)
	}
	delete(to.Hosts["h1"].Counters, "cpu1.idle")
	if n := spans(hosts, from, to)["h1"].cpus; n != 0 {
		t.Errorf("%d CPUs after one went offline, want 0", n)
	}
}

// A loss is no cost: each end's time is per datagram that it handled.
func TestOwnPerDatagram(t *testing.T) {
	r := &record.Result{Values: []record.Value{{Name: record.Sent, Value: 2e5}, {Name: record.Received, Value: 1e5}, {Name: record.PacketRate, Value: 1e4},
		record.CPUOwn.At("client").Value("core", 1), record.CPUOwn.At("server").Value("core", 0.4), {Name: record.CPUOwnPerPacket, Value: 1.4e-4}}}
	perDatagram(r)
	if v, _ := r.Get(record.CPUOwnPerPacket); math.Abs(v.Value-9e-6) > 1e-12 {
		t.Errorf("%g s per datagram, want 5 µs of the sender and 4 µs of the receiver", v.Value)
	}
}

// The threads' clocks give a cost unless they exceed what the machine used by more than the steps
// of /proc/stat.
func TestOwn(t *testing.T) {
	s, _, _, _ := setup()
	for _, tc := range []struct {
		own, idle float64
		kept      bool
	}{{1, 0.8, true}, {1.2, 0.8, true}, {1.4, 0.8, false}, {0.5, 1.99, false}, {0.02, 1.99, true}} {
		x := &execution{}
		id := s.hosts()[0].ID
		x.readings.Begin, x.readings.End = newReading(), newReading()
		x.readings.Begin.Hosts[id] = target.Reading{Counters: twoCPUs(0, 0)}
		x.readings.End.Hosts[id] = target.Reading{At: time.Second, Counters: twoCPUs(tc.idle, 0)}
		r := &record.Result{Values: []record.Value{{Name: "packet.rate", Unit: "packet/s", Value: 1e5},
			{Name: "cpu.own", Unit: "core", Value: tc.own}, record.CPUOwn.At("client").Value("core", tc.own)}}
		s.own(r, x)
		v, ok := r.Get(record.CPUOwnPerPacket)
		_, client := r.Value(record.CPUOwn.At("client"))
		if ok != tc.kept || client != tc.kept || ok && math.Abs(v.Value-tc.own/1e5) > 1e-12 || (len(r.Notes) == 0) != tc.kept {
			t.Errorf("%g cores on a machine idle for %g of 2: %+v, notes %q", tc.own, tc.idle, r.Values, r.Notes)
		}
	}
}

// Where other CPUs receive the packets, the threads' clocks give no cost per packet.
func TestOwnWithRPS(t *testing.T) {
	s, _, _, _ := setup()
	s.Plan.Steps = []plan.Step{{In: "h2", Sysctl: &plan.Sysctl{Key: plan.DefaultRPS, Value: "3"}}}
	r := &record.Result{Observed: map[string]string{}, Values: []record.Value{{Name: "packet.rate", Unit: "packet/s", Value: 1e5}, {Name: record.CPUOwn, Unit: "core", Value: 0.5}}}
	s.own(r, &execution{})
	if _, ok := r.Get(record.CPUOwnPerPacket); ok || !record.OwnPartial.Of(r.Observed) {
		t.Errorf("values %v, observed %v", r.Values, r.Observed)
	}
	if _, ok := r.Get(record.CPUOwn); !ok {
		t.Error("the time itself is gone")
	}
}
