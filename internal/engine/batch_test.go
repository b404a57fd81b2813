package engine

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A batch costs no allocation at either end.
func TestBatchesDoNotAllocate(t *testing.T) {
	for _, sending := range event.SendModes {
		fd, to := listening(t, netip.MustParseAddrPort(loopbacks[0]))
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
			t.Fatal(err)
		}
		from, _, err := dialUDP(to, 0, askEvery)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(from)
		c := config{params: params{Run: 1, Size: 100, transfer: transfer{Send: sending, Batch: 4}}}
		if sending == event.SendSingle {
			c.Batch = 1
		}
		path, err := newPath(from, c.Run, c.mode())
		if err != nil {
			t.Fatal(err)
		}
		u := &udpServer{fd: fd, begun: true, run: 1, meter: new(meter)}
		x := &streamReader{bulk: newBulk(), nap: time.Nanosecond, busy: now()}
		x.shape(recvBatch)
		seq := uint64(0)
		if n := testing.AllocsPerRun(100, func() {
			sent, tried, errno := path.send(kindMeasure, seq, c.Batch, now())
			if sent != c.Batch || tried != sent || errno != 0 {
				t.Fatalf("%s: sent %d, tried %d, %v", sending, sent, tried, errno)
			}
			seq += uint64(sent)
			for u.counts.Delivered < int64(seq) {
				if errno := x.read(fd); errno == 0 && u.count(x) {
					t.Fatal("not of a stream")
				}
			}
		}); n != 0 {
			t.Errorf("%s: %g allocations per batch", sending, n)
		}
	}
}

// listening is a UDP socket with a timeout, and its address.
func listening(t testing.TB, at netip.AddrPort) (int, netip.AddrPort) {
	t.Helper()
	fd, err := listen(unix.SOCK_DGRAM, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := setTimeouts(fd, 10*tick); err != nil {
		t.Fatal(err)
	}
	bound, err := ownAddr(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, bound
}
