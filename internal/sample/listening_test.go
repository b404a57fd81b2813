package sample

import (
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	tcpHeader = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	listen    = "   0: 0100007F:14B5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18601 1\n"
	connected = "   1: 0100007F:14B6 0100007F:92CE 01 00000000:00000000 00:00000000 00000000     0        0 18603 2\n"
	listen6   = "   0: 00000000000000000000000000000000:14B7 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1 1\n"
	bound     = "  113: 00000000:14B5 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 0\n"
)

func TestListening(t *testing.T) {
	root := fstest.MapFS{
		"proc/net/tcp":  {Data: []byte(tcpHeader + listen + connected)},
		"proc/net/tcp6": {Data: []byte(tcpHeader + listen6)},
		"proc/net/udp":  {Data: []byte(tcpHeader + bound)}, // no udp6: IPv6 is off
	}
	for _, tc := range []struct {
		proto string
		port  uint16
		want  bool
	}{
		{"tcp", 0x14b5, true},
		{"tcp", 0x14b6, false}, // a connection that was accepted
		{"tcp", 0x14b7, true},  // IPv6
		{"tcp", 0x92ce, false}, // a remote port
		{"udp", 0x14b5, true},
		{"udp", 0x14b6, false},
	} {
		got, err := Listening(root, tc.proto, tc.port)
		if err != nil || got != tc.want {
			t.Errorf("%s %#x: %t, %v, want %t", tc.proto, tc.port, got, err, tc.want)
		}
	}
}

func TestListeningErrors(t *testing.T) {
	for _, tc := range []struct{ proto, data, want string }{
		{"sctp", tcpHeader, `invalid protocol "sctp": want tcp or udp`},
		{"udp", tcpHeader, fs.ErrNotExist.Error()},
		{"tcp", "", "no header"},
		{"tcp", tcpHeader + "0: 0100007F:14B5\n", "line 2: 2 columns"},
		{"tcp", tcpHeader + "0: 0100007F 0:0 0A\n", "has no port"},
		{"tcp", tcpHeader + "0: 0:1 0:0 ZZ\n", "want a hexadecimal number"},
	} {
		got, err := Listening(fstest.MapFS{"proc/net/tcp": {Data: []byte(tc.data)}}, tc.proto, 80)
		if err == nil || got || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %q: %t, %v, want an error with %q", tc.proto, tc.data, got, err, tc.want)
		}
	}
}

func TestListeningHere(t *testing.T) {
	root := os.DirFS("/")
	if _, err := fs.Stat(root, "proc/net/tcp"); err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]int{"tcp": l.Addr().(*net.TCPAddr).Port, "udp": u.LocalAddr().(*net.UDPAddr).Port}
	expect := func(want bool) {
		t.Helper()
		for proto, port := range ports {
			if got, err := Listening(root, proto, uint16(port)); err != nil || got != want {
				t.Errorf("%s: %t, %v, want %t", proto, got, err, want)
			}
		}
	}
	expect(true)
	l.Close()
	u.Close()
	expect(false)
}
