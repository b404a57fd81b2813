package engine

import (
	"net/netip"
	"strings"
	"testing"
)

func TestSplitHost(t *testing.T) {
	for _, tc := range []struct {
		in, host string
		port     uint16
	}{
		{"10.0.0.1", "10.0.0.1", 5202}, {"10.0.0.1:7", "10.0.0.1", 7}, {"server1", "server1", 5202}, {"server1:65535", "server1", 65535},
		{"fd00::1", "fd00::1", 5202}, {"[fd00::1]", "fd00::1", 5202}, {"[fd00::1]:7", "fd00::1", 7},
		{"fe80::1%eth0", "fe80::1%eth0", 5202}, {"[fe80::1%eth0]:7", "fe80::1%eth0", 7}, {":7", "", 7},
	} {
		if host, port, err := splitHost(tc.in); err != nil || host != tc.host || port != tc.port {
			t.Errorf("%q: %q, %d, %v; want %q, %d", tc.in, host, port, err, tc.host, tc.port)
		}
	}
	for _, in := range []string{"a:", "a:x", "a:65536", "a:-1", "a b", "http://a", "a/b", "[fd00::1", "fe80::1%eth0:1", "[a]", "fd00::1]:7", "[:]:0", "[x:y]:1"} {
		if host, port, err := splitHost(in); err == nil {
			t.Errorf("%q: %q, %d, want an error", in, host, port)
		}
	}
}

func TestParseListen(t *testing.T) {
	for in, want := range map[string]string{
		"": "[::]:5202", ":7": "[::]:7", "10.0.0.1": "10.0.0.1:5202", "[::1]:0": "[::1]:0", "0.0.0.0:7": "0.0.0.0:7",
		"fe80::1%3": "[fe80::1%3]:5202", "[fe80::1%lo]:7": "[fe80::1%1]:7",
	} {
		if at, err := parseListen(in); err != nil || at.String() != want {
			t.Errorf("%q: %v, %v, want %s", in, at, err, want)
		}
	}
}

// A host that was read can be written with its port and read again.
func FuzzSplitHost(f *testing.F) {
	for _, s := range []string{"a", "a:1", "[::1]:1", "::1", "fe80::1%eth0", ":1", "[a]:1", "[:]:0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, err := splitHost(s)
		if err != nil {
			return
		}
		again := host + ":1"
		if a, err := netip.ParseAddr(host); err == nil {
			again = netip.AddrPortFrom(a, 1).String()
		}
		if h, p, err := splitHost(again); err != nil || p != 1 || h != host && !strings.EqualFold(h, host) && netip.MustParseAddr(h) != netip.MustParseAddr(host) {
			t.Errorf("%q is %q and port %d, but %q is %q, %d, %v", s, host, port, again, h, p, err)
		}
	})
}
