package packettrace

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/wire"
	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/sample"
)

// here returns the number of the tests' own network namespace.
func here(t *testing.T) uint32 {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(sample.Inode(link), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func loopbackUp(t *testing.T) {
	t.Helper()
	if err := setUp("lo"); err != nil {
		t.Fatal(err)
	}
}

// needBPF skips a test where this process cannot load programs.
func needBPF(t *testing.T) {
	t.Helper()
	nstest.Need(t)
	switch mode, why := Available(); {
	case mode == ByBPF:
	case errors.Is(why, ErrRefused), errors.Is(why, btf.ErrNotSupported): // a kernel without types
		t.Skipf("no BPF: %v", why)
	default:
		t.Fatal(why)
	}
}

func datagram(kind wire.Kind, seq uint64) []byte {
	b := make([]byte, 64)
	wire.Header{Kind: kind, Run: 7, Seq: seq}.Put(b)
	return b
}

// pair returns two connected UDP sockets.
func pair(t *testing.T) (a, b *net.UDPConn) {
	t.Helper()
	b, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	a, err = net.DialUDP("udp4", nil, b.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, b
}

// kindsOf returns the places that the packet with a number passed.
func kindsOf(events []Event, seq uint64) (kinds []string) {
	for _, e := range events {
		if m := markOf(e.Head); m.found && m.seq == seq {
			kinds = append(kinds, fmt.Sprintf("%s %s %s", e.Kind, e.Node, e.Dev))
		}
	}
	return kinds
}

// A datagram over loopback passes four places, once each, and one in a namespace that was not named passes none.
func TestRecord(t *testing.T) {
	needBPF(t)
	loopbackUp(t)
	a, b := pair(t)
	for name, c := range map[string]struct {
		spaces map[uint32]string
		want   string
	}{
		"named":     {map[uint32]string{here(t): "here"}, "queue here lo, xmit here lo, enter here lo, receive here lo"},
		"not named": {map[uint32]string{here(t) + 1<<20: "elsewhere"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, err := Record(c.spaces)
			if err != nil {
				t.Fatal(err)
			}
			_, sendErr := a.Write(datagram(wire.KindEcho, 5))
			_, readErr := b.Read(make([]byte, 100))
			events, lost, err := tracer.Stop()
			if err := errors.Join(err, sendErr, readErr); err != nil || lost > 0 {
				t.Fatal(lost, err)
			}
			if got := strings.Join(kindsOf(events, 5), ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for i, e := range events {
				if i > 0 && e.At < events[i-1].At {
					t.Errorf("event %d is at %d, before the one at %d", i, e.At, events[i-1].At)
				}
				if m := markOf(e.Head); m.found && m.seq == 5 && (e.Packet == 0 || e.Len < 92) {
					t.Errorf("%+v: want a packet of at least 92 bytes", e)
				}
			}
		})
	}
}

// Looking whether a trace would work records nothing, not even packets without a device, which are in no namespace.
func TestNowhere(t *testing.T) {
	needBPF(t)
	tracer, err := Record(map[uint32]string{nowhere: ""})
	if err != nil {
		t.Fatal(err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		_, err = unix.Write(fds[0], []byte("never read, so the kernel drops it"))
		err = errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	events, lost, stopErr := tracer.Stop()
	if err := errors.Join(err, stopErr); err != nil || len(events) > 0 || lost > 0 {
		t.Errorf("%d events, %d lost, error %v: %+v", len(events), lost, err, events[:min(1, len(events))])
	}
}

// A socket whose buffer is full drops, and the reason and the device are known.
func TestDropReason(t *testing.T) {
	needBPF(t)
	loopbackUp(t)
	a, b := pair(t)
	if err := b.SetReadBuffer(1); err != nil {
		t.Fatal(err)
	}
	tracer, err := Record(map[uint32]string{here(t): "here"})
	if err != nil {
		t.Fatal(err)
	}
	var sent error
	for seq := range uint64(50) {
		_, err := a.Write(datagram(wire.KindEcho, seq))
		sent = errors.Join(sent, err)
	}
	events, _, err := tracer.Stop()
	if err := errors.Join(err, sent); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(events, func(e Event) bool { return e.Kind == Drop && e.Reason == "SOCKET_RCVBUFF" })
	if i < 0 {
		t.Fatalf("no drop by SOCKET_RCVBUFF in %d events", len(events))
	}
	if m := markOf(events[i].Head); events[i].Dev != "lo" || events[i].Node != "here" || !m.found {
		t.Errorf("%+v: want a marked packet on lo", events[i])
	}
}
