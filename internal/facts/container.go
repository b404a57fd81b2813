package facts

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// The container that this process runs in, as far as it can see: the limit of its CPU time, and a runtime
// that puts another kernel between it and the machine.

// cpuLimit returns the cores that the control groups of this process leave it, 0 without a limit, and
// how many of their periods were throttled so far. A container sees its own group as the root, or the
// whole path from the host's root (cgroups(7)): the path and all groups above it are tried.
func cpuLimit(root fs.FS) (cores float64, throttled uint64) {
	for line := range strings.Lines(contents(root, "proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		if len(f) < 3 {
			continue
		}
		var mounts []string
		switch {
		case f[1] == "":
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case strings.Contains(","+f[1]+",", ",cpu,"):
			mounts = []string{"sys/fs/cgroup/" + f[1], "sys/fs/cgroup/cpu"}
		default:
			continue
		}
		for _, mount := range mounts {
			for _, dir := range upwards(f[2]) {
				dir = path.Join(mount, dir)
				if c := quota(root, dir); c > 0 && (cores == 0 || c < cores) {
					cores = c
				}
				for key, v := range pairs(root, dir+"/cpu.stat", " ") {
					if n, err := strconv.ParseUint(v, 10, 64); err == nil && key == "nr_throttled" {
						throttled = max(throttled, n)
					}
				}
			}
		}
	}
	return cores, throttled
}

// upwards returns a path and those above it, up to "".
func upwards(p string) (all []string) {
	p = strings.Trim(path.Clean("/"+p), "/") // a path above the namespace's root begins with /..
	for p != "" && p != "." {
		all = append(all, p)
		p = path.Dir(p)
	}
	return append(all, "")
}

// quota reads a group's limit in cores; 0 without one.
func quota(root fs.FS, dir string) float64 {
	f := strings.Fields(text(root, dir+"/cpu.max")) // version 2: quota and period, µs
	if len(f) < 2 {
		f = []string{text(root, dir+"/cpu.cfs_quota_us"), text(root, dir+"/cpu.cfs_period_us")} // version 1
	}
	q, err := strconv.ParseFloat(f[0], 64) // "max" or -1 without a limit
	period, bad := strconv.ParseFloat(f[1], 64)
	if c := q / period; err == nil && bad == nil && c > 0 && c <= maxLoad {
		return c
	}
	return 0
}

// sandbox names a container runtime that runs programs on a kernel of its own, whose counters are not the
// machine's; "" if there is none, or it hides.
func sandbox(root fs.FS) string {
	version := text(root, "proc/version")
	switch {
	// gVisor shows every program this build, or its name (pkg/sentry/syscalls/linux).
	case strings.Contains(version, "gvisor"), strings.Contains(version, "#1 SMP Sun Jan 10 15:06:54 PST 2016"):
		return "gvisor"
	// Kata shares the container's files with its guest under this tag.
	case strings.Contains(contents(root, "proc/self/mountinfo"), " kataShared "):
		return "kata"
	}
	return ""
}

// contents returns a file as it is; "" if it cannot be read.
func contents(root fs.FS, name string) string {
	b, _ := fs.ReadFile(root, name)
	return string(b)
}
