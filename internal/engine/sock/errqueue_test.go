package sock

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDescribeError(t *testing.T) {
	ee := func(errno unix.Errno, origin, typ, code byte, info uint32, addr ...byte) []byte {
		b := make([]byte, unix.CmsgLen(16), 64)
		e := b[unix.CmsgLen(0):]
		binary.NativeEndian.PutUint32(e, uint32(errno))
		e[4], e[5], e[6] = origin, typ, code
		binary.NativeEndian.PutUint32(e[8:], info)
		return append(b, addr...)
	}
	inet := append(binary.NativeEndian.AppendUint16(nil, unix.AF_INET), 0, 0, 10, 64, 1, 254)
	inet6 := append(binary.NativeEndian.AppendUint16(nil, unix.AF_INET6), make([]byte, 26)...)
	inet6[8], inet6[23] = 0xfd, 9
	for _, tc := range []struct {
		b    []byte
		want string
	}{
		{ee(unix.EMSGSIZE, unix.SO_EE_ORIGIN_LOCAL, 0, 0, 1450), "EMSGSIZE (MTU 1450) on this machine"},
		{ee(unix.EMSGSIZE, unix.SO_EE_ORIGIN_ICMP, 3, 4, 1400, inet...), "EMSGSIZE (MTU 1400) by ICMP type 3 code 4 from 10.64.1.254"},
		{ee(unix.EMSGSIZE, unix.SO_EE_ORIGIN_ICMP6, 2, 0, 1280, inet6...), "EMSGSIZE (MTU 1280) by ICMPv6 type 2 code 0 from fd00::9"},
		{ee(unix.ECONNREFUSED, unix.SO_EE_ORIGIN_ICMP, 3, 3, 0), "ECONNREFUSED by ICMP type 3 code 3 from an unknown node"},
		{ee(9999, 77, 0, 0, 0), "error 9999"},
		{nil, ""}, // the kernel cut it short
	} {
		e, from, ok := extendedErr(tc.b)
		if ok != (tc.want != "") {
			t.Errorf("%x: %v", tc.b, ok)
		} else if ok && describeError(e, from) != tc.want {
			t.Errorf("%x: %q, want %q", tc.b, describeError(e, from), tc.want)
		}
	}
}
