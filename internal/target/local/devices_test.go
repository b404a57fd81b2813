package local

import (
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/weir-bench/weir/internal/facts"
)

// Devices says what netlink and ethtool say, of every device except the loopback device.
func TestDevices(t *testing.T) {
	all := Devices()
	if _, ok := all["lo"]; ok {
		t.Error("the loopback device is listed")
	}
	for name, d := range all {
		l, err := netlink.LinkByName(name)
		if err != nil || l.Attrs().MTU != d.MTU {
			t.Errorf("%s: MTU %d, %v", name, d.MTU, err)
		}
		if (d.Kind == facts.Physical) != (l.Type() == "device") {
			t.Errorf("%s is %s, and netlink says %s", name, d.Kind, l.Type())
		}
		if d.Offloads == nil {
			t.Logf("%s: offloads are unknown", name)
		}
		for _, o := range d.Offloads {
			known := slices.Contains([]string{"none", "large-receive-offload"}, o)
			for _, q := range queries {
				known = known || q.name == o
			}
			if !known {
				t.Errorf("%s: offload %q", name, o)
			}
		}
	}
}
