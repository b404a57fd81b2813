package sample

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the golden files")

var all = []string{OfStat, OfSoftirqs, OfNetDev, OfSNMP, OfNetstat, OfReassembly, OfSoftnet, OfProcesses}

func TestGolden(t *testing.T) {
	c, errs := Named(os.DirFS("testdata/linux-6.18"), all...)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name := range snmpSettings {
		if v, ok := c[name]; ok {
			t.Errorf("%s = %v was kept: it is not a counter", name, v)
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%s %s\n", name, strconv.FormatFloat(c[name], 'f', -1, 64))
	}
	const golden = "testdata/linux-6.18.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; review the result of -update:\n%s", golden, &b)
	}
}

func TestThisMachine(t *testing.T) {
	c, errs := Named(os.DirFS("/"), all...)
	for _, err := range errs {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // a container may hide files
			t.Error(err)
		}
	}
	if len(errs) == 0 && c["cpu.idle"]+c["cpu.user"]+c["cpu.system"] <= 0 {
		t.Errorf("no CPU time: %v", c)
	}
}

func TestReadKeepsWhatWorks(t *testing.T) {
	root := fstest.MapFS{"proc/net/softnet_stat": {Data: []byte("1 2 3 0 0 0 0 0 0\n")}}
	c, errs := Named(root, all...) // a /proc without processes is no error
	if want := len(all) - 2; len(errs) != want {
		t.Errorf("%d errors, want %d: %v", len(errs), want, errs)
	}
	for _, err := range errs {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v is not fs.ErrNotExist", err)
		}
	}
	if c["softnet.squeezed"] != 3 {
		t.Errorf("softnet.squeezed = %v, want 3", c["softnet.squeezed"])
	}
}

