package engine

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// A datagram costs no allocation, sent, received, echoed or counted: collection
// is off while the engine measures.
func TestDatagramsDoNotAllocate(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			addr, _ := serve(t, loopback)
			server, err := parseServer("test", addr)
			if err != nil {
				t.Fatal(err)
			}
			fd, err := listen(unix.SOCK_DGRAM, netip.MustParseAddrPort(loopback))
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if err := unix.Connect(fd, sockaddr(server)); err != nil {
				t.Fatal(err)
			}
			if err := setTimeouts(fd, tick*10); err != nil {
				t.Fatal(err)
			}
			path, err := newPath(fd, 1, event.Mode{Size: 100})
			if err != nil {
				t.Fatal(err)
			}
			m := newMessage()
			if n := testing.AllocsPerRun(100, func() {
				if _, _, errno := path.send(kindEcho, 7, 1, now()); errno != 0 {
					t.Fatal(errno)
				}
				n, drops, errno := m.recv(fd, 0)
				h, ok := parseHeader(m.buf[:n])
				if errno != 0 || !ok || h.kind != kindEcho|kindAnswer || h.seq != 7 || drops != 0 {
					t.Fatalf("%v %+v %d", errno, h, drops)
				}
			}); n != 0 { // the server, in this process too, is counted as well
				t.Errorf("%g allocations per echo", n)
			}
		})
	}
}
