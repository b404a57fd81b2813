package relay

import "testing"

func TestParseNeighbor(t *testing.T) {
	for _, x := range []struct{ s, err string }{
		{"198.18.1.1:1,198.18.1.2:1", ""},
		{"[2001:2::1]:1,[2001:2::2]:1", ""},
		{"198.18.1.1:1", `invalid neighbor "198.18.1.1:1": want LOCAL,REMOTE`},
		{"198.18.1.1,198.18.1.2:1", "not an ip:port"},
		{"198.18.1.1:1,198.18.1.2", "not an ip:port"},
		{"198.18.1.1:1,198.18.1.2:1,2s", "invalid port \"1,2s\" parsing \"198.18.1.2:1,2s\""},
	} {
		n, err := ParseNeighbor(x.s)
		if x.err == "" && (err != nil || !n.Local.IsValid() || !n.Remote.IsValid()) || x.err != "" && (err == nil || err.Error() != x.err) {
			t.Errorf("%s: %+v, %v, want %q", x.s, n, err, x.err)
		}
	}
}
