package topo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string // every device; a semicolon separates segments
	}{
		{Spec{}, "h1 eth0 198.18.0.1/15, h2 eth0 198.18.0.2/15"},
		{Spec{Hosts: 2, Shape: Line}, "h1 eth0 198.18.1.1/24, h2 eth0 198.18.1.2/24"},
		{Spec{Hosts: 3, Shape: Line}, "h1 eth0 198.18.1.1/24, h2 eth0 198.18.1.2/24; h2 eth1 198.18.2.1/24, h3 eth0 198.18.2.2/24"},
		{Spec{Hosts: 3, Shape: Line, IPv6: true}, "h1 eth0 2001:2:0:1::1/64, h2 eth0 2001:2:0:1::2/64; h2 eth1 2001:2:0:2::1/64, h3 eth0 2001:2:0:2::2/64"},
		{Spec{Shape: HostNICs}, "h1 eth0 198.18.0.1/15, h2 eth0 198.18.0.2/15; h1 eth1 10.64.1.254/10, h2 eth1 10.64.2.254/10"},
		{Spec{Hosts: 1, Pods: 2, Shape: PodNICs}, "h1 eth0 198.18.0.1/15; h1p1 eth0 10.64.1.1/10, h1p2 eth0 10.64.1.2/10"},
	} {
		tp, err := New(c.spec)
		if err != nil {
			t.Errorf("%+v: %v", c.spec, err)
			continue
		}
		var segments []string
		for _, ports := range tp.Segments {
			var devs []string
			for _, p := range ports {
				devs = append(devs, fmt.Sprint(p.In, " ", p.Dev, " ", p.Addr))
			}
			segments = append(segments, strings.Join(devs, ", "))
		}
		if got := strings.Join(segments, "; "); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.spec, got, c.want)
		}
	}
}

// Every host has the address of its first device, and no two devices share an address.
func TestAddresses(t *testing.T) {
	for _, spec := range []Spec{{Hosts: 300, Pods: 2}, {Hosts: MaxLine, Shape: Line}, {Hosts: MaxLine, Shape: Line, IPv6: true},
		{Hosts: 300, Pods: 2, Shape: HostNICs}, {Hosts: 300, Pods: 2, Shape: PodNICs, PodsIPv6: true}} {
		tp, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, p := range slices.Concat(tp.Segments...) {
			if was, ok := seen[p.Addr.Addr().String()]; ok {
				t.Errorf("%+v: %s and %s have address %v", spec, was, p.In, p.Addr)
			}
			seen[p.Addr.Addr().String()] = p.In
		}
		for _, h := range tp.Hosts {
			if seen[h.Addr.Addr().String()] != h.Name {
				t.Errorf("%+v: %s has no device with its address %v", spec, h.Name, h.Addr)
			}
		}
	}
	for hosts, want := range map[int]string{1: "invalid line of 1 hosts: want 2 to 512", MaxLine + 1: "invalid line of 513 hosts: want 2 to 512"} {
		if _, err := New(Spec{Hosts: hosts, Shape: Line}); err == nil || err.Error() != want {
			t.Errorf("%d hosts: %v", hosts, err)
		}
	}
}
