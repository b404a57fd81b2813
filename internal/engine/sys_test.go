package engine

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// Collection is off while the engine measures.
func TestDatagramsDoNotAllocate(t *testing.T) {
	for _, loopback := range loopbacks {
		t.Run(loopback, func(t *testing.T) {
			addr, _ := serve(t, loopback)
			server, err := parseServer("test", addr)
			if err != nil {
				t.Fatal(err)
			}
			fd, err := sock.Listen(unix.SOCK_DGRAM, netip.MustParseAddrPort(loopback))
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			if err := unix.Connect(fd, sock.Sockaddr(server)); err != nil {
				t.Fatal(err)
			}
			if err := sock.SetTimeouts(fd, sock.Tick*10); err != nil {
				t.Fatal(err)
			}
			path, err := sock.NewPath(fd, 1, event.Mode{Size: 100})
			if err != nil {
				t.Fatal(err)
			}
			m := sock.NewMessage()
			if n := testing.AllocsPerRun(100, func() {
				if _, _, errno := path.Send(wire.KindEcho, 7, 1, sock.Now()); errno != 0 {
					t.Fatal(errno)
				}
				n, drops, errno := m.Recv(fd, 0)
				for errno == unix.EINTR { // the runtime's own signals end a wait with a timeout
					n, drops, errno = m.Recv(fd, 0)
				}
				h, ok := wire.ParseHeader(m.Buf[:n])
				if errno != 0 || !ok || h.Kind != wire.KindEcho|wire.KindAnswer || h.Seq != 7 || drops != 0 {
					t.Fatalf("%v %+v %d", errno, h, drops)
				}
			}); n != 0 { // includes the server, which is in this process
				t.Errorf("%g allocations per echo", n)
			}
		})
	}
}
