package facts

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// net returns the files of a device in sysfs.
func netFiles(name string, more map[string]string) map[string]string {
	files := map[string]string{"ifindex": "2", "iflink": "2", "type": "1", "mtu": "1500", "address": "de:ad:be:ef:00:01"}
	maps.Copy(files, more)
	out := map[string]string{}
	for file, v := range files {
		out["sys/class/net/"+name+"/"+file] = v
	}
	return out
}

func machineOf(devices ...map[string]string) map[string]string {
	all := map[string]string{"sys/class/net/bonding_masters": "bond0"}
	for _, d := range devices {
		maps.Copy(all, d)
	}
	return all
}

var (
	mlx = map[string]string{"device/uevent": "DRIVER=mlx5_core\nPCI_ID=15B3:1017", "speed": "25000", "mtu": "9000",
		"queues/rx-0/rps_cpus": "0", "queues/rx-1/rps_cpus": "0", "queues/tx-0/xps_cpus": "0"}
	veth = map[string]string{"iflink": "7", "speed": "10000"}
)

func TestDevices(t *testing.T) {
	nic := Device{Kind: Physical, Driver: "mlx5_core", Speed: 25e9, MTU: 9000, RxQueues: 2, TxQueues: 1}
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]Device
	}{
		"none": {nil, nil},
		"a node": {machineOf(netFiles("ens3", mlx), netFiles("lo", map[string]string{"type": "772"}),
			netFiles("flannel.1", map[string]string{"uevent": "DEVTYPE=vxlan\nINTERFACE=flannel.1", "mtu": "8950"}),
			netFiles("cni0", map[string]string{"uevent": "DEVTYPE=bridge"}), netFiles("veth1234", veth)),
			map[string]Device{"ens3": nic, "flannel.1": {Kind: "vxlan", MTU: 8950}, "cni0": {Kind: "bridge", MTU: 1500}}},
		"a pod":   {machineOf(netFiles("eth0", veth)), map[string]Device{"eth0": {Kind: "veth", Speed: 10e9, MTU: 1500}}},
		"a guest": {netFiles("eth0", map[string]string{"device/uevent": "DRIVER=virtio_net\nMODALIAS=x", "speed": "-1"}), map[string]Device{"eth0": {Kind: Physical, Driver: "virtio_net", MTU: 1500}}},
		"wireless": {netFiles("wlan0", map[string]string{"uevent": "DEVTYPE=wlan", "device/uevent": "DRIVER=iwlwifi"}),
			map[string]Device{"wlan0": {Kind: Physical, Driver: "iwlwifi", MTU: 1500}}},
		"others": {machineOf(netFiles("wg0", map[string]string{"uevent": "DEVTYPE=wireguard", "type": "65534"}), netFiles("tun0", map[string]string{"type": "65534", "tun_flags": "0x1001"}),
			netFiles("tap0", map[string]string{"tun_flags": "0x1002"}), netFiles("mv0", map[string]string{"iflink": "9", "lower_ens3/mtu": "1"}), netFiles("dummy0", nil)),
			map[string]Device{"wg0": {Kind: "wireguard", MTU: 1500}, "tun0": {Kind: "tun", MTU: 1500}, "tap0": {Kind: "tap", MTU: 1500},
				"mv0": {Kind: "macvlan or ipvlan", MTU: 1500}, "dummy0": {Kind: "virtual", MTU: 1500}}},
		"junk": {netFiles("x", map[string]string{"mtu": "-1", "speed": "fast", "device/uevent": "="}), map[string]Device{"x": {Kind: Physical}}},
	} {
		if got := Devices(mapFS(c.files)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// A node with hundreds of devices keeps its hardware, and nothing tells addresses.
func TestDevicesAreBounded(t *testing.T) {
	files := machineOf(netFiles("zzz", mlx))
	for n := range 200 {
		maps.Copy(files, netFiles(fmt.Sprint("br", n), nil))
	}
	got := Devices(mapFS(files))
	b, err := json.Marshal(got)
	if err != nil || len(got) != maxDevices || got["zzz"].Driver != "mlx5_core" || strings.Contains(string(b), "de:ad") {
		t.Errorf("%d devices: %v, %v", len(got), slices.Sorted(maps.Keys(got)), err)
	}
}

func TestCPULimit(t *testing.T) {
	for name, c := range map[string]struct {
		files     map[string]string
		cores     float64
		throttled uint64
	}{
		"none":             {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.stat": "usage_usec 1"}, 0, 0},
		"a pod, version 2": {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000", "sys/fs/cgroup/cpu.stat": "nr_periods 10\nnr_throttled 7\n"}, 1.5, 7},
		"a service below a limit": {map[string]string{"proc/self/cgroup": "0::/user.slice/session-1.scope",
			"sys/fs/cgroup/user.slice/session-1.scope/cpu.max": "max 100000", "sys/fs/cgroup/user.slice/cpu.max": "400000 100000",
			"sys/fs/cgroup/user.slice/session-1.scope/cpu.stat": "nr_throttled 0", "sys/fs/cgroup/user.slice/cpu.stat": "nr_throttled 3"}, 4, 3},
		"the smallest counts":    {map[string]string{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "400000 100000", "sys/fs/cgroup/cpu.max": "200000 100000"}, 2, 0},
		"above the root":         {map[string]string{"proc/self/cgroup": "0::/../../x", "sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5, 0},
		"a container, version 1": {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000", "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_throttled 2"}, 2.5, 2},
		"unlimited, version 1":   {map[string]string{"proc/self/cgroup": "5:cpu:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 0, 0},
		"junk":                   {map[string]string{"proc/self/cgroup": "0:\n::\n0::/..", "sys/fs/cgroup/cpu.max": "1 0 0"}, 0, 0},
	} {
		if cores, throttled := cpuLimit(mapFS(c.files)); cores != c.cores || throttled != c.throttled {
			t.Errorf("%s: %g cores, throttled %d, want %g and %d", name, cores, throttled, c.cores, c.throttled)
		}
	}
}

func TestSandbox(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"":       {"proc/version": "Linux version 4.4.0-210-generic (buildd@x) #242-Ubuntu SMP", "proc/self/mountinfo": "1 1 8:1 / / rw - ext4 /dev/sda1 rw"},
		"gvisor": {"proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"},
		"kata":   {"proc/self/mountinfo": "36 35 0:29 /rootfs / rw,nodev - virtiofs kataShared rw"},
	} {
		f := Collect(mapFS(files))
		if f.Sandbox != want {
			t.Errorf("%q, want %q", f.Sandbox, want)
		}
	}
	for _, c := range []struct {
		f    Facts
		node string
		want string
	}{
		{Facts{Kernel: "6.1.0"}, "6.1.0", ""}, {Facts{Kernel: "6.1.0"}, "", ""}, {Facts{Kernel: "6.12.1"}, "6.1.0", "sandboxed"},
		{Facts{Kernel: "4.4.0", Sandbox: "gvisor"}, "6.1.0", "gvisor"}, {Facts{Kernel: "6.1.0", Sandbox: "kata"}, "6.1.0", "kata"},
	} {
		if got := c.f.Other(c.node); got != c.want {
			t.Errorf("%+v on %q: %q, want %q", c.f, c.node, got, c.want)
		}
	}
}

// Runs of older versions, which recorded no devices, do not differ in them.
func TestDifferInDevices(t *testing.T) {
	host := func(s string) map[string][]byte { return map[string][]byte{"a": []byte(s)} }
	older, ens3, other := host(`{"cpus":2}`), host(`{"cpus":2,"devices":{"ens3":{"mtu":1500}},"throttled":7}`), host(`{"cpus":2,"devices":{"ens3":{"mtu":9000}}}`)
	if d := Differ([]map[string][]byte{older, ens3}); d != nil {
		t.Errorf("%v", d)
	}
	if d := Differ([]map[string][]byte{ens3, other}); len(d) != 1 || d[0].Key != "a.devices.ens3.mtu" {
		t.Errorf("%v", d)
	}
}
