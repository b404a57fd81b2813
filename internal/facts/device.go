package facts

import (
	"cmp"
	"maps"
	"slices"
)

// A Device is a network device that packets between machines can pass. It has no addresses. Fields that
// the kernel does not report are empty.
type Device struct {
	Kind     string  `json:"kind"`             // Physical, or rtnetlink's: veth, vxlan, wireguard, bridge, …
	Driver   string  `json:"driver,omitempty"` // which can be a hypervisor's: virtio_net, ena, mlx5_core
	Speed    float64 `json:"speed,omitempty"`  // of the link, bit/s
	MTU      int     `json:"mtu,omitempty"`    // bytes
	RxQueues int     `json:"rxQueues,omitempty"`
	TxQueues int     `json:"txQueues,omitempty"`
	// Offloads lists the active features of those that decide the cost of a packet, by their names in
	// ethtool(8), or "none"; nil if unknown.
	Offloads []string `json:"offloads,omitempty"`
}

// Physical is the Kind of a device with hardware, or what a hypervisor shows as such.
const Physical = "physical"

// maxDevices bounds the devices in facts: a Kubernetes node can have hundreds.
const maxDevices = 64

// SomeDevices returns the devices that facts keep, by name: the physical ones first, then tunnels,
// bridges and others. It leaves out the veths of a machine with hardware: they lead to its pods, which
// come and go.
func SomeDevices(all map[string]Device) map[string]Device {
	rank := func(name string) int { return map[string]int{Physical: -1, "veth": 1}[all[name].Kind] }
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	if len(names) > 0 && all[names[0]].Kind == Physical {
		names = slices.DeleteFunc(names, func(name string) bool { return all[name].Kind == "veth" })
	}
	some := map[string]Device{}
	for _, name := range names[:min(len(names), maxDevices)] {
		some[name] = all[name]
	}
	return some
}
