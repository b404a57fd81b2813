package kube

import (
	"net/netip"
	"slices"
	"testing"
	"testing/fstest"
)

// Whatever an agent says of its place, it gets a seat on a machine of the run, or is refused in one line.
func FuzzPlace(f *testing.F) {
	order := fstest.MapFS{
		clusterFile: {Data: []byte(`{"run":"r","machines":[{"name":"node1"},{"name":"node2"}],"groups":[{"name":"hosts","host":true,"nodes":["node1","node2"]},{"name":"pods-1","n":1,"nodes":["node1","node9"]}],"services":[{"group":"pods-1","index":0,"kind":"nodeport","clusterIP":"10.0.0.9","ports":[{"port":1,"nodePort":30000}]}]}`)},
		tokenFile:   {Data: []byte("token")}, studyFile: {Data: []byte("a study")},
	}
	c, _, err := NewCoordinator(order, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, place := range []string{`{"group":"pods-1","node":"node1","pod":"a\nb","addrs":["10.0.0.1","x","::ffff:10.0.0.1"],"hostIPs":["fe80::1%eth0"]}`,
		`{"group":"hosts","index":-1,"node":"node2"}`, `{"group":"pods-1","node":"node9"}`, `{"group":"hosts","node":"\u001b[2J"}`, "{}", "null", ""} {
		f.Add([]byte(place))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s, name, err := c.seatFor(line)
		switch {
		case err != nil && (s != nil || name != "" || len(err.Error()) > 1000 || !oneVisibleLine(err.Error())):
			t.Errorf("seat %v of %q, %q", s, name, err)
		case err == nil && (!slices.Contains(c.machines, s.at) || name == "" || !oneVisibleLine(s.pod)):
			t.Errorf("seat %+v of %q", s, name)
		case err == nil && slices.ContainsFunc(slices.Concat(s.addrs, s.hostIPs), func(a netip.Addr) bool { return !a.IsValid() }):
			t.Errorf("addresses %v, %v", s.addrs, s.hostIPs)
		}
	})
}
