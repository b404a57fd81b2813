package distance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func TestDue(t *testing.T) {
	s := Setting{Delay: 5 * time.Millisecond, Jitter: time.Millisecond}
	for _, c := range []struct {
		last, at int64
		s        Setting
		chance   float64
		want     int64
	}{
		{0, 100, Setting{}, 0.3, 100},
		{0, 0, s, 0, 4e6},
		{0, 0, s, 0.5, 5e6},
		{0, 0, s, 1, 6e6},
		{9e6, 0, s, 1, 9e6}, // never before the packet in front of it
	} {
		if got := due(c.last, c.at, c.s, c.chance); got != c.want {
			t.Errorf("%+v: due at %d", c, got)
		}
	}
}

func TestArrived(t *testing.T) {
	const now = int64(time.Hour)
	for _, c := range []struct{ stamp, want int64 }{
		{now, now}, {now - 5e6, now - 5e6}, {now + 5e6, now + 5e6}, // read late; arrived while others were read
		{0, now}, {now - 11e9, now}, {now + 2e9, now}, // no stamp; a step of the clock
	} {
		if got := arrived(c.stamp, now); got != c.want {
			t.Errorf("stamp %d: arrived at %d, want %d", c.stamp, got, c.want)
		}
	}
}

// message returns a message of nfnetlink_queue.
func message(typ int, attributes ...nl.NetlinkRequestData) []byte {
	r := nl.NewNetlinkRequest(subsysQueue|typ, 0)
	r.Seq = 0
	r.Data = append([]nl.NetlinkRequestData{&nl.Nfgenmsg{}}, attributes...)
	return r.Serialize()
}

// packetMessage is what the kernel sends about a packet.
func packetMessage(id, bridge, port uint32, at time.Duration) []byte {
	all := []nl.NetlinkRequestData{nl.NewRtAttr(packetHeader, append(binary.BigEndian.AppendUint32(nil, id), 8, 0, 2)), be32(packetOut, bridge)}
	if port > 0 {
		all = append(all, be32(packetPhysOut, port))
	}
	if at > 0 {
		all = append(all, nl.NewRtAttr(packetTime, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(at/time.Second)), uint64(at%time.Second/time.Microsecond))))
	}
	return message(msgPacket, all...)
}

// verdictMessage is what the kernel reads about a packet.
func verdictMessage(typ int, id, verdict uint32) []byte {
	return message(typ, nl.NewRtAttr(packetVerdict, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, verdict), id)))
}

func TestParsePacket(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want arrival
		ok   bool
	}{
		{packetMessage(7, 3, 5, 1500*time.Millisecond), arrival{7, 5, 1500e6}, true},
		{packetMessage(7, 3, 0, 0), arrival{7, 3, 0}, true},
		{packetMessage(7, 3, 5, 0)[:22], arrival{}, false},
		{message(msgConfig), arrival{}, false},
		{nil, arrival{}, false},
	} {
		if got, ok := parsePacket(c.b); got != c.want || ok != c.ok {
			t.Errorf("%x: %+v, %v, want %+v", c.b, got, ok, c.want)
		}
	}
}

func FuzzParsePacket(f *testing.F) {
	f.Add(packetMessage(1, 2, 3, time.Second))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, ok := parsePacket(b); ok && len(b) < unix.SizeofNlMsghdr {
			t.Error("a packet without a header")
		}
	})
}

func TestParseDropped(t *testing.T) {
	if n, err := parseDropped("    0  31621     2 1     0     3     4     1200  1\n"); n != 7 || err != nil {
		t.Errorf("%d, %v, want 7", n, err)
	}
	for _, bad := range []string{"", "0 1 2", "0 1 2 3 4 -5 6 7 1"} {
		if _, err := parseDropped(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Packets of ports with the same delay go on with one verdict; with different delays each needs its
// own, so that later packets of a near port overtake earlier ones of a far port.
func TestRelease(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	far, near := Setting{Delay: time.Hour}, Setting{}
	for _, c := range []struct {
		name  string
		first Setting // of packets 1 and 2, which leave port 1; 3 and 4 leave port 2
		want  []uint32
		typ   int
	}{
		{"equal", near, []uint32{4}, msgVerdicts},
		{"the first port is far", far, []uint32{3, 4}, msgVerdict},
	} {
		q := &queue{fd: fds[0], ports: map[uint32]*port{}, late: newLate()}
		now := monotonic()
		q.take(1, 1, now, c.first)
		q.take(1, 2, now, c.first)
		q.take(2, 3, now, near)
		q.take(2, 4, now, near)
		if err := q.release(); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := unix.Read(fds[1], b)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, id := range c.want {
			want = append(want, verdictMessage(c.typ, id, nfAccept)...)
		}
		if !bytes.Equal(b[:n], want) {
			t.Errorf("%s: verdicts %x, want %x", c.name, b[:n], want)
		}
	}
}

// After a stall, more packets can be due at once than netlink takes in one message.
func TestReleaseAfterStall(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	const packets = 4000
	q := &queue{fd: fds[0], ports: map[uint32]*port{}, late: newLate()}
	now := monotonic()
	q.take(1, 1, now, Setting{Delay: time.Hour}) // the oldest stays, so each of the others needs a verdict
	for id := range uint32(packets) {
		q.take(2, id+2, now, Setting{})
	}
	verdicts := make(chan int)
	go func() {
		b, all := make([]byte, 1<<20), 0
		for size := len(verdictMessage(msgVerdict, 0, 0)); all < packets; {
			n, err := unix.Read(fds[1], b)
			if err != nil || n > sendAtOnce+size || n%size != 0 {
				t.Errorf("a message of %d bytes, %v", n, err)
				break
			}
			all += n / size
		}
		verdicts <- all
	}()
	if err := q.release(); err != nil {
		t.Fatal(err)
	}
	if n := <-verdicts; n != packets {
		t.Errorf("%d verdicts, want %d", n, packets)
	}
}

// A kernel without nftables answers a whole batch once.
func TestRefusedBatch(t *testing.T) {
	sent := 0
	c, err := nftables.New(nftables.WithTestDial(func(batch []netlink.Message) ([]netlink.Message, error) {
		if batch == nil {
			return nil, errors.New("a read that waits for more")
		}
		sent++
		return nltest.Error(int(unix.EOPNOTSUPP), batch)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := rules(c); !errors.Is(err, unix.EOPNOTSUPP) || strings.Contains(err.Error(), "waits") || sent != 1 {
		t.Errorf("error %v after %d batches, want only EOPNOTSUPP", err, sent)
	}
}

// A program that does not run is an error, not a silence.
func TestNoProgram(t *testing.T) {
	if _, err := Read(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "distance: ") {
		t.Errorf("error %v", err)
	}
}
