package facts

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		host, node map[string]string
		memory     uint64 // kB
		want       map[string]Setting
	}{
		"nothing known": {},
		"defaults": {host: map[string]string{
			"proc/sys/kernel/osrelease": "6.1.0-18-amd64", "proc/sys/net/core/rmem_max": "212992", "proc/sys/net/core/netdev_budget_usecs": "8000",
			"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never", "sys/devices/system/cpu/isolated": ""},
			node: map[string]string{"proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456"}},
		"an old default in a new kernel": {host: map[string]string{"proc/sys/kernel/osrelease": "6.18.1", "proc/sys/net/core/rmem_max": "212992"},
			want: map[string]Setting{"net.core.rmem_max": {"212992", "4194304"}}},
		"a new default in an old kernel": {host: map[string]string{"proc/sys/kernel/osrelease": "5.15.0", "proc/sys/net/core/rmem_max": "4194304"},
			want: map[string]Setting{"net.core.rmem_max": {"4194304", "212992"}}},
		"global, in the host only": {host: map[string]string{"proc/sys/net/core/busy_poll": "50"}, node: map[string]string{"proc/sys/net/core/busy_poll": "0"},
			want: map[string]Setting{"net.core.busy_poll": {"50", "0"}}},
		"per namespace, in the host only": {host: map[string]string{"proc/sys/net/ipv4/tcp_sack": "0"}, node: map[string]string{"proc/sys/net/ipv4/tcp_sack": "1"}},
		"per namespace": {host: map[string]string{"proc/sys/net/ipv4/conf/all/rp_filter": "0"}, node: map[string]string{"proc/sys/net/ipv4/conf/all/rp_filter": "2"},
			want: map[string]Setting{"net.ipv4.conf.all.rp_filter": {"2", "0"}}},
		"alternatives": {host: map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never", "sys/devices/system/cpu/cpuidle/current_governor": "ladder"},
			want: map[string]Setting{"transparent_hugepage": {"madvise", "always"}, "cpuidle.governor": {"ladder", "menu or haltpoll"}}},
		"clocksource": {host: map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
			"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm"},
			want: map[string]Setting{"clocksource": {"hpet", "tsc"}}},
		"little memory": {host: map[string]string{"proc/meminfo": "MemTotal: 262144 kB"}, node: map[string]string{"proc/sys/net/ipv4/tcp_wmem": "4096 16384 1900000"}},
		"TCP's buffer, low": {host: map[string]string{"proc/meminfo": "MemTotal: 8000000 kB"}, node: map[string]string{"proc/sys/net/ipv4/tcp_wmem": "4096 16384 1900000"},
			want: map[string]Setting{"net.ipv4.tcp_wmem": {"4096 16384 1900000", "4096 16384 4194304"}}},
	} {
		if tc.want == nil {
			tc.want = map[string]Setting{}
		}
		if got := CollectWith(mapFS(tc.host), mapFS(tc.node)).Settings; !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// NetSysctls keeps what Collect reads below /proc/sys/net, and nothing else.
func TestNetSysctls(t *testing.T) {
	files := map[string]string{"proc/sys/net/core/busy_poll": "50", "proc/sys/net/ipv4/tcp_rmem": "1\t2\t3", "proc/sys/net/core/other": "1", "proc/sys/vm/percpu_pagelist_high_fraction": "8"}
	want := map[string]string{"proc/sys/net/core/busy_poll": "50", "proc/sys/net/ipv4/tcp_rmem": "1 2 3"}
	if got := NetSysctls(mapFS(files)); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Whatever a setting's file holds, it is one line of valid text, and every setting that is listed
// differs from its default.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{"1", "4096\t131072\t6291456", "always [madvise] never", "[", "]x[", "\xff", "", "(null)", "6.18.44-fc"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		root := fstest.MapFS{"proc/sys/kernel/osrelease": {Data: b}, "proc/meminfo": {Data: b}}
		for _, k := range settings {
			root[k.path()] = &fstest.MapFile{Data: b}
		}
		got := Collect(root)
		for name, s := range got.Settings {
			if s.Value == s.Default || strings.ToValidUTF8(s.Value, "") != s.Value || strings.ContainsAny(s.Value, "\n\t") {
				t.Errorf("%s: %+v", name, s)
			}
		}
	})
}
