package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestReach(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			addr, stop := serve(t, loopback)
			for _, size := range []string{"64", "1500", "65535"} { // the MTU of lo is 65536
				lines, err := run(t, "reach", addr, "--size", size)
				if err != nil {
					t.Fatal(err)
				}
				var r event.Reach
				if err := wire.StrictJSON([]byte(lines[0]), &r); err != nil || r.Tries < 1 || r.Window <= 0 {
					t.Errorf("size %s: %s: %v", size, lines[0], err)
				}
			}
			stop()
			_, err := run(t, "reach", addr, "--size", "1500", "--timeout", "30ms")
			if err == nil {
				t.Fatal("reached a server that is gone")
			}
			for _, want := range []string{addr, "1500 bytes", "30ms", "ECONNREFUSED by ICMP"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// A full neighbor table fails packets with errors that do not name it.
func TestReachNamesTheNeighborTable(t *testing.T) {
	for seen, want := range map[string]string{
		"ENOBUFS when sending":                              "net.ipv6.neigh.default.gc_thresh3",
		"EHOSTUNREACH by ICMPv6 type 1 code 3 from fd00::1": "net.ipv6.neigh.default.gc_thresh3",
		"ECONNREFUSED by ICMPv6 type 1 code 4 from fd00::1": "",
	} {
		if got := summary(map[string]int{seen: 3}, true); !strings.HasPrefix(got, seen+" (3 times)") || strings.Contains(got, "gc_thresh3") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s is explained by %q", seen, got)
		}
	}
}

func TestReachInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	err := order(ctx, io.Discard, "reach", "127.0.0.1:9", "--size", "100", "--timeout", "1h")
	if !errors.Is(err, why) {
		t.Errorf("%v, want the cause", err)
	}
}

func TestPing(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		for name, flags := range map[string][]string{
			"count":    {"--count", "20", "--interval", "1ms"},
			"duration": {"--duration", "20ms", "--interval", "1ms", "--warmup", "5ms", "--size", "1000"},
			"no data":  {"--count", "20", "--interval", "1ms", "--size", "0"},
		} {
			t.Run(addr+" "+name, func(t *testing.T) {
				needFamily(t, map[string]string{"127.0.0.1": loopbacks[0], "::1": loopbacks[1]}[addr])
				needICMP(t, addr)
				var r event.Ping
				for range 10 { // until the first request of the window leaves in time
					r = event.Ping{}
					measure(t, &r, append([]string{"ping", addr}, flags...)...)
					if r.Window >= 0.015 {
						break
					}
				}
				h, err := hdrhistogram.Decode([]byte(r.Hist))
				if err != nil {
					t.Fatal(err)
				}
				if r.Requests != 20 || h.TotalCount() != r.Transactions || r.Transactions+r.Lost != r.Requests {
					t.Errorf("histogram of %d: %+v", h.TotalCount(), r)
				}
				if r.Window < 0.015 {
					t.Errorf("window %g s, want about 20 ms", r.Window)
				}
			})
		}
	}
}

func needICMP(t *testing.T, addr string) {
	t.Helper()
	a, err := parseServer("test", map[bool]string{true: "[" + addr + "]:1", false: addr + ":1"}[strings.Contains(addr, ":")])
	if err != nil {
		t.Fatal(err)
	}
	s, err := sock.NewICMP(a.Addr(), 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(s.FD)
}

func TestSlots(t *testing.T) {
	for _, tc := range []struct {
		d, interval time.Duration
		want        int64
	}{{0, 10, 0}, {1, 10, 1}, {10, 10, 1}, {11, 10, 2}, {100, 10, 10}} {
		if got := slots(tc.d, tc.interval); got != tc.want {
			t.Errorf("%d in %d: %d, want %d", tc.interval, tc.d, got, tc.want)
		}
	}
}

func TestPingReply(t *testing.T) {
	p := &pinger{requests: 4, warm: 2, asked: 4, hist: event.NewHist()}
	for i := range p.sent {
		p.sent[i] = 1000
	}
	for _, seq := range []uint16{
		3, 3, // an answer, and the same again
		1, // of the warm-up
		9, // not yet asked
	} {
		if err := p.reply(seq, 1500); err != nil {
			t.Fatal(err)
		}
	}
	if p.answered != 1 || p.duplicates != 1 || p.hist.TotalCount() != 1 || p.hist.Max() != 500 {
		t.Errorf("answered %d, duplicates %d, histogram of %d up to %d ns", p.answered, p.duplicates, p.hist.TotalCount(), p.hist.Max())
	}
}
