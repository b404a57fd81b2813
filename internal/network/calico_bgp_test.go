package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/topo"
)

// A host with more pods than a block has addresses gets more blocks, and every other host must
// learn all of them.
func TestCalicoBlocks(t *testing.T) {
	for _, c := range []struct {
		pods int
		v6   bool
		want string
	}{
		{1, false, "[10.64.2.0/26]"},
		{63, false, "[10.64.2.0/26]"},
		{64, false, "[10.64.2.0/26 10.64.2.64/26]"},
		{253, false, "[10.64.2.0/26 10.64.2.64/26 10.64.2.128/26 10.64.2.192/26]"},
		{64, true, "[fd77:0:0:2::/122 fd77:0:0:2::40/122]"},
	} {
		tp, err := topo.New(topo.Spec{Hosts: 3, Pods: c.pods, IPv6: c.v6, PodsIPv6: c.v6})
		if err != nil {
			t.Fatal(err)
		}
		got := blocks(tp.Hosts[1])
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d pods: %v, want %s", c.pods, got, c.want)
		}
		lines, n := bgpRoutes(tp, tp.Hosts[0]).Lines, 0
		for _, b := range got {
			via := tp.Hosts[1].Addr.Addr().String()
			if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, b.String()+" via "+via+" dev eth0") }) {
				n++
			}
		}
		if n != len(got) || len(lines) != 2*len(got) {
			t.Errorf("%d pods: routes %q", c.pods, lines)
		}
	}
}
