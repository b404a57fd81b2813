package distance

import (
	"encoding/binary"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/nstest"
)

// BenchmarkQueue sends packets over a bridge that hands each to the queue. Most of the packets that it counts wait: a
// window of them is on its way.
func BenchmarkQueue(b *testing.B) {
	nstest.Need(b)
	const window = 1000
	from, to := bridged(b)
	q, err := newQueue()
	if err == nil {
		err = divert()
	}
	if err != nil {
		b.Skip(err)
	}
	q.started = true
	go func() {
		if err := q.run(); err != nil {
			b.Error(err)
		}
	}()
	b.Cleanup(func() {
		if err := q.close(); err != nil {
			b.Error(err)
		}
	})
	if err := q.hold(Setting{Bridge: "bench", Port: "bench1", Delay: 50 * time.Microsecond}); err != nil {
		b.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	frame := datagram(from, to)
	if _, err := q.count(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for sent, released := 0, 0; released < b.N; {
		for ; sent < b.N && sent-released < window; sent++ {
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: from.Attrs().Index}); err != nil {
				b.Fatal(err)
			}
		}
		q.mu.Lock()
		released = int(q.done.Packets)
		q.mu.Unlock()
		if b.Elapsed() > time.Minute {
			b.Fatalf("%d packets were sent, and %d released", sent, released)
		}
	}
	b.StopTimer()
	c, err := q.count()
	if err != nil || c.Dropped > 0 || c.Packets < uint64(b.N) {
		b.Errorf("%v: %+v, and %d packets were sent", err, c, b.N)
	}
	b.ReportMetric(c.Busy*float64(b.Elapsed().Nanoseconds())/float64(c.Packets), "cpu-ns/packet")
	b.ReportMetric(float64(c.Packets)/b.Elapsed().Seconds(), "packets/s")
}

// bridged returns the far ends of two ports of a bridge, bench0 and bench1.
func bridged(b *testing.B) (from, to netlink.Link) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0))
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bench"}}
	must(netlink.LinkAdd(bridge))
	b.Cleanup(func() { must(netlink.LinkDel(bridge)) })
	var ends []netlink.Link
	for _, name := range []string{"bench0", "bench1"} {
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "-end"}
		must(netlink.LinkAdd(veth))
		b.Cleanup(func() { must(netlink.LinkDel(veth)) })
		must(netlink.LinkSetMaster(veth, bridge))
		must(netlink.LinkSetUp(veth))
		end, err := netlink.LinkByName(veth.PeerName)
		must(err)
		must(netlink.LinkSetUp(end))
		ends = append(ends, end)
	}
	must(netlink.LinkSetUp(bridge))
	deadline := time.Now().Add(time.Minute)
	for _, name := range []string{"bench0", "bench1", "bench"} { // the kernel brings ports up later
		for up := false; !up; {
			l, err := netlink.LinkByName(name)
			must(err)
			if up = l.Attrs().OperState == netlink.OperUp; !up && time.Now().After(deadline) {
				b.Fatalf("%s is %s", name, l.Attrs().OperState)
			}
		}
	}
	return ends[0], ends[1]
}

// datagram returns a frame with an empty UDP datagram.
func datagram(from, to netlink.Link) []byte {
	frame := append(append([]byte{}, to.Attrs().HardwareAddr...), from.Attrs().HardwareAddr...)
	ip := []byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0}
	ip = append(append(ip, net.IPv4(192, 0, 2, 1).To4()...), net.IPv4(192, 0, 2, 2).To4()...)
	sum := uint32(0)
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	udp := []byte{0, 9, 0, 9, 0, 8, 0, 0}
	return append(append(append(frame, 0x08, 0), ip...), append(udp, make([]byte, 18)...)...)
}
