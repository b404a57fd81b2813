package network_test

import (
	"io"
	"testing"

	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/topo"
)

// A conflist is of a user or of a cluster. A plan from one promises an MTU that the underlay carries.
func FuzzConflist(f *testing.F) {
	for _, s := range []string{`{"cniVersion": "1.0.0", "name": "a", "plugins": [{"type": "ptp", "mtu": 1400}, {"type": "portmap"}]}`,
		`{"plugins": [{"type": "macvlan", "master": "eth1", "ipam": {"type": "static"}}]}`, `{"plugins": [{"type": "bridge", "mtu": 0}]}`,
		`{"plugins": [{"type": 7, "mtu": "1500", "capabilities": null}]}`, `{}`, `[`} {
		f.Add([]byte(s))
	}
	two, err := topo.New(topo.Spec{Hosts: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c network.Conflist
		if len(b) == 0 || b[0] != '{' || c.UnmarshalText(b) != nil { // other text names a file
			return
		}
		p, err := network.CNI{Conflist: c}.Plan(two)
		if err != nil {
			return
		}
		if p.Path.MTU < topo.MinMTU || p.Path.MTU > two.MTU {
			t.Errorf("an MTU of %d over one of %d", p.Path.MTU, two.MTU)
		}
		if err := p.Encode(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
