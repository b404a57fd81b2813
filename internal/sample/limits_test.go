package sample

import (
	"maps"
	"testing"
	"testing/fstest"
)

// The control group that was stopped most is what a trial sees, in both versions and on all levels.
func TestLimits(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, c := range map[string]struct {
		root fstest.MapFS
		want Counters
	}{
		"none":      {fstest.MapFS{}, nil},
		"unlimited": {fstest.MapFS{"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/cpu.stat": file("usage_usec 5\nnr_periods 0\nnr_throttled 0\n")}, Counters{}},
		"version 2, above": {fstest.MapFS{"proc/self/cgroup": file("0::/pod/x\n"), "sys/fs/cgroup/pod/cpu.stat": file("nr_periods 350\nnr_throttled 345\nthrottled_usec 48\n"),
			"sys/fs/cgroup/pod/x/cpu.stat": file("nr_periods 350\nnr_throttled 3\n")}, Counters{"quota.periods": 350, "quota.throttled": 345}},
		"version 1": {fstest.MapFS{"proc/self/cgroup": file("2:cpuacct:/b\n1:cpu,cpuacct:/a\n"), "sys/fs/cgroup/cpu,cpuacct/a/cpu.stat": file("nr_periods 10\nnr_throttled 0\nthrottled_time 0\n")},
			Counters{"quota.periods": 10, "quota.throttled": 0}},
		"a container's own root": {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.stat": file("nr_periods 7\nnr_throttled 5\n")}, Counters{"quota.periods": 7, "quota.throttled": 5}},
	} {
		if got, err := limits(c.root); err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	if _, err := limits(fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.stat": file("nr_periods many\n")}); err == nil {
		t.Error("a number that is none is accepted")
	}
}
