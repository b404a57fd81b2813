package sample

import (
	"math"
	"os"
	"testing"
	"testing/fstest"
)

// fuzz feeds junk to a sampler, which must return either finite counters or an error.
func fuzz(f *testing.F, source string, seeds []string, file string) {
	b, err := os.ReadFile("testdata/linux-6.18/" + file)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := sources[source](fstest.MapFS{file: {Data: b}})
		if err != nil && len(c) > 0 {
			t.Errorf("both counters %v and error %v", c, err)
		}
		for k, v := range c {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s = %v", k, v)
			}
		}
	})
}

func FuzzStat(f *testing.F) { fuzz(f, OfStat, []string{"cpu 1 2 3 4\n", "ctxt\n"}, "proc/stat") }

func FuzzSoftirqs(f *testing.F) {
	fuzz(f, OfSoftirqs, []string{"CPU0\nNET_RX: 1\nNET_TX: 18446744073709551615\n"}, "proc/softirqs")
}

func FuzzNetDev(f *testing.F) { fuzz(f, OfNetDev, []string{head + "lo:1\n"}, "proc/net/dev") }

func FuzzSNMP(f *testing.F) { fuzz(f, OfSNMP, []string{"Ip: A\nIp: 1\nTcp: A\n"}, "proc/net/snmp") }

func FuzzNetstat(f *testing.F) {
	fuzz(f, OfNetstat, []string{"TcpExt: A\nTcpExt: 1\n", "MPTcpExt: A\nMPTcpExt: x\n"}, "proc/net/netstat")
}

func FuzzReassembly(f *testing.F) {
	fuzz(f, OfReassembly, []string{"FRAG: inuse 1\n", "FRAG: inuse 1 memory 2\n", ":\n"}, "proc/net/sockstat")
}

func FuzzSoftnet(f *testing.F) {
	fuzz(f, OfSoftnet, []string{"1 2 3 0 0 0 0 0 0\n"}, "proc/net/softnet_stat")
}

func FuzzProcesses(f *testing.F) {
	fuzz(f, OfProcesses, []string{"7 (a) b) c) S 0 0 0 0 0 0 0 0 0 0 1 2\n", "7 ()", ")("}, "proc/12/stat")
}

func FuzzSNMP6(f *testing.F) {
	b, err := os.ReadFile("testdata/linux-6.18/proc/net/snmp6")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseSNMP6(b); (err == nil) == (c == nil) {
			t.Errorf("%v and %v: want exactly one", c, err)
		}
	})
}

func FuzzListening(f *testing.F) {
	f.Add([]byte(tcpHeader+listen), uint16(0x14b5))
	f.Fuzz(func(t *testing.T, b []byte, port uint16) {
		if ok, err := Listening(fstest.MapFS{"proc/net/tcp": {Data: b}}, "tcp", port); ok && err != nil {
			t.Errorf("both true and %v", err)
		}
	})
}
