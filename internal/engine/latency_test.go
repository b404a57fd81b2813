package engine

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func decoded(t *testing.T, name, hist string) *hdrhistogram.Histogram {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(hist))
	if err != nil {
		t.Fatalf("%s %q: %v", name, hist, err)
	}
	return h
}

// mostlyStamped reports whether at least half of the stamped requests have all stamps.
func mostlyStamped(r event.RR) bool {
	n := r.Stamped - r.Incomplete - r.Impossible
	return n >= 1 && n >= r.Stamped/2
}

func wholeSplit(t *testing.T, r event.RR) {
	t.Helper()
	if strings.HasPrefix(r.Stamps, "none") || r.Stamped == 0 {
		t.Fatalf("stamps %q of %d requests, %d incomplete, %d impossible", r.Stamps, r.Stamped, r.Incomplete, r.Impossible)
	}
	n := r.Stamped - r.Incomplete - r.Impossible
	if !mostlyStamped(r) {
		t.Errorf("of %d stamped requests %d are incomplete and %d impossible", r.Stamped, r.Incomplete, r.Impossible)
	}
	sum := 0.0
	for name, hist := range map[string]string{"path": r.PathHist, "wake": r.WakeHist, "app": r.AppHist} {
		h := decoded(t, name, hist)
		if h.TotalCount() != n || h.Min() < 1 {
			t.Errorf("%s: %d requests from %d ns on, want %d", name, h.TotalCount(), h.Min(), n)
		}
		sum += h.Mean()
	}
	if whole := decoded(t, "stamped", r.StampedHist).Mean(); sum < 0.99*whole || sum > 1.01*whole {
		t.Errorf("the parts take %.0f ns together, the whole %.0f", sum, whole)
	}
}

// unstamped checks that every answered request is in the histogram of those without stamps, or had
// one. A window can end before the first request without.
func unstamped(t *testing.T, r event.RR) {
	t.Helper()
	if r.PlainHist == "" {
		return
	}
	all, plain := decoded(t, "rtt", r.Hist), decoded(t, "plain", r.PlainHist)
	stamped := all.TotalCount() - plain.TotalCount()
	if first := r.Stamped/8 + 2; stamped < r.Stamped-r.Incomplete-r.Impossible || stamped > r.Stamped+first || plain.Max() > all.Max() {
		t.Errorf("%d of %d requests are not plain, %d stamped", stamped, all.TotalCount(), r.Stamped)
	}
}

