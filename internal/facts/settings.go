package facts

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Setting is a kernel setting that differs from the kernel's default.
type Setting struct {
	Value   string `json:"value"`
	Default string `json:"default"` // several, with "or", if it depends on the build
}

// A known setting moves results when it changes, and has a default that does not depend on the
// machine. The list is short on purpose: readers have to think about everything on it.
type known struct {
	name string
	file string // if name is not a sysctl
	// node: each network namespace has its own. A new one gets the kernel's default, except for
	// tcp_rmem, tcp_wmem, tcp_congestion_control and IPv4's conf, which it inherits from the first
	// one (net/ipv4/tcp_ipv4.c, tcp_sk_init; net/ipv4/devinet.c, devinet_init_net).
	node     bool
	defaults []string
	later    []string // defaults from the release since, if they changed
	since    string
}

// settings lists the known settings with the defaults of Linux 5.4 to 6.18
// (Documentation/admin-guide/sysctl/net.rst, Documentation/networking/ip-sysctl.rst, and the files
// named here).
var settings = []known{
	// Queues and batches of every device: net/core/dev.c, net/core/hotdata.c.
	{name: "net.core.default_qdisc", defaults: []string{"pfifo_fast"}}, // systemd sets fq_codel
	{name: "net.core.dev_weight", defaults: []string{"64"}},
	{name: "net.core.dev_weight_rx_bias", defaults: []string{"1"}},
	{name: "net.core.dev_weight_tx_bias", defaults: []string{"1"}},
	{name: "net.core.gro_normal_batch", defaults: []string{"8"}},
	{name: "net.core.netdev_budget", defaults: []string{"300"}},
	{name: "net.core.netdev_budget_usecs", defaults: []string{"2000", "8000", "6666", "20000"}}, // two ticks of 1000, 250, 300 or 100 Hz
	{name: "net.core.netdev_max_backlog", defaults: []string{"1000"}},
	{name: "net.core.netdev_tstamp_prequeue", defaults: []string{"1"}},
	{name: "net.core.rps_default_mask", node: true, defaults: []string{"0"}}, // new devices get it
	{name: "net.core.rps_sock_flow_entries", defaults: []string{"0"}},
	{name: "net.core.skb_defer_max", defaults: []string{"64"}, later: []string{"128"}, since: "6.19"},
	{name: "net.core.busy_poll", defaults: []string{"0"}},
	{name: "net.core.busy_read", defaults: []string{"0"}},
	{name: "net.core.bpf_jit_enable", defaults: []string{"1"}},
	{name: "net.core.bpf_jit_harden", defaults: []string{"0"}},
	// Socket buffers: net/core/sock.c.
	{name: "net.core.high_order_alloc_disable", defaults: []string{"0"}},
	{name: "net.core.rmem_default", defaults: []string{"212992"}},
	{name: "net.core.rmem_max", defaults: []string{"212992"}, later: []string{"4194304"}, since: "6.17"},
	{name: "net.core.wmem_default", defaults: []string{"212992"}},
	{name: "net.core.wmem_max", defaults: []string{"212992"}, later: []string{"4194304"}, since: "6.17"},
	{name: "net.ipv4.udp_rmem_min", node: true, defaults: []string{"4096"}},
	{name: "net.ipv4.udp_wmem_min", node: true, defaults: []string{"4096"}},
	// TCP: net/ipv4/tcp_ipv4.c, tcp_sk_init; net/ipv4/tcp.c, tcp_init.
	{name: "net.ipv4.tcp_autocorking", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_congestion_control", node: true, defaults: []string{"cubic"}},
	{name: "net.ipv4.tcp_ecn", node: true, defaults: []string{"2"}},
	{name: "net.ipv4.tcp_limit_output_bytes", node: true, defaults: []string{"1048576"}, later: []string{"4194304"}, since: "6.16"},
	{name: "net.ipv4.tcp_min_tso_segs", node: true, defaults: []string{"2"}},
	{name: "net.ipv4.tcp_moderate_rcvbuf", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_mtu_probing", node: true, defaults: []string{"0"}},
	{name: "net.ipv4.tcp_no_metrics_save", node: true, defaults: []string{"0"}},
	{name: "net.ipv4.tcp_notsent_lowat", node: true, defaults: []string{"4294967295"}},
	{name: "net.ipv4.tcp_rmem", node: true, defaults: []string{"4096 131072 6291456"}, later: []string{"4096 131072 33554432"}, since: "6.16"},
	{name: "net.ipv4.tcp_sack", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_slow_start_after_idle", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_timestamps", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_tso_win_divisor", node: true, defaults: []string{"3"}},
	{name: "net.ipv4.tcp_window_scaling", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_wmem", node: true, defaults: []string{"4096 16384 4194304"}},
	// The path of a packet through IP: net/ipv4/fib_frontend.c, ip_input.c.
	{name: "net.ipv4.conf.all.rp_filter", node: true, defaults: []string{"0"}}, // systemd sets 2
	{name: "net.ipv4.conf.default.rp_filter", node: true, defaults: []string{"0"}},
	{name: "net.ipv4.ip_early_demux", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.tcp_early_demux", node: true, defaults: []string{"1"}},
	{name: "net.ipv4.udp_early_demux", node: true, defaults: []string{"1"}},
	// Memory and scheduling. For page lists see pageLists.
	{name: "kernel.numa_balancing", defaults: []string{"0", "1"}}, // 1 with more than one node
	{name: "kernel.sched_autogroup_enabled", defaults: []string{"1"}},
	{name: "kernel.timer_migration", defaults: []string{"1"}},
	{name: "vm.percpu_pagelist_high_fraction", defaults: []string{"0"}},
	{name: "transparent_hugepage", file: "sys/kernel/mm/transparent_hugepage/enabled", defaults: []string{"always"}}, // mm/Kconfig
	// CPUs: idle states (drivers/cpuidle), turbo frequencies, and CPUs that the scheduler leaves alone.
	{name: "cpuidle.governor", file: "sys/devices/system/cpu/cpuidle/current_governor", defaults: []string{"menu", "haltpoll"}}, // the second in guests of KVM
	{name: "cpufreq.boost", file: "sys/devices/system/cpu/cpufreq/boost", defaults: []string{"1"}},
	{name: "intel_pstate.no_turbo", file: "sys/devices/system/cpu/intel_pstate/no_turbo", defaults: []string{"0"}},
	{name: "cpu.isolated", file: "sys/devices/system/cpu/isolated", defaults: nil},
	{name: "cpu.nohz_full", file: "sys/devices/system/cpu/nohz_full", defaults: []string{"(null)"}},
}

const clocksource = "clocksource"

// SettingFile returns the file of a setting that is not a sysctl, relative to the root; "" for all others.
func SettingFile(name string) string {
	for _, k := range settings {
		if k.name == name && k.file != "" {
			return k.file
		}
	}
	if name == clocksource {
		return "sys/devices/system/clocksource/clocksource0/current_clocksource"
	}
	return ""
}

func (k known) path() string { return cmp.Or(k.file, sysctlPath(k.name)) }

// in returns the defaults in a kernel release such as 6.1.0-18-amd64; all of them if it does not
// begin with two numbers.
func (k known) in(release string) []string {
	var major, minor, sinceMajor, sinceMinor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor)
	_, _ = fmt.Sscanf(k.since, "%d.%d", &sinceMajor, &sinceMinor) // a constant, or ""
	switch {
	case k.since == "":
		return k.defaults
	case n < 2:
		return slices.Concat(k.defaults, k.later)
	case cmp.Or(cmp.Compare(major, sinceMajor), cmp.Compare(minor, sinceMinor)) < 0:
		return k.defaults
	}
	return k.later
}

func sysctlPath(key string) string { return "proc/sys/" + strings.ReplaceAll(key, ".", "/") }

// differing returns the known settings that differ from the kernel's defaults: on the host, and in
// the network namespace of node.
func (f *Facts) differing(host, node fs.FS) map[string]Setting {
	m := map[string]Setting{}
	for _, k := range settings {
		from, defaults := host, k.in(f.Kernel)
		if k.node {
			from = node
		}
		b, err := fs.ReadFile(from, k.path())
		v := chosen(clean(b))
		if err != nil || v == "" { // this kernel does not have it, or has nothing in it
			continue
		}
		if !slices.Contains(defaults, v) && !f.smallMemory(k.name, v, defaults) {
			m[k.name] = Setting{v, cmp.Or(strings.Join(defaults, " or "), "none")}
		}
	}
	if v, first := f.clocksource(host); v != first {
		m[clocksource] = Setting{v, first}
	}
	return m
}

// clocksource returns the current clock source and the best one, which the kernel uses unless someone
// chose another or the kernel found it unstable.
func (f *Facts) clocksource(host fs.FS) (current, best string) {
	best, _, _ = strings.Cut(text(host, "sys/devices/system/clocksource/clocksource0/available_clocksource"), " ")
	return f.Clocksource, cmp.Or(best, f.Clocksource)
}

// smallMemory reports whether v is TCP's default on a machine with little memory: its largest
// buffer is at most 1/128 of the memory (net/ipv4/tcp.c, tcp_init).
func (f *Facts) smallMemory(name, v string, defaults []string) bool {
	if name != "net.ipv4.tcp_rmem" && name != "net.ipv4.tcp_wmem" {
		return false
	}
	is, want := strings.Fields(v), strings.Fields(defaults[len(defaults)-1])
	if len(is) != 3 || is[0] != want[0] || is[1] != want[1] {
		return false
	}
	largest, err := strconv.ParseUint(is[2], 10, 64)
	most, _ := strconv.ParseUint(want[2], 10, 64) // a constant
	return err == nil && largest < most && largest > f.Memory>>8 && largest <= f.Memory>>7
}

// chosen returns the alternative in brackets, as in "always [madvise] never", or all of v.
func chosen(v string) string {
	if _, rest, ok := strings.Cut(v, "["); ok {
		if word, _, ok := strings.Cut(rest, "]"); ok {
			return word
		}
	}
	return v
}

// NetSysctls returns by path the contents of the network settings that Collect reads, as this network
// namespace shows them. Most exist only in the machine's first network namespace, or differ there.
func NetSysctls(root fs.FS) map[string]string {
	m := map[string]string{}
	add := func(name string) {
		if b, err := fs.ReadFile(root, name); err == nil && strings.HasPrefix(name, "proc/sys/net/") {
			m[name] = clean(b)
		}
	}
	for _, k := range settings {
		add(k.path())
	}
	for _, key := range sysctls {
		add(sysctlPath(key))
	}
	return m
}