func TestSub(t *testing.T) {
	got := Counters{"a": 5, "new": 2, "back": 1}.Sub(Counters{"a": 3, "back": 2, "gone": 9})
	if want := (Counters{"a": 2, "new": 2, "back": -1}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

const (
	stat = "cpu  %s\ncpu0 110 20 30 40 50 60 70 80 10 5\nctxt 7\nprocesses 8\n"
	good = "110 20 30 40 50 60 70 80 10 5"
	head = "Inter-| Receive | Transmit\n face |bytes\n"
)

func TestValues(t *testing.T) {
	for name, tc := range map[string]struct {
		s    string
		file string
		data string
		want Counters
	}{
		// Guest time is inside user and nice, so it moves out of both.
		"stat": {OfStat, "proc/stat", fmt.Sprintf(stat, good), Counters{
			"cpu.user": 1, "cpu.nice": 0.15, "cpu.guest": 0.15, "cpu.steal": 0.8, "cpu0.softirq": 0.7, "ctxt": 7, "processes": 8,
		}},
		"stat, a column of the future": {OfStat, "proc/stat", fmt.Sprintf(stat, good+" 99"), Counters{"cpu.user": 1}},
		"softirqs": {OfSoftirqs, "proc/softirqs", "  CPU0 CPU2\nNET_TX: 1 2\nNET_RX: 3 4\n", Counters{
			"softirq.net_tx": 3, "softirq.net_rx": 7, "softirq.cpu0.net_rx": 3, "softirq.cpu2.net_tx": 2,
		}},
		"dev without a space": {OfNetDev, "proc/net/dev", head + "eth0.7:1 2 3 4 9 0 0 0 5 6 7 8 10 0 0 0\n", Counters{
			"dev.eth0.7.rx_bytes": 1, "dev.eth0.7.rx_packets": 2, "dev.eth0.7.rx_errors": 3, "dev.eth0.7.rx_dropped": 4, "dev.eth0.7.rx_fifo": 9,
			"dev.eth0.7.tx_bytes": 5, "dev.eth0.7.tx_packets": 6, "dev.eth0.7.tx_errors": 7, "dev.eth0.7.tx_dropped": 8, "dev.eth0.7.tx_fifo": 10,
		}},
		"snmp without snmp6":         {OfSNMP, "proc/net/snmp", "Tcp: MaxConn RetransSegs\nTcp: -1 4\n", Counters{"tcp.RetransSegs": 4}},
		"netstat":                    {OfNetstat, "proc/net/netstat", "TcpExt: RcvPruned TCPTimeouts\nTcpExt: 1 2\nMPTcpExt: RcvPruned\nMPTcpExt: 9\nIpExt: InNoRoutes\nIpExt: 3\n", Counters{"netstat.RcvPruned": 1, "netstat.TCPTimeouts": 2, "netstat.InNoRoutes": 3}},
		"sockstat without sockstat6": {OfReassembly, "proc/net/sockstat", "sockets: used 9\nUDP: inuse 1 mem 72\nFRAG: inuse 2 memory 4096\n", Counters{"frag.inuse": 2, "frag.memory": 4096}},
		"softnet, 2 CPUs":            {OfSoftnet, "proc/net/softnet_stat", "a 1 2 0 0 0 0 0 0 0 0\nffffffff 0 1 0 0 0 0 0 0 0 0\n", Counters{"softnet.processed": 0xa + 0xffffffff, "softnet.dropped": 1, "softnet.squeezed": 3}},
		"softnet, 13 columns":        {OfSoftnet, "proc/net/softnet_stat", strings.Repeat("1 ", 13), Counters{"softnet.processed": 1}},
		"softnet, CPU 0 and 5": {OfSoftnet, "proc/net/softnet_stat", "3 0 0 0 0 0 0 0 0 2 0 0 0 0 0\n10 7 8 0 0 0 0 0 0 4 0 0 5 0 0\n",
			Counters{"softnet.processed": 0x13, "softnet.rps": 6, "softnet.cpu0.processed": 3, "softnet.cpu0.dropped": 0,
				"softnet.cpu5.processed": 0x10, "softnet.cpu5.dropped": 7, "softnet.cpu5.squeezed": 8, "softnet.cpu5.rps": 4}},
		"softnet, Linux 2.6.39":   {OfSoftnet, "proc/net/softnet_stat", strings.Repeat("1 ", 10), Counters{"softnet.dropped": 1}},
		"no device but a header":  {OfNetDev, "proc/net/dev", head, Counters{}},
		"a device named Receive:": {OfNetDev, "proc/net/dev", head + "Receive: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n", Counters{"dev.Receive.rx_bytes": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := sources[tc.s](fstest.MapFS{tc.file: {Data: []byte(tc.data)}})
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tc.want {
				if got, ok := c[k]; !ok || got != v {
					t.Errorf("%s = %v (present: %t), want %v", k, got, ok, v)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		s    string
		file string
		data string
		want string // in the error
	}{
		"stat, empty":              {OfStat, "proc/stat", "", `no line "cpu"`},
		"stat, short line":         {OfStat, "proc/stat", "cpu 1 2 3 4\n", "cpu has 4 columns: want at least 10"},
		"stat, junk":               {OfStat, "proc/stat", fmt.Sprintf(stat, strings.Replace(good, "30", "x", 1)), `line 1: cpu: system: invalid counter "x"`},
		"stat, negative":           {OfStat, "proc/stat", fmt.Sprintf(stat, strings.Replace(good, "30", "-1", 1)), "invalid counter"},
		"stat, NaN":                {OfStat, "proc/stat", fmt.Sprintf(stat, strings.Replace(good, "30", "NaN", 1)), "invalid counter"},
		"stat, ctxt alone":         {OfStat, "proc/stat", "cpu " + good + "\nctxt\n", "ctxt has 0 numbers"},
		"softirqs, empty":          {OfSoftirqs, "proc/softirqs", "", "no CPU"},
		"softirqs, row cut":        {OfSoftirqs, "proc/softirqs", "CPU0 CPU1\nNET_RX: 1\n", "NET_RX: has 1 columns for 2 CPUs"},
		"softirqs, row gone":       {OfSoftirqs, "proc/softirqs", "CPU0\nNET_RX: 1\n", `no line "NET_TX:"`},
		"dev, empty":               {OfNetDev, "proc/net/dev", "", "no header"},
		"dev, short":               {OfNetDev, "proc/net/dev", head + "lo: 1 2\n", "line 3: lo has 2 columns: want 16"},
		"dev, no colon":            {OfNetDev, "proc/net/dev", head + "lo 1 2\n", "no device"},
		"snmp, names alone":        {OfSNMP, "proc/net/snmp", "Ip: A B\n", "Ip: has names but no numbers"},
		"snmp, other protocol":     {OfSNMP, "proc/net/snmp", "Ip: A\nTcp: 1\n", "line 2"},
		"snmp, empty":              {OfSNMP, "proc/net/snmp", "", "does not begin with a protocol"},
		"snmp, too few numbers":    {OfSNMP, "proc/net/snmp", "Ip: A B\nIp: 1\n", "does not match"},
		"netstat, cut":             {OfNetstat, "proc/net/netstat", "TcpExt: A B\nTcpExt: 1\n", "does not match"},
		"netstat, junk":            {OfNetstat, "proc/net/netstat", "IpExt: A\nIpExt: x\n", `line 2: netstat.A: invalid counter "x"`},
		"sockstat, empty":          {OfReassembly, "proc/net/sockstat", "", "no line \"FRAG:\""},
		"sockstat, cut":            {OfReassembly, "proc/net/sockstat", "FRAG: inuse 1\n", "is not FRAG: inuse N memory N"},
		"sockstat, negative":       {OfReassembly, "proc/net/sockstat", "TCP: inuse 1\nFRAG: inuse -1 memory 0\n", `line 2: invalid counter "-1"`},
		"sockstat, no memory":      {OfReassembly, "proc/net/sockstat", "FRAG: inuse 1 memory x\n", `line 1: invalid counter "x"`},
		"softnet, 8 columns":       {OfSoftnet, "proc/net/softnet_stat", strings.Repeat("1 ", 8), "8 columns: want one of [9 10 11 13 15]"},
		"softnet, a future layout": {OfSoftnet, "proc/net/softnet_stat", strings.Repeat("1 ", 17), "17 columns"},
		"softnet, 33 bits":         {OfSoftnet, "proc/net/softnet_stat", "100000000 1 1 0 0 0 0 0 0", "want 32 bits in hexadecimal"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := sources[tc.s](fstest.MapFS{tc.file: {Data: []byte(tc.data)}})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.file) {
				t.Errorf("error %v, want one with %q and %q", err, tc.file, tc.want)
			}
			if len(c) != 0 {
				t.Errorf("an error and counters: %v", c)
			}
		})
	}
}

func TestSNMP6(t *testing.T) {
	root := fstest.MapFS{"proc/net/snmp": {Data: []byte("Ip: A\nIp: 1\n")}, "proc/net/snmp6": {}}
	for data, want := range map[string]string{
		"Ip6InOctets 5\nIcmp6InType136 6\n": "",
		"Ip6InOctets\n":                     "1 words",
		"InOctets 5\n":                      "not an IPv6 counter",
		"Ip6InOctets x\n":                   "invalid counter",
	} {
		root["proc/net/snmp6"].Data = []byte(data)
		c, err := sources[OfSNMP](root)
		switch {
		case want == "" && (err != nil || c["ip6.InOctets"] != 5 || c["icmp6.InType136"] != 6):
			t.Errorf("%q: %v, %v", data, c, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || len(c) != 0):
			t.Errorf("%q: error %v and %v, want an error with %q", data, err, c, want)
		}
	}
}

// Thread names become words without numbers, whatever a program calls them.
func TestProcesses(t *testing.T) {
	stat := func(name string, user, system int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "7 (%s) S 1 7 7 0 -1 0 0 0 0 0 %d %d 0 0 20 0 1\n", name, user, system)}
	}
	root := fstest.MapFS{
		"proc/1/stat": stat("weir", 900, 0), "proc/1/task/1/stat": stat("weir", 900, 0), // holds the others
		"proc/7/stat": stat("qemu-system-x86", 300, 100), "proc/7/task/7/stat": stat("qemu-system-x86", 100, 50),
		"proc/7/task/8/stat": stat("CPU 0/KVM", 150, 0), "proc/7/task/9/stat": stat("vhost-7", 0, 50),
		"proc/12/stat": stat("a) (b", 1, 1), "proc/12/task/12/stat": stat("a) (b", 1, 1),
		"proc/13/stat": stat("relay12", 10, 0), "proc/13/task/13/stat": stat("relay12", 10, 0),
		"proc/14/stat": stat("relay3", 10, 0), "proc/14/task/14/stat": stat("relay3", 10, 0), "proc/14/task/15/stat": stat("42", 5, 0),
		"proc/99/task/99/stat": stat("gone", 9, 9), // its own file cannot be read any more
		"proc/meminfo":         {Data: []byte("x")},
	}
	c, err := processes(root)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"qemu-system-x86": 4, "qemu-system-x86/CPU_0/KVM": 1.5, "qemu-system-x86/vhost": 0.5,
		"a)_(b": 0.02, "relay12": 0.1, "relay3": 0.1, "relay3/42": 0.05}
	if got := c.CPUTime(); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	root["proc/7/task/8/stat"] = &fstest.MapFile{Data: []byte("7 (x) S 1")}
	c, err = processes(root)
	if err == nil || !strings.Contains(err.Error(), "proc/7/task/8/stat: 2 fields after the name: want more than 14") || len(c) > 0 {
		t.Errorf("error %v, counters %v", err, c)
	}
}
