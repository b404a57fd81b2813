package engine

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func TestBatchesDoNotAllocate(t *testing.T) {
	for _, sending := range []string{event.SendSingle, event.SendMmsg, event.SendGSO} { // xdp needs an Ethernet device
		fd, to := listening(t, netip.MustParseAddrPort(loopbacks[0]))
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
			t.Fatal(err)
		}
		from, _, err := sock.DialUDP(to, 0, askEvery)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(from)
		c := config{Params: wire.Params{Run: 1, Size: 100, Send: sending, Batch: 4}}
		if sending == event.SendSingle {
			c.Batch = 1
		}
		path, err := sock.NewPath(from, c.Run, c.Mode())
		if err != nil {
			t.Fatal(err)
		}
		u := &udpServer{fd: fd, begun: true, run: 1, meter: new(tally.Meter)}
		x := &streamReader{Bulk: sock.NewBulk(), nap: time.Nanosecond, busy: sock.Now()}
		x.Shape(sock.RecvBatch)
		seq := uint64(0)
		if n := testing.AllocsPerRun(100, func() {
			sent, tried, errno := path.Send(wire.KindMeasure, seq, c.Batch, sock.Now())
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

// With UDP_GRO a receiver that finds nothing naps, and the next time it waits.
func TestNapsAndWaitsInTurn(t *testing.T) {
	for _, gro := range []bool{false, true} {
		fd, to := listening(t, netip.MustParseAddrPort(loopbacks[0]))
		from, _, err := sock.DialUDP(to, 0, askEvery)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(from)
		x := &streamReader{Bulk: sock.NewBulk(), nap: time.Nanosecond, gro: gro}
		for i := range 4 {
			x.busy = sock.Now() // else it waits in any case
			x.last = x.busy
			wait := gro && i%2 == 1
			if wait {
				go unix.Write(from, []byte{1}) // ends the wait, before it began or not
			}
			errno := x.read(fd)
			for errno == unix.EINTR { // only threads of the engine block signals, such as those of the runtime
				x.napped = wait
				errno = x.read(fd)
			}
			if wait && errno != 0 || !wait && errno != unix.EAGAIN {
				t.Fatalf("gro %v, read %d: %v", gro, i, errno)
			}
			if wait {
				x.napped = false // the datagram can have come before the wait
			} else if !x.napped {
				t.Errorf("gro %v, read %d: neither a datagram nor a nap", gro, i)
			}
		}
	}
}

// listening is a UDP socket with a timeout, and its address.
func listening(t testing.TB, at netip.AddrPort) (int, netip.AddrPort) {
	t.Helper()
	fd, err := sock.Listen(unix.SOCK_DGRAM, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := sock.SetTimeouts(fd, 10*sock.Tick); err != nil {
		t.Fatal(err)
	}
	bound, err := sock.OwnAddr(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, bound
}
