package engine

import (
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// boundSocket is a UDP socket with a timeout, and its address.
func boundSocket(t testing.TB, at netip.AddrPort) (int, netip.AddrPort) {
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

// A buffer of several datagrams of which the last is shorter comes apart where it
// was put together, and many messages come with one call.
func TestBulkSegments(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			needFamily(t, loopback)
			fd, to := boundSocket(t, netip.MustParseAddrPort(loopback))
			if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
				t.Fatal(err)
			}
			from, _, err := dialUDP(to, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(from)
			if err := unix.SetsockoptInt(from, unix.SOL_UDP, unix.UDP_SEGMENT, 100); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 350)
			for i := range b {
				b[i] = byte(i / 100)
			}
			for _, n := range []int{350, 100, 60, 300} {
				if _, errno := send(from, b[:n]); errno != 0 {
					t.Fatal(errno)
				}
			}
			in := newBulk()
			in.shape(recvBatch)
			if errno := in.read(fd, 0); errno != 0 || in.got != 4 { // loopback delivers before send returns
				t.Fatalf("%d messages, %v, want 4", in.got, errno)
			}
			for i, want := range []struct{ bytes, segment int }{{350, 100}, {100, 100}, {60, 60}, {300, 100}} {
				p := in.at(i)
				if len(p.data) != want.bytes || p.segment != want.segment || p.data[len(p.data)-1] != byte((want.bytes-1)/100) {
					t.Errorf("message %d: %d bytes in segments of %d, want %+v", i, len(p.data), p.segment, want)
				}
			}
		})
	}
}

// Single messages, messages without waiting, and a shape that changes in between.
func TestBulkShapes(t *testing.T) {
	fd, to := boundSocket(t, netip.MustParseAddrPort(loopbacks[0]))
	from, _, err := dialUDP(to, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	in := newBulk()
	if errno := in.read(fd, unix.MSG_DONTWAIT); errno != unix.EAGAIN {
		t.Errorf("an empty socket: %v", errno)
	}
	for round, shape := range []int{1, recvBatch, 2, 1} {
		in.shape(shape)
		for i := range byte(3) {
			if _, errno := send(from, []byte{i}); errno != 0 {
				t.Fatal(errno)
			}
		}
		next := byte(0)
		for next < 3 {
			if errno := in.wait(fd); errno != 0 {
				t.Fatalf("round %d: %v", round, errno)
			}
			if in.got != min(shape, 3-int(next)) {
				t.Errorf("round %d: %d messages per read of %d, %d were there", round, in.got, shape, 3-next)
			}
			for i := range in.got {
				if p := in.at(i); len(p.data) != 1 || p.data[0] != next || p.segment != 1 || in.room[i].hdr.Namelen == 0 {
					t.Errorf("round %d: message %d: %+v", round, next, p)
				}
				next++
			}
		}
	}
}

// The counter of drops arrives with the first message after them.
func TestBulkDrops(t *testing.T) {
	fd, to := boundSocket(t, netip.MustParseAddrPort(loopbacks[0]))
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := setBuffer(fd, unix.SO_RCVBUF, 4096); err != nil {
		t.Fatal(err)
	}
	from, _, err := dialUDP(to, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	const sent = 100
	for range sent {
		if _, errno := send(from, make([]byte, 1000)); errno != 0 {
			t.Fatal(errno)
		}
	}
	in := newBulk()
	in.shape(recvBatch)
	got := 0
	for in.read(fd, unix.MSG_DONTWAIT) == 0 {
		got += in.got
	}
	if got == sent {
		t.Fatalf("a buffer of 4 KiB held %d datagrams of 1000 bytes", sent)
	}
	send(from, []byte("x"))
	if errno := in.read(fd, 0); errno != 0 || int(in.at(in.got-1).drops) != sent-got {
		t.Errorf("%d drops, %v, want %d", in.at(in.got-1).drops, errno, sent-got)
	}
}

// aligned copies b to where the kernel would put it.
func aligned(b []byte) []byte {
	words := make([]uint64, (len(b)+7)/8+1)
	return append(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:0], b...)
}

func controlMessage(level, kind int32, value uint32) []byte {
	b := aligned(make([]byte, unix.CmsgSpace(4)))
	c := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	c.Level, c.Type = level, kind
	c.SetLen(unix.CmsgLen(4))
	*(*uint32)(unsafe.Pointer(&b[unix.CmsgLen(0)])) = value
	return b
}

func TestReadControl(t *testing.T) {
	drops := controlMessage(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 7)
	gro := controlMessage(unix.SOL_UDP, unix.UDP_GRO, 100)
	other := controlMessage(unix.SOL_UDP, 99, 5)
	for _, tc := range []struct {
		name    string
		b       []byte
		whole   int
		drops   uint32
		segment int
	}{
		{"nothing", nil, 300, 0, 300},
		{"drops", drops, 300, 7, 300},
		{"segments", gro, 300, 0, 100},
		{"both", append(append([]byte{}, drops...), gro...), 300, 7, 100},
		{"the other way round, with another", append(append(append([]byte{}, gro...), other...), drops...), 300, 7, 100},
		{"one segment", gro, 100, 0, 100},
		{"a segment longer than the message", gro, 50, 0, 50},
		{"a segment of nothing", controlMessage(unix.SOL_UDP, unix.UDP_GRO, 0), 50, 0, 50},
		{"cut off", gro[:unix.CmsgLen(4)-1], 300, 0, 300},
	} {
		d, s := readControl(aligned(tc.b), tc.whole)
		if d != tc.drops || s != tc.segment {
			t.Errorf("%s: %d drops, segments of %d; want %d and %d", tc.name, d, s, tc.drops, tc.segment)
		}
	}
}

// Whatever the control data is, segments have a length and fit.
func FuzzReadControl(f *testing.F) {
	f.Add(controlMessage(unix.SOL_UDP, unix.UDP_GRO, 100), uint16(1400))
	f.Add(controlMessage(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)[:17], uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		whole := max(int(n), 1)
		if _, s := readControl(aligned(b), whole); s < 1 || s > whole {
			t.Errorf("segments of %d in %d bytes", s, whole)
		}
		if e, ok := extendedErr(aligned(b)); ok {
			if calls, _ := readNotice(e); calls < 0 || calls > 1<<32 {
				t.Errorf("a notice of %d calls", calls)
			}
		}
	})
}

func TestReadNotice(t *testing.T) {
	for _, tc := range []struct {
		e      unix.SockExtendedErr
		calls  int64
		copied bool
	}{
		{unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Info: 5, Data: 5}, 1, false},
		{unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Info: 5, Data: 8, Code: unix.SO_EE_CODE_ZEROCOPY_COPIED}, 4, true},
		{unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Info: 1<<32 - 1, Data: 1}, 3, false}, // the numbers wrap
		{unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ICMP, Info: 5, Data: 8}, 0, false},
	} {
		if calls, copied := readNotice(tc.e); calls != tc.calls || copied != tc.copied {
			t.Errorf("%+v: %d calls, copied %v; want %d, %v", tc.e, calls, copied, tc.calls, tc.copied)
		}
	}
}

// A batch costs no allocation at either end.
func TestBatchesDoNotAllocate(t *testing.T) {
	for _, sending := range event.SendModes {
		fd, to := boundSocket(t, netip.MustParseAddrPort(loopbacks[0]))
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
			t.Fatal(err)
		}
		from, _, err := dialUDP(to, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(from)
		c := config{params: params{Run: 1, Size: 100, transfer: transfer{Send: sending, Batch: 4}}}
		if sending == event.SendSingle {
			c.Batch = 1
		}
		path, err := newPath(from, c)
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
