package facts

import (
	"maps"
	"strings"
	"testing"
)

var good = map[string]string{
	"proc/sys/net/bridge/bridge-nf-call-iptables": "0",
	"proc/sys/user/max_user_namespaces":           "10000",
	"proc/cpuinfo":                                "processor : 0\nprocessor : 1",
	"proc/loadavg":                                "0.50 0.9 0.9 1/90 9",
	"proc/stat":                                   "cpu 900 0 0 90 0 0 0 10 0 0",
}

func zone(low, high string) string {
	return "Node 0, zone   Normal\n  pagesets\n    cpu: 0\n              count:    1\n              high:     2029\n" +
		"              batch:    63\n              high_min: " + low + "\n              high_max: " + high + "\n"
}

func TestChecks(t *testing.T) {
	const (
		clone    = "proc/sys/kernel/unprivileged_userns_clone"
		armor    = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
		governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
	)
	for name, tc := range map[string]struct {
		change map[string]string
		fails  string // name of the only check that fails; empty: none
		fix    string // in its fix
	}{
		"good":                      {},
		"switches that are open":    {map[string]string{clone: "1", armor: "0"}, "", ""},
		"no user namespaces":        {map[string]string{"proc/sys/user/max_user_namespaces": "0"}, "user namespaces", "sysctl -w user.max_user_namespaces=10000"},
		"kernel without them":       {map[string]string{"proc/sys/user/max_user_namespaces": ""}, "user namespaces", "CONFIG_USER_NS"},
		"no user namespaces, root":  {map[string]string{"proc/sys/user/max_user_namespaces": "0", "proc/self/status": "CapEff:\t000001ffffffffff"}, "", ""},
		"junk":                      {map[string]string{"proc/sys/user/max_user_namespaces": "x"}, "user namespaces", "sysctl"},
		"Debian 10":                 {map[string]string{clone: "0"}, "user namespaces without root", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		"Ubuntu 24.04":              {map[string]string{armor: "1"}, "user namespaces under AppArmor", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
		"Ubuntu 24.04, a user":      {map[string]string{armor: "1", "proc/self/status": "CapEff:\t0000000000000000"}, "user namespaces under AppArmor", "or run as root"},
		"Ubuntu 24.04, root":        {map[string]string{armor: "1", "proc/self/status": "CapEff:\t000001ffffffffff"}, "", ""},
		"one CPU":                   {map[string]string{"proc/cpuinfo": "processor : 0", "proc/loadavg": "0 0 0"}, "CPUs", "2 CPUs"},
		"busy":                      {map[string]string{"proc/loadavg": "0.51 0 0"}, "idle", "at most 0.50"},
		"load not known":            {map[string]string{"proc/loadavg": ""}, "idle", "/proc"},
		"a CPU limit":               {map[string]string{"proc/self/cgroup": "0::/pod\n", "sys/fs/cgroup/pod/cpu.max": "20000 100000", "sys/fs/cgroup/pod/cpu.stat": "nr_throttled 7\n"}, "CPU limit", "LimitRange"},
		"powersave":                 {map[string]string{governor: "powersave"}, "frequency governor", "cpupower frequency-set -g performance"},
		"performance":               {map[string]string{governor: "performance"}, "", ""},
		"steal":                     {map[string]string{"proc/stat": "cpu 900 0 0 89 0 0 0 11 0 0"}, "steal", "other guests"},
		"steal of a fresh machine":  {map[string]string{"proc/stat": "cpu 0 0 0 0 0 0 0 0 0 0"}, "", ""},
		"page lists that grow":      {map[string]string{"proc/zoneinfo": zone("2029", "48307")}, "page lists", "sysctl -w vm.percpu_pagelist_high_fraction=100"},
		"page lists that do not":    {map[string]string{"proc/zoneinfo": zone("2029", "2029")}, "", ""},
		"no br_netfilter":           {map[string]string{"proc/sys/net/bridge/bridge-nf-call-iptables": ""}, "br_netfilter", "modprobe br_netfilter"},
		"CPU time that is not read": {map[string]string{"proc/stat": "cpu 1 2"}, "steal", "/proc"},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(good)
			maps.Copy(files, tc.change)
			var failed []string
			for _, c := range Checks(mapFS(files), Collect(mapFS(files))) {
				if c.OK != (c.Fix == "") || c.Detail == "" {
					t.Errorf("%+v: a check has a detail, and a fix when it is not OK", c)
				}
				if c.OK {
					continue
				}
				failed = append(failed, c.Name)
				if !strings.Contains(c.Fix, tc.fix) {
					t.Errorf("%s: fix %q, want one with %q", c.Name, c.Fix, tc.fix)
				}
			}
			if got := strings.Join(failed, ", "); got != tc.fails {
				t.Errorf("failed: %q, want %q", got, tc.fails)
			}
		})
	}
}
