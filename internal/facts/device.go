package facts

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Device is a network device that packets between machines can pass. It has no addresses. Fields that
// the kernel does not report are empty.
type Device struct {
	Kind     string  `json:"kind"`             // physical, or the type of a virtual one: veth, vxlan, wireguard, bridge, …
	Driver   string  `json:"driver,omitempty"` // of the hardware, which can be a hypervisor's: virtio_net, mlx5_core
	Speed    float64 `json:"speed,omitempty"`  // of the link, bit/s
	MTU      int     `json:"mtu,omitempty"`    // bytes
	RxQueues int     `json:"rxQueues,omitempty"`
	TxQueues int     `json:"txQueues,omitempty"`
	// Offloads lists the active features of those that decide the cost of a packet, by their names in
	// ethtool(8); nil if unknown. Package local reads them.
	Offloads []string `json:"offloads,omitempty"`
}

// Physical is the Kind of a device with hardware, or what a hypervisor shows as such.
const Physical = "physical"

// maxDevices bounds the devices of a machine: a Kubernetes node can have hundreds.
const maxDevices = 64

const netDir = "sys/class/net"

// Devices describes by name the physical devices and the tunnels, bridges and other virtual devices of
// the network namespace that mounted root's /sys. It leaves out loopback devices and, on a machine with
// hardware, veths: they lead to its pods, which come and go.
func Devices(root fs.FS) map[string]Device {
	entries, _ := fs.ReadDir(root, netDir)
	all := map[string]Device{}
	for _, e := range entries {
		if d := device(root, e.Name()); d.Kind != "" && d.Kind != "loopback" {
			all[e.Name()] = d
		}
	}
	rank := func(name string) int { // the physical ones first, veths last
		return map[string]int{Physical: -1, "veth": 1}[all[name].Kind]
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	hardware := len(names) > 0 && all[names[0]].Kind == Physical
	for i, name := range names {
		if i >= maxDevices || hardware && all[name].Kind == "veth" {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// device reads one device (Documentation/ABI/testing/sysfs-class-net).
func device(root fs.FS, name string) (d Device) {
	dir := path.Join(netDir, name)
	read := func(file string) string { return text(root, path.Join(dir, file)) }
	number := func(file string) int {
		n, err := strconv.Atoi(read(file))
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	if read("ifindex") == "" {
		return d // not a device, such as bonding_masters
	}
	d.MTU = number("mtu")
	d.Speed = float64(number("speed")) * 1e6 // in Mbit/s; -1 or an error if unknown
	for key, v := range pairs(root, path.Join(dir, "device/uevent"), "=") {
		if key == "DRIVER" {
			d.Driver = v
		}
	}
	queues, _ := fs.ReadDir(root, path.Join(dir, "queues"))
	for _, q := range queues {
		switch {
		case strings.HasPrefix(q.Name(), "rx-"):
			d.RxQueues++
		case strings.HasPrefix(q.Name(), "tx-"):
			d.TxQueues++
		}
	}
	d.Kind = kind(root, dir, read)
	return d
}

// Types of devices (include/uapi/linux/if_arp.h) that sysfs does not name otherwise.
var types = map[string]string{"768": "ipip", "769": "ip6tnl", "772": "loopback", "776": "sit", "778": "gre", "823": "ip6gre", "65534": "tun"}

func kind(root fs.FS, dir string, read func(string) string) string {
	has := func(file string) bool { _, err := fs.Stat(root, path.Join(dir, file)); return err == nil }
	for key, v := range pairs(root, path.Join(dir, "uevent"), "=") {
		if key == "DEVTYPE" && v != "wlan" { // vxlan, geneve, bridge, bond, vlan, wireguard, …
			return v
		}
	}
	switch name := types[read("type")]; {
	case name != "":
		return name
	case has("device"):
		return Physical
	case has("tun_flags"):
		return "tap"
	case read("iflink") != read("ifindex"): // it has a peer, or a device below it
		entries, _ := fs.ReadDir(root, dir)
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "lower_") }) {
			return "macvlan or ipvlan"
		}
		return "veth"
	}
	return "virtual"
}
