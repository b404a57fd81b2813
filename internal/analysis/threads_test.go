package analysis

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

func TestThreads(t *testing.T) {
	of := func(values ...map[record.Key]float64) []Thread {
		var rs []record.Result
		for b := range 8 {
			r := record.Result{Trial: fmt.Sprint(b), Block: b + 1, Status: record.OK, Start: time.Unix(int64(b), 0), Observed: map[string]string{},
				Config: map[string]string{"network": "vx", "probe": "p"},
				Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1}, {Name: "window", Unit: "s", Value: 1}}}
			for k, v := range values[b%len(values)] {
				r.Values = append(r.Values, k.Value("core", v))
			}
			rs = append(rs, r)
		}
		return New(rs, Options{}).Tables[0].Rows[0].Threads()
	}
	thread, own := record.CPUThread.Thread, record.CPUOwn
	guest, x := thread("h2", "qemu", "CPU_0/KVM"), thread("h2", "x", "")
	ts := of(map[record.Key]float64{guest: 0.99, thread("", "ksoftirqd", "1"): 0.4, own.At("client"): 0.7}, map[record.Key]float64{guest: 1.01})
	if len(ts) != 2 || ts[0].Place != "h2" || ts[0].Name() != "qemu/CPU_0/KVM" || !ts[0].Full || ts[0].Share.Hi > 1 || ts[0].Unresolved {
		t.Errorf("%+v", ts)
	}
	if k := ts[1]; k.Place != "" || k.Name() != "ksoftirqd/1" || !about(k.Share.Center, 0.2) || k.Share.N != 8 || k.Full {
		t.Errorf("a thread that half of the blocks lack: %+v", k)
	}
	if ts := of(map[record.Key]float64{x: 1.1}); !ts[0].Unresolved || ts[0].Full {
		t.Errorf("more than a CPU: %+v", ts)
	}
	if ts := of(map[record.Key]float64{x: 0.99}, map[record.Key]float64{x: 0.8}); ts[0].Full {
		t.Errorf("not always: %+v", ts)
	}
	if ts := of(map[record.Key]float64{own.At("client"): 0.97, own.At("server"): 0.3}); len(ts) != 2 || ts[0].Place != "client" || !ts[0].Full {
		t.Errorf("an older result: %+v", ts)
	}
	if ts := of(map[record.Key]float64{record.CPUBusy.Whole(): 1}); ts != nil {
		t.Errorf("no threads: %+v", ts)
	}
}

// A tick, or a block whose time the hypervisor took, keeps the interval of a thread that never idles below the share
// of a full one.
func TestClientNeverIdle(t *testing.T) {
	for _, c := range []struct {
		name        string
		used, waits float64
		full        bool
	}{
		{"waits for its CPU", 0.94, 0.05, true},
		{"sleeps", 0.94, 0, false},
		{"shares its CPU", 0.6, 0.39, false},
	} {
		var rs []record.Result
		all := map[string]*evidence.Trial{}
		for b := range 8 {
			trial := fmt.Sprint(b)
			rs = append(rs, record.Result{Trial: trial, Block: b + 1, Status: record.OK, Observed: map[string]string{}, Config: map[string]string{"network": "vx", "probe": "p"},
				Values: []record.Value{{Name: "throughput", Unit: "bit/s", Value: 1}, {Name: "window", Unit: "s", Value: 1},
					record.CPUThread.Thread("h1", sample.EngineClient, "").Value("core", c.used), record.CPUThread.Thread("h2", sample.EngineServer, "").Value("core", c.used)}})
			all[trial] = &evidence.Trial{Window: 1, Sender: evidence.End{CPU: c.used, Wait: c.waits}}
		}
		ts := New(rs, Options{Evidence: all}).Tables[0].Rows[0].Threads()
		if len(ts) != 2 || ts[0].Name() != sample.EngineClient || ts[0].Full != c.full || ts[1].Full {
			t.Errorf("a client that %s: %+v, want full %v of it alone", c.name, ts, c.full)
		}
	}
}

func about(a, b float64) bool { return math.Abs(a-b) < 1e-6*(1+math.Abs(b)) }
