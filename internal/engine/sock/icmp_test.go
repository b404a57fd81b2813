package sock

import (
	"encoding/binary"
	"testing"
)

// The sum over data and checksum is zero (RFC 1071, section 1).
func TestChecksum(t *testing.T) {
	for _, b := range [][]byte{{0, 0}, {0, 0, 1}, {0, 0, 0xff, 0xff, 0xff, 0xff, 3}} {
		binary.BigEndian.PutUint16(b, checksum(b))
		if got := checksum(b); got != 0 {
			t.Errorf("%x: sum %x, want 0", b, got)
		}
	}
}

func TestParseReply(t *testing.T) {
	reply := func(typ byte, id, seq uint16) []byte {
		b := make([]byte, icmpHeader)
		b[0] = typ
		binary.BigEndian.PutUint16(b[4:], id)
		binary.BigEndian.PutUint16(b[6:], seq)
		return b
	}
	s := &ICMP{v6: true, Raw: true, id: 7, packet: make([]byte, icmpHeader)}
	for _, tc := range []struct {
		name string
		b    []byte
		want bool
	}{
		{"an answer", reply(echoReply6, 7, 3), true},
		{"to another program", reply(echoReply6, 8, 3), false},
		{"a request", reply(echo6, 7, 3), false},
		{"cut short", reply(echoReply6, 7, 3)[:7], false},
		{"empty", nil, false},
		{"of another size", append(reply(echoReply6, 7, 3), 'x'), false},
	} {
		if seq, ok := s.Parse(tc.b); ok != tc.want || ok && seq != 3 {
			t.Errorf("%s: %d, %v", tc.name, seq, ok)
		}
	}
}
