package sock

import (
	"net/netip"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A buffer of several datagrams, the last one shorter, splits at the datagrams' boundaries.
func TestBulkSegments(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			needFamily(t, loopback)
			fd, to := boundSocket(t, netip.MustParseAddrPort(loopback))
			if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
				t.Fatal(err)
			}
			from, _, err := DialUDP(to, 0, Tick)
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
				if _, errno := Send(from, b[:n]); errno != 0 {
					t.Fatal(errno)
				}
			}
			in := NewBulk()
			in.Shape(RecvBatch)
			if errno := in.Read(fd, 0); errno != 0 || in.Got != 4 { // loopback delivers before send returns
				t.Fatalf("%d messages, %v, want 4", in.Got, errno)
			}
			for i, want := range []struct{ bytes, segment int }{{350, 100}, {100, 100}, {60, 60}, {300, 100}} {
				p := in.At(i)
				if len(p.Data) != want.bytes || p.Segment != want.segment || p.Data[len(p.Data)-1] != byte((want.bytes-1)/100) {
					t.Errorf("message %d: %d bytes in segments of %d, want %+v", i, len(p.Data), p.Segment, want)
				}
			}
		})
	}
}

func TestBulkShapes(t *testing.T) {
	fd, to := boundSocket(t, netip.MustParseAddrPort(loopbacks[0]))
	from, _, err := DialUDP(to, 0, Tick)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	in := NewBulk()
	if errno := in.Read(fd, unix.MSG_DONTWAIT); errno != unix.EAGAIN {
		t.Errorf("an empty socket: %v", errno)
	}
	for round, shape := range []int{1, RecvBatch, 2, 1} {
		in.Shape(shape)
		for i := range byte(3) {
			if _, errno := Send(from, []byte{i}); errno != 0 {
				t.Fatal(errno)
			}
		}
		next := byte(0)
		for next < 3 {
			if errno := in.Wait(fd); errno != 0 {
				t.Fatalf("round %d: %v", round, errno)
			}
			if in.Got != min(shape, 3-int(next)) {
				t.Errorf("round %d: %d messages per read of %d, %d were there", round, in.Got, shape, 3-next)
			}
			for i := range in.Got {
				if p := in.At(i); len(p.Data) != 1 || p.Data[0] != next || p.Segment != 1 || in.room[i].hdr.Namelen == 0 {
					t.Errorf("round %d: message %d: %+v", round, next, p)
				}
				next++
			}
		}
	}
}

// The drop counter arrives with the first message after the drops.
func TestBulkDrops(t *testing.T) {
	fd, to := boundSocket(t, netip.MustParseAddrPort(loopbacks[0]))
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := SetBuffer(fd, unix.SO_RCVBUF, 4096); err != nil {
		t.Fatal(err)
	}
	from, _, err := DialUDP(to, 0, Tick)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(from)
	const sent = 100
	for range sent {
		if _, errno := Send(from, make([]byte, 1000)); errno != 0 {
			t.Fatal(errno)
		}
	}
	in := NewBulk()
	in.Shape(RecvBatch)
	got := 0
	for in.Read(fd, unix.MSG_DONTWAIT) == 0 {
		got += in.Got
	}
	if got == sent {
		t.Fatalf("a buffer of 4 KiB held %d datagrams of 1000 bytes", sent)
	}
	Send(from, []byte("x"))
	if errno := in.Read(fd, 0); errno != 0 || int(in.At(in.Got-1).Drops) != sent-got {
		t.Errorf("%d drops, %v, want %d", in.At(in.Got-1).Drops, errno, sent-got)
	}
}

// aligned returns a copy of b, aligned as the kernel aligns it.
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

// Segments fit the message for all ancillary data.
func FuzzReadControl(f *testing.F) {
	f.Add(controlMessage(unix.SOL_UDP, unix.UDP_GRO, 100), uint16(1400))
	f.Add(controlMessage(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)[:17], uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint16) {
		whole := max(int(n), 1)
		if _, s := readControl(aligned(b), whole); s < 1 || s > whole {
			t.Errorf("segments of %d in %d bytes", s, whole)
		}
		if e, _, ok := extendedErr(aligned(b)); ok {
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

func boundSocket(t testing.TB, at netip.AddrPort) (int, netip.AddrPort) {
	t.Helper()
	fd, err := Listen(unix.SOCK_DGRAM, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := SetTimeouts(fd, 10*Tick); err != nil {
		t.Fatal(err)
	}
	bound, err := OwnAddr(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fd, bound
}

var loopbacks = []string{"127.0.0.1:0", "[::1]:0"}

// needFamily skips when this machine has no loopback address of the family.
func needFamily(t testing.TB, addr string) {
	t.Helper()
	fd, err := Listen(unix.SOCK_DGRAM, netip.MustParseAddrPort(addr))
	if err != nil {
		t.Skipf("%s cannot be bound: %v", addr, err)
	}
	unix.Close(fd)
}
