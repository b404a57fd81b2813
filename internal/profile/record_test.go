package profile

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A ring is read to where the kernel has written, and a full one has lost samples.
func TestRing(t *testing.T) {
	r := ring{page: &unix.PerfEventMmapPage{Data_head: 48}, data: make([]byte, 4096)}
	if got, err := r.take(); err != nil || len(got) != 48 {
		t.Errorf("%d bytes, want 48 (error %v)", len(got), err)
	}
	r.page.Data_head = 4000
	if _, err := r.take(); err == nil || !strings.Contains(err.Error(), "samples were lost") {
		t.Errorf("a full ring: error %v", err)
	}
}

func TestRefused(t *testing.T) {
	for err, want := range map[error]string{
		unix.EACCES: "sysctl -w kernel.perf_event_paranoid=0",
		unix.EPERM:  "run as root",
		unix.ENOSYS: "CONFIG_PERF_EVENTS",
		unix.EMFILE: "perf_event_open",
	} {
		if got := refused(err); !strings.Contains(got.Error(), want) {
			t.Errorf("%v: %v, want %q", err, got, want)
		}
	}
}

func TestRecorder(t *testing.T) {
	if err := Check([]int{0}); err != nil {
		t.Skipf("no profiles: %v", err)
	}
	begin := now(t)
	for _, window := range []time.Duration{0, 50 * time.Millisecond} {
		r, err := Record([]int{0}, false)
		if err != nil {
			t.Fatal(err)
		}
		for now(t) < begin+window { // a CPU that works
		}
		p, err := r.Stop(begin, begin+window)
		if window == 0 {
			if !errors.Is(err, errNoWindow) {
				t.Errorf("error %v without a window", err)
			}
			continue
		}
		if err != nil || p.Duration <= 0 || p.Duration > window || p.Period != period {
			t.Fatalf("%+v, %v", p, err)
		}
		if r.rings != nil {
			t.Error("the buffers are still mapped")
		}
	}
}

func now(t *testing.T) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// On a machine that others use, only the engine and the kernel's work for packets count.
func TestShared(t *testing.T) {
	names := symbols{{0x1000, "run_ksoftirqd"}, {0x2000, "net_rx_action"}, {0x3000, "schedule"}}
	softirq, other := []uint64{0x2008, 0x1008}, []uint64{0x3008}
	for _, shared := range []bool{false, true} {
		const high = 1 << 23 // above all PIDs
		c := collector{names, shared, map[uint32]string{high: client, high + 1: server, high + 2: "postgres", high + 3: Kernel}, map[string]int{}}
		for _, pid := range []uint32{0, high, high + 1, high + 2, high + 3} {
			c.add(sample{pid: pid, calls: softirq})
			c.add(sample{pid: pid, calls: other})
		}
		got := map[string]int{}
		for _, s := range c.stacks() {
			got[s.process()] += s.Samples
		}
		want := map[string]int{client: 2, server: 2, Kernel: 2} // hidden, and a thread of the kernel
		if !shared {
			want["postgres"] = 2
		}
		if !maps.Equal(got, want) {
			t.Errorf("shared %v: %v, want %v", shared, got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	a := &Profile{time.Second, period, []Stack{{[]string{client}, 3}, {[]string{Kernel, "net_rx_action"}, 2}}}
	b := &Profile{time.Second, period, []Stack{{[]string{Kernel, "net_rx_action"}, 5}, {[]string{server}, 7}}}
	for same, want := range map[bool]string{false: "[{[client] 3} {[kernel net_rx_action] 7} {[server] 7}]", true: "[{[client] 3} {[kernel net_rx_action] 2} {[server] 7}]"} {
		if got := fmt.Sprint(Join(a, b, same).Stacks); got != want {
			t.Errorf("one machine %v: %s, want %s", same, got, want)
		}
	}
	if a.Stacks[1].Samples != 2 {
		t.Error("Join changed its argument")
	}
}
