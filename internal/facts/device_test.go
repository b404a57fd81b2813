package facts

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// A node with hundreds of pods keeps its hardware and its tunnels, and no veth. A pod has only a veth.
func TestSomeDevices(t *testing.T) {
	all := map[string]Device{"zzz": {Kind: Physical, Driver: "mlx5_core"}, "flannel.1": {Kind: "vxlan"}}
	for n := range 200 {
		all[fmt.Sprint("veth", n)] = Device{Kind: "veth"}
	}
	if got := slices.Sorted(maps.Keys(SomeDevices(all))); !slices.Equal(got, []string{"flannel.1", "zzz"}) {
		t.Errorf("%v", got)
	}
	delete(all, "zzz")
	if got := SomeDevices(all); len(got) != maxDevices || got["flannel.1"].Kind == "" {
		t.Errorf("%d devices: %v", len(got), slices.Sorted(maps.Keys(got)))
	}
	if got := SomeDevices(nil); len(got) != 0 {
		t.Errorf("%v", got)
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
