package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/engine/sock"
)

// The threads of a workload use some CPU time in the window, and none more than the window.
func TestOwnTime(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	for _, tc := range []struct {
		workload string
		threads  float64 // at each end
		args     []string
	}{
		{"tcp-stream", 1, nil}, {"tcp-stream", 3, []string{"--streams", "3"}}, {"udp-stream", 1, nil}, {"udp-stream", 1, []string{"--send", "gso"}},
		{"tcp-rr", 1, nil}, {"tcp-rr", 1, []string{"--inflight", "8"}}, {"tcp-rr", 1, []string{"--stamp-every", "0"}},
		{"udp-rr", 1, nil}, {"udp-rr", 1, []string{"--stamp-every", "0"}}, {"udp-open", 1, nil},
	} {
		read := false
		for tries := 0; tries < 20 && !read && !t.Failed(); tries++ { // a stall over a mark leaves no time
			lines, err := run(t, short(tc.workload, addr, append(tc.args, "--duration", "100ms")...)...)
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				Window, CPUTime, ServerCPUTime float64
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
				t.Fatal(err)
			}
			// A stream can send one buffer between the mark and the look at it, and a server of datagrams
			// works until it is asked for its report.
			most := tc.threads * (r.Window + 0.05)
			if r.CPUTime < 0 || r.CPUTime > most || r.ServerCPUTime < 0 || r.ServerCPUTime > most {
				t.Errorf("%s %v: %g s and %g s of CPU time in a window of %g s", tc.workload, tc.args, r.CPUTime, r.ServerCPUTime, r.Window)
			}
			read = r.CPUTime > 0 && r.ServerCPUTime > 0
		}
		if !read {
			t.Errorf("%s %v: no CPU time", tc.workload, tc.args)
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
