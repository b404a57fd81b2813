package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// waits reports whether this machine counts run-queue waits.
func waits() bool {
	g := sock.NewGauge(-1)
	defer g.Close()
	return g.Read().RunDelay >= 0
}

// The threads of a workload use some CPU time in the window, and none more than the window. They do not
// wait for a CPU for longer than the run takes, and their connections are those of the workload.
func TestOwnTime(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	addr, _ := serve(t, loopbacks[0])
	for _, tc := range []struct {
		workload string
		threads  float64 // at each end
		args     []string
	}{
		{"tcp-stream", 1, nil}, {"tcp-stream", 3, []string{"--streams", "3"}}, {"udp-stream", 1, nil}, {"udp-stream", 1, []string{"--send", "gso"}},
		{"tcp-rr", 1, nil}, {"tcp-rr", 1, []string{"--inflight", "8"}}, {"tcp-rr", 1, []string{"--stamp-every", "0"}},
		{"udp-rr", 1, nil}, {"udp-rr", 1, []string{"--stamp-every", "0"}}, {"udp-open", 1, nil}, {"udp-outage", 1, nil}, {"tcp-outage", 1, nil}, {"connect-outage", 1, nil}, {"udp-search", 1, nil}, {"tcp-crr", 1, nil},
		{"http-rr", 2, nil}, {"h2-rr", 2, nil}, {"grpc-rr", 2, nil}, {"quic-rr", 2, nil}, {"dns-rr", 2, nil}, // of the whole process, which has both ends
	} {
		var r struct {
			Window float64
			event.Own
		}
		var took time.Duration
		// A busy machine can leave an end without a CPU for a whole short window.
		for window := 100 * time.Millisecond; (r.ClientTime <= 0 || r.ServerTime <= 0) && window < 10*time.Second; window *= 4 {
			begin := time.Now()
			lines, err := run(t, short(tc.workload, addr, append(slices.Clip(tc.args), "--duration", window.String())...)...)
			took = time.Since(begin)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
				t.Fatal(err)
			}
		}
		// A stream can send one buffer between the mark and the look at it, and a server of datagrams
		// works until it is asked for its report.
		most := tc.threads * (r.Window + 0.05)
		if r.ClientTime <= 0 || r.ClientTime > most || r.ServerTime <= 0 || r.ServerTime > most {
			t.Errorf("%s %v: %g s and %g s of CPU time in a window of %g s", tc.workload, tc.args, r.ClientTime, r.ServerTime, r.Window)
		}
		for _, wait := range []*float64{r.ClientWait, r.ServerWait} {
			if (wait != nil) != (waits() && !wire.Web(tc.workload)) || wait != nil && (*wait < 0 || *wait > tc.threads*took.Seconds()) {
				t.Errorf("%s %v: waits of %v and %v s in a run of %v", tc.workload, tc.args, r.ClientWait, r.ServerWait, took)
			}
		}
		for _, tcp := range []*event.TCP{r.ClientTCP, r.ServerTCP} {
			if has := tc.workload == "tcp-stream" || tc.workload == "tcp-rr" || tc.workload == "tcp-outage"; (tcp != nil) != has {
				t.Errorf("%s: connections of %+v and %+v", tc.workload, r.ClientTCP, r.ServerTCP)
			} else if has && (tcp.SegmentsOut < 1 || tcp.RwndLimited+tcp.SndbufLimited > tcp.Busy+1e-9) {
				t.Errorf("%s: %+v", tc.workload, tcp)
			}
		}
		if strings.HasPrefix(tc.workload, "tcp-stream") && r.ClientTCP.Busy <= 0 {
			t.Errorf("a sender was not busy: %+v", r.ClientTCP)
		}
	}
}

// With a computing thread on every CPU, both ends wait.
func TestOwnWait(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	if !waits() {
		t.Skip("this kernel does not count run-queue waits: /proc/thread-self/schedstat")
	}
	cpus, err := sock.OwnCPUs()
	if err != nil {
		t.Fatal(err)
	}
	sock.RoomFor(len(cpus))
	var stop sock.Stopper
	for _, cpu := range cpus {
		hog := sock.OnThread(func() error {
			var one unix.CPUSet
			one.Set(cpu)
			err := unix.SchedSetaffinity(0, &one)
			for err == nil && !stop.Stopped() {
				sock.CPU()
			}
			return err
		})
		t.Cleanup(func() {
			stop.Stop()
			if err := <-hog; err != nil {
				t.Error(err)
			}
		})
	}
	addr, _ := serve(t, loopbacks[0])
	for _, workload := range []string{"tcp-stream", "udp-stream", "tcp-rr", "udp-rr"} {
		waited := func(o event.Own) bool {
			return o.ClientWait != nil && *o.ClientWait > 0 && o.ServerWait != nil && *o.ServerWait > 0
		}
		var r struct{ event.Own }
		for window := 100 * time.Millisecond; !waited(r.Own) && window < 10*time.Second; window *= 4 {
			lines, err := run(t, short(workload, addr, "--duration", window.String(), "--timeout", "20s")...)
			if err != nil {
				t.Fatal(err)
			}
			r.Own = event.Own{}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
				t.Fatal(err)
			}
		}
		if !waited(r.Own) {
			t.Errorf("%s: waits of %v and %v with computing threads on every CPU", workload, r.ClientWait, r.ServerWait)
		}
	}
}

// The clock belongs to the thread: it runs while the thread computes, and no other thread moves it.
func TestThreadClock(t *testing.T) {
	computed := <-sock.OnThread(func() error {
		begin, busy := sock.Now(), sock.CPU()
		for sock.CPU()-busy < int64(5*time.Millisecond) {
			if sock.Now()-begin > int64(30*time.Second) {
				t.Error("the clock stands still while its thread computes")
				return nil
			}
		}
		<-sock.OnThread(func() error {
			for other := sock.CPU(); sock.CPU()-other < int64(20*time.Millisecond); {
			}
			return nil
		})
		if used := sock.CPU() - busy; used > int64(15*time.Millisecond) {
			t.Errorf("%v of CPU time, with that of another thread", time.Duration(used))
		}
		return nil
	})
	if computed != nil {
		t.Error(computed)
	}
}