func TestLatencyWorkloads(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	for _, loopback := range loopbacks {
		for _, args := range []string{
			"tcp-rr", "tcp-rr --inflight 8", "tcp-rr --size 1", "tcp-rr --size 1000000", "tcp-rr --stamp-every 0",
			"udp-rr", "udp-rr --inflight 8", "udp-rr --size 16", "udp-rr --size 20000", "udp-rr --stamp-every 1ns",
			"udp-open", "udp-open --rate 20000 --size 16",
		} {
			t.Run(loopback+" "+args, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				f := strings.Fields(args)
				stamped := !slices.Contains([]string{"tcp-rr --inflight 8", "tcp-rr --size 1000000", "tcp-rr --stamp-every 0"}, args)
				r := measureUntil(t, func(r event.Open) bool { return r.Transactions > 0 && (!stamped || mostlyStamped(r.RR)) },
					short(f[0], addr, f[1:]...)...)
				if h := decoded(t, "rtt", r.Hist); h.TotalCount() != r.Transactions || r.Transactions < 1 || r.Requests != r.Transactions+r.Lost {
					t.Errorf("histogram of %d; %d requests, %d answered, %d lost", h.TotalCount(), r.Requests, r.Transactions, r.Lost)
				}
				if stamped {
					wholeSplit(t, r.RR)
					unstamped(t, r.RR)
				} else if !strings.HasPrefix(r.Stamps, "none: ") || r.PathHist != "" || r.PlainHist != "" || r.Stamped != 0 {
					t.Errorf("stamps %q of %d requests", r.Stamps, r.Stamped)
				}
				if f[0] == "udp-open" && (r.Offered == 0 || r.Offered%int64(r.Rate*0.03) != 0 || r.Requests > r.Offered || r.LateSends < r.Offered-r.Requests || r.Inflight != 0) {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// Only measured requests are samples: the histogram of the response times has no others.
func TestSamplesAreMeasured(t *testing.T) {
	a := newAsker(config{}, new(sock.Stopper), -1, 1, 1)
	a.every = int64(time.Hour)
	for i, measured := range []bool{false, true, true, false, true} { // the first of a burst is no sample
		x := a.request(1, measured)
		if sample := i == 2 || i == 4; x.Marked != measured || (x.Sample >= 0) != sample {
			t.Errorf("request %d: marked %v, sample %d", i, x.Marked, x.Sample)
		}
	}
}

func TestSpin(t *testing.T) {
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	for _, loopback := range loopbacks {
		for _, workload := range []string{"tcp-rr", "udp-rr", "udp-open"} {
			t.Run(loopback+" "+workload, func(t *testing.T) {
				addr, _ := serve(t, loopback)
				if cpus.Count() == 1 {
					if _, err := run(t, short(workload, addr, "--spin")...); err == nil || !strings.Contains(err.Error(), "give each a CPU of its own") {
						t.Errorf("two ends spin on one CPU: %v", err)
					}
					return
				}
				r := measureUntil(t, func(r event.Open) bool { return mostlyStamped(r.RR) }, short(workload, addr, "--spin")...)
				wholeSplit(t, r.RR)
				if r.Wait != "spinning" || r.CPU == nil || r.FarCPU == nil || *r.CPU == *r.FarCPU {
					t.Errorf("%s on CPUs %v and %v", r.Wait, r.CPU, r.FarCPU)
				}
				// The server is back on its CPUs.
				measureUntil(t, func(r event.UDPStream) bool { return r.Delivered > 0 }, short("udp-stream", addr, "--rate", "1e6")...)
			})
		}
	}
}

// fakeServer answers hellos, and every request as often as answer says.
func fakeServer(t *testing.T, answer func(seq uint64) int) string {
	t.Helper()
	return fakeUDP(t, netip.MustParseAddrPort("127.0.0.1:0"), func(h wire.Header, payload []byte, _ netip.AddrPort) ([]byte, int) {
		switch h.Kind {
		case wire.KindHello:
			return inJSON(wire.Accepted{Weir: wire.Version}), 1
		case wire.KindClock:
			return []byte(`{"cpu":1}`), 1
		case wire.KindStamps:
			return new(tally.Samples).Encode(nil, 0, tally.FarMost), 1
		}
		return payload, answer(h.Seq)
	}).String()
}

func TestLostAndLate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	addr := fakeServer(t, func(seq uint64) int {
		switch seq {
		case 5, 11:
			return 0
		case 3, 8:
			return 2
		}
		return 1
	})
	for _, args := range [][]string{{"udp-rr", "--inflight", "4"}, {"udp-open", "--rate", "5000"}} {
		var r event.Open
		measure(t, &r, append([]string{"run", args[0], addr, "--duration", "50ms", "--stamp-every", "0"}, args[1:]...)...)
		if r.Lost < 2 || r.Late < 2 || r.Transactions < 1 || r.Requests != r.Transactions+r.Lost {
			t.Errorf("%v: %d requests, %d answered, %d lost, %d late", args, r.Requests, r.Transactions, r.Lost, r.Late)
		}
	}
	var r event.RR // a server that does not keep stamps
	measure(t, &r, short("udp-rr", addr)...)
	if !strings.HasPrefix(r.Stamps, "none: no stamped request") || r.Stamped == 0 || r.Incomplete != r.Stamped || r.PathHist != "" {
		t.Errorf("stamps %q, %d of %d incomplete", r.Stamps, r.Incomplete, r.Stamped)
	}
}

// A server that stalls for 100 ms delays all requests of that time. A closed loop would show a few.
func TestNoCoordinatedOmission(t *testing.T) {
	addr := fakeServer(t, func(seq uint64) int {
		if seq == 100 {
			time.Sleep(100 * time.Millisecond)
		}
		return 1
	})
	var r event.Open
	measure(t, &r, "run", "udp-open", addr, "--rate", "1000", "--duration", "300ms", "--stamp-every", "0")
	slow := int64(0)
	for _, b := range decoded(t, "rtt", r.Hist).Distribution() {
		if b.From > tally.StallBound {
			slow += b.Count
		}
	}
	if due := min(40, r.Transactions/6); r.Stalls < 1 || slow < due { // some 50 of the 100 requests waited for more than 50 ms; beside other programs fewer were sent
		t.Errorf("%d stalls, %d of %d responses above 50 ms, want %d", r.Stalls, slow, r.Transactions, due)
	}
}

// A rate too high for a thread shows as late requests, not as fewer.
func TestOpenTooFast(t *testing.T) {
	addr, _ := serve(t, loopbacks[0])
	var r event.Open
	measure(t, &r, short("udp-open", addr, "--rate", "1e6")...)
	if r.Offered != 30000 || r.LateSends < 1 || r.LateSends > r.Offered || r.Requests > r.Offered {
		t.Errorf("%d of %d requests were sent, %d late", r.Requests, r.Offered, r.LateSends)
	}
}
