package profile

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// two is a profile of 2 s on a sender: 1,000 samples of its own code and 500 below the bridge.
var two = &Profile{Duration: 2 * time.Second, Period: time.Millisecond, Stacks: []Stack{
	{[]string{client}, 1000},
	{[]string{client, "do_syscall_64", "udp_sendmsg", "br_forward", "_raw_spin_lock"}, 500},
	{[]string{Kernel, "net_rx_action", "br_forward"}, 100},
}}

func TestStored(t *testing.T) {
	var b bytes.Buffer
	if err := two.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, two) {
		t.Errorf("read %v, stored %v", got, two)
	}
}

func TestCollector(t *testing.T) {
	names, err := parseSymbols(strings.NewReader("10 T do_syscall_64\n20 T udp_sendmsg\n30 T net_rx_action\n40 T do_idle\n"))
	if err != nil {
		t.Fatal(err)
	}
	const engine = 1 << 30 // no process of this test
	c := collector{names, false, map[uint32]string{engine: client}, map[string]int{}}
	c.add(sample{pid: engine, calls: []uint64{0x24, 0x20}}) // returns behind do_syscall_64's last call
	c.add(sample{pid: engine, calls: []uint64{0x2f, 0x11}}) // the same functions
	c.add(sample{pid: engine, calls: nil})                  // its own code
	c.add(sample{calls: []uint64{0x44}})                    // idle
	c.add(sample{calls: []uint64{0x30, 0x44}})              // a softirq on an idle CPU
	c.add(sample{calls: []uint64{0x30, 0x21, 0x11}})        // another program's packets
	c.add(sample{calls: []uint64{0x21, 0x11}})              // another program
	c.add(sample{pid: gone, calls: []uint64{0x21, 0x11}})   // one at its end
	want := []Stack{{[]string{client}, 1}, {[]string{client, "do_syscall_64", "udp_sendmsg"}, 2}, {[]string{Kernel, "do_idle", "net_rx_action"}, 1}}
	if got := c.stacks(); !reflect.DeepEqual(got, want) {
		t.Errorf("stacks %v, want %v", got, want)
	}
}

// The window ends with the client's busiest thread, not with its mark.
func TestEnd(t *testing.T) {
	const agent, serve = 1 << 30, 1<<30 + 1
	c := collector{processes: map[uint32]string{agent: client, serve: server}}
	all := []sample{{pid: agent, tid: 1, at: 90}, {pid: serve, tid: 3, at: 80}, {pid: serve, tid: 3, at: 100}, {at: 110}}
	for i := range busy {
		all = append(all, sample{pid: agent, tid: 2, at: time.Duration(i)})
	}
	if got := c.end(all, 200); got != busy-1 {
		t.Errorf("the window ended at %d, want %d", got, busy-1)
	}
	for name, few := range map[string][]sample{"client": all[1:4], "busy client": all[:4+busy-1]} {
		if got := c.end(few, 200); got != 200 {
			t.Errorf("without a %s it ended at %d, want 200", name, got)
		}
	}
}

func TestProgram(t *testing.T) {
	for args, want := range map[string]string{
		"weir\x00engine\x00serve\x0010.0.0.1:5201\x00--open\x00": server,
		"weir\x00relay\x00-x\x00":                                "weir relay",
		"/usr/sbin/ovs-vswitchd\x00unix:/x\x00":                  "ovs-vswitchd",
		"":                                                       "a process that has ended",
	} {
		if got := program([]byte(args)); got != want {
			t.Errorf("%q is %q, want %q", args, got, want)
		}
	}
}

// A small file that unpacks to a large one is not read into memory.
func TestParseHuge(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(make([]byte, maxSize+1)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(b.Bytes()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d bytes unpacked to %d: error %v", b.Len(), maxSize+1, err)
	}
}

func FuzzParse(f *testing.F) {
	var b bytes.Buffer
	if err := two.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("not a profile"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err == nil && (p.Duration <= 0 || p.Period <= 0) {
			t.Errorf("read %v", p)
		}
	})
}
