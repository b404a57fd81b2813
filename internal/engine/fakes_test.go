package engine

import (
	"encoding/json"
	"net"
	"net/netip"
	"testing"

	"github.com/weir-bench/weir/internal/engine/wire"
)

// fakeUDP is a server at an address that answers each datagram as often as reply says, with the bytes that reply returns
// after the header.
func fakeUDP(t *testing.T, at netip.AddrPort, reply func(h wire.Header, payload []byte, from netip.AddrPort) ([]byte, int)) netip.AddrPort {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return // closed
			}
			h, ok := wire.ParseHeader(b[:n])
			if !ok {
				continue
			}
			answer, times := reply(h, b[wire.HeaderSize:n], from)
			h.Kind |= wire.KindAnswer
			h.Put(b)
			n = wire.HeaderSize + copy(b[wire.HeaderSize:], answer)
			for range times {
				_, _ = conn.WriteToUDPAddrPort(b[:n], from)
			}
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func inJSON(v any) []byte {
	b, _ := json.Marshal(v) // cannot fail
	return b
}
