package facts

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the golden files")

func mapFS(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data + "\n")}
	}
	return m
}

func TestGolden(t *testing.T) {
	root := os.DirFS("testdata/vm")
	got, err := json.MarshalIndent(map[string]any{"facts": Collect(root), "checks": Checks(root, Collect(root))}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/vm.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs; review the result of -update:\n%s", golden, got)
	}
}

func TestCollectOther(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  Facts
	}{
		"nothing": {nil, Facts{}},
		"arm64": {map[string]string{
			"proc/cpuinfo":                      "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU part\t: 0xd40",
			"usr/lib/os-release":                "ID=ubuntu\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"",
			"sys/devices/system/cpu/smt/active": "0",
		}, Facts{CPU: "implementer 0x41 part 0xd0c", CPUs: 2, Machine: "aarch64", Distribution: "Ubuntu 24.04.1 LTS"}},
		"bare metal": {map[string]string{
			"proc/cpuinfo": "processor : 0\nmodel name : Intel(R)  Xeon(R)\nflags : fpu lm\n",
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  "performance",
			"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":  "powersave",
			"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "powersave",
			"sys/class/dmi/id/sys_vendor":                           "Dell Inc.",
			"sys/class/dmi/id/product_name":                         "PowerEdge R650",
			"proc/sys/net/ipv4/tcp_rmem":                            "4096\t131072\t6291456",
			"proc/sys/net/core/rmem_max":                            "",
			"proc/cmdline":                                          "secret=1 root=/dev/sda1",
		}, Facts{CPU: "Intel(R) Xeon(R)", CPUs: 1, Machine: "x86_64", Product: "Dell Inc. PowerEdge R650",
			Governors: map[string]int{"performance": 1, "powersave": 2}, Sysctls: map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456"}}},
		"guest": {map[string]string{"proc/cmdline": "quiet weir.guest=qemu-tcg -- guest"}, Facts{Guest: "qemu-tcg"}},
		"junk": {map[string]string{
			"proc/cpuinfo": ":::\nprocessor", "proc/meminfo": "MemTotal: -1 kB\nMemTotal: 1 MB", "proc/loadavg": "NaN 0 0",
			"etc/os-release": "PRETTY_NAME", "proc/sys/kernel/osrelease": "a\xffb",
		}, Facts{Kernel: "a?b"}},
		"load of Inf":  {map[string]string{"proc/loadavg": "0.1 Inf 0"}, Facts{}},
		"load cut off": {map[string]string{"proc/loadavg": "0.1 0.2"}, Facts{}},
		"load":         {map[string]string{"proc/loadavg": "1.50 0.2 30 1/90 9768"}, Facts{Load: []float64{1.5, 0.2, 30}}},
	} {
		root := mapFS(tc.files)
		got := Collect(root)
		if tc.want.Settings == nil {
			tc.want.Settings = map[string]Setting{}
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, tc.want)
		}
	}
}

// TestNoSecrets: nothing that identifies a machine or its users is collected.
func TestNoSecrets(t *testing.T) {
	root := mapFS(map[string]string{
		"proc/cmdline": "password=hunter2", "proc/sys/kernel/hostname": "hunter2", "etc/machine-id": "hunter2",
		"sys/class/dmi/id/product_serial": "hunter2", "sys/class/dmi/id/product_uuid": "hunter2", "etc/hostname": "hunter2",
	})
	b, err := json.Marshal([]any{Collect(root), Checks(root, Collect(root))})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "hunter2") {
		t.Errorf("%s", b)
	}
}

func FuzzCollect(f *testing.F) {
	names := []string{"proc/cpuinfo", "proc/meminfo", "proc/loadavg", "etc/os-release", "proc/stat", "proc/self/status"}
	for _, name := range names[:5] {
		b, err := os.ReadFile("testdata/vm/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("CapEff:\t000001ffffffffff\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		root := fstest.MapFS{}
		for _, name := range append(names, "proc/sys/user/max_user_namespaces", "proc/sys/kernel/unprivileged_userns_clone") {
			root[name] = &fstest.MapFile{Data: b}
		}
		facts := Collect(root)
		if _, err := json.Marshal(facts); err != nil { // NaN and infinity cannot be marshalled
			t.Errorf("%+v: %v", facts, err)
		}
		for _, c := range Checks(root, facts) {
			if c.Name == "" || c.Detail == "" || c.OK != (c.Fix == "") {
				t.Errorf("incomplete: %+v", c)
			}
		}
	})
}
