package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
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
				if err := strictJSON([]byte(lines[0]), &r); err != nil || r.Tries < 1 || r.Window <= 0 {
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

func TestReachInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	err := order(ctx, io.Discard, "reach", "127.0.0.1:9", "--size", "100", "--timeout", "1h")
	if !errors.Is(err, why) {
		t.Errorf("%v, want the cause", err)
	}
}

func TestDescribeError(t *testing.T) {
	ee := func(errno unix.Errno, origin, typ, code byte, info uint32, addr ...byte) []byte {
		b := make([]byte, 16, 48)
		binary.NativeEndian.PutUint32(b, uint32(errno))
		b[4], b[5], b[6] = origin, typ, code
		binary.NativeEndian.PutUint32(b[8:], info)
		return append(b, addr...)
	}
	inet := append(binary.NativeEndian.AppendUint16(nil, unix.AF_INET), 0, 0, 10, 64, 1, 254)
	inet6 := append(binary.NativeEndian.AppendUint16(nil, unix.AF_INET6), make([]byte, 26)...)
	inet6[8], inet6[23] = 0xfd, 9
	for _, tc := range []struct {
		b    []byte
		want string
	}{
		{ee(unix.EMSGSIZE, unix.SO_EE_ORIGIN_LOCAL, 0, 0, 1450), "EMSGSIZE (MTU 1450) on this machine"},
		{ee(unix.EMSGSIZE, unix.SO_EE_ORIGIN_ICMP, 3, 4, 1400, inet...), "EMSGSIZE (MTU 1400) by ICMP type 3 code 4 from 10.64.1.254"},
		{ee(unix.EMSGSIZE, unix.SO_EE_ORIGIN_ICMP6, 2, 0, 1280, inet6...), "EMSGSIZE (MTU 1280) by ICMPv6 type 2 code 0 from fd00::9"},
		{ee(unix.ECONNREFUSED, unix.SO_EE_ORIGIN_ICMP, 3, 3, 0), "ECONNREFUSED by ICMP type 3 code 3 from an unknown node"},
		{ee(9999, 77, 0, 0, 0), "error 9999"},
		{nil, "an error that the kernel cut short"},
	} {
		if got := describeError(tc.b); got != tc.want {
			t.Errorf("%x: %q, want %q", tc.b, got, tc.want)
		}
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
				measure(t, &r, append([]string{"ping", addr}, flags...)...)
				h, err := hdrhistogram.Decode([]byte(r.Hist))
				if err != nil {
					t.Fatal(err)
				}
				if r.Requests != 20 || h.TotalCount() != r.Transactions || r.Transactions+r.Lost != r.Requests {
					t.Errorf("histogram of %d: %+v", h.TotalCount(), r)
				}
				if r.Window < 0.015 { // 20 ms, less how late the first request left
					t.Errorf("window %g s, want about 20 ms", r.Window)
				}
			})
		}
	}
}

// needICMP skips when the kernel gives this user no ICMP socket.
func needICMP(t *testing.T, addr string) {
	t.Helper()
	a, err := parseServer("test", map[bool]string{true: "[" + addr + "]:1", false: addr + ":1"}[strings.Contains(addr, ":")])
	if err != nil {
		t.Fatal(err)
	}
	s, err := newICMP(a.Addr(), 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(s.fd)
}

func TestPingReply(t *testing.T) {
	reply := func(typ byte, id, seq uint16) []byte {
		b := make([]byte, icmpHeader)
		b[0] = typ
		binary.BigEndian.PutUint16(b[4:], id)
		binary.BigEndian.PutUint16(b[6:], seq)
		return b
	}
	p := &pinger{pingConfig: pingConfig{requests: 4}, warm: 2, asked: 4, hist: event.NewHist(),
		sock: &icmpSocket{v6: true, raw: true, id: 7, packet: make([]byte, icmpHeader)}}
	for i := range p.sent {
		p.sent[i] = 1000
	}
	for _, b := range [][]byte{
		reply(echoReply6, 7, 3), reply(echoReply6, 7, 3), // an answer, and the same again
		reply(echoReply6, 7, 1),          // of the warm-up
		reply(echoReply6, 7, 9),          // not yet asked
		reply(echoReply6, 8, 2),          // somebody else's
		reply(echo6, 7, 2),               // a request
		reply(echoReply6, 7, 2)[:7], nil, // cut short
		append(reply(echoReply6, 7, 2), 'x'), // of another size
	} {
		if err := p.reply(b, 1500); err != nil {
			t.Fatal(err)
		}
	}
	if p.answered != 1 || p.duplicates != 1 || p.hist.TotalCount() != 1 || p.hist.Max() != 500 {
		t.Errorf("answered %d, duplicates %d, histogram of %d up to %d ns", p.answered, p.duplicates, p.hist.TotalCount(), p.hist.Max())
	}
}

// The sum over data and checksum is zero (RFC 1071, section 1).
func TestChecksum(t *testing.T) {
	for _, b := range [][]byte{{0, 0}, {0, 0, 1}, {0, 0, 0xff, 0xff, 0xff, 0xff, 3}} {
		binary.BigEndian.PutUint16(b, checksum(b))
		if got := checksum(b); got != 0 {
			t.Errorf("%x: sum %x, want 0", b, got)
		}
	}
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
