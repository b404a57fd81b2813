package sock

import (
	"encoding/binary"
	"testing"
)

// A raw socket receives every reply that reaches the machine, from anybody.
func FuzzICMP(f *testing.F) {
	const id, cookie = 0x1234, 0x0102030405060708
	for _, s := range []ICMP{{}, {Raw: true}, {v6: true}, {Raw: true, v6: true}} {
		b := make([]byte, icmpHeader+8, 64)
		b[0] = echoReply
		if s.v6 {
			b[0] = echoReply6
		}
		binary.BigEndian.PutUint16(b[4:], id)
		binary.BigEndian.PutUint16(b[6:], 7)
		binary.BigEndian.PutUint64(b[icmpHeader:], cookie)
		if s.Raw && !s.v6 {
			b = append(append([]byte{0x45}, make([]byte, 19)...), b...)
		}
		f.Add(b, icmpHeader+8, s.Raw, s.v6)
	}
	f.Add([]byte{0x4f}, 0, true, false)
	f.Fuzz(func(t *testing.T, b []byte, size int, raw, v6 bool) {
		if size < icmpHeader || size > 1<<16 {
			return
		}
		s := &ICMP{Raw: raw, v6: v6, packet: make([]byte, size), id: id, cookie: cookie}
		seq, ok := s.Parse(b)
		if !ok {
			return
		}
		reply := b[len(b)-size:] // all of it, and nothing after it
		if binary.BigEndian.Uint16(reply[6:]) != seq || raw && binary.BigEndian.Uint16(reply[4:]) != id || size >= icmpHeader+8 && binary.BigEndian.Uint64(reply[icmpHeader:]) != cookie {
			t.Errorf("%x counts as a reply to request %d of a socket with identifier %x and cookie %x", b, seq, id, uint64(cookie))
		}
	})
}
