package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// limits reads how often the CPU limits of this process's control groups stopped it or its groups: quota.periods and
// quota.throttled of the group that was stopped most (cpu.stat; Documentation/scheduler/sched-bwc.rst). A container sees
// its own group as the root, or the whole path from the host's root (cgroups(7)): the path and all groups above it are
// tried. Without a limit, or control groups, there are no counters.
func limits(root fs.FS) (Counters, error) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	most := Counters{}
	for _, line := range lines(b) {
		f := strings.SplitN(line, ":", 3) // hierarchy, controllers, path
		if len(f) < 3 || f[1] != "" && !strings.Contains(","+f[1]+",", ",cpu,") {
			continue
		}
		for _, mount := range []string{"", "unified", f[1], "cpu"} {
			for dir := strings.Trim(path.Clean("/"+f[2]), "/"); ; dir = path.Dir(dir) {
				file := path.Join("sys/fs/cgroup", mount, dir, "cpu.stat")
				if b, err := fs.ReadFile(root, file); err == nil {
					c, err := parseLimit(b)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", file, err)
					}
					if c["quota.periods"] > 0 && (most["quota.periods"] == 0 || c["quota.throttled"] > most["quota.throttled"]) {
						most = c
					}
				}
				if dir == "" || dir == "." {
					break
				}
			}
		}
	}
	return most, nil
}

// parseLimit reads nr_periods and nr_throttled of a cpu.stat.
func parseLimit(b []byte) (Counters, error) {
	c := Counters{}
	for _, line := range lines(b) {
		key, v, _ := strings.Cut(line, " ")
		name := map[string]string{"nr_periods": "quota.periods", "nr_throttled": "quota.throttled"}[key]
		if name == "" {
			continue
		}
		n, err := counter(v)
		if err != nil {
			return nil, err
		}
		c[name] = n
	}
	return c, nil
}
