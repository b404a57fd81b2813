package record

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// What format 1 glued to names is in fields, and no name of a machine, a program or a user's file is taken for
// another.
func TestNamesOfFormat1(t *testing.T) {
	dotted := []string{"n1", "n1.example", "ip-10-0-1-5.eu-west-1.compute.internal", "10.0.0.7"}
	for name, want := range map[string]Key{
		"throughput":                          Throughput.Whole(),
		"cpu.softirq.busiest":                 CPUSoftirqBusiest.Whole(),
		"cpu.own.client":                      CPUOwn.At("client"),
		"cpu.wait.server":                     CPUWait.At("server"),
		"cpu.tool.receiver":                   CPUTool.At("receiver"),
		"stress.taken.server":                 StressTaken.At("server"),
		"cpu.steal":                           CPUSteal.Whole(),
		"cpu.steal.n1.example":                CPUSteal.On("n1.example"),
		"cpus.10.0.0.7":                       CPUs.On("10.0.0.7"),
		"core-to-core.after.n1":               CoreToCoreAfter.On("n1"),
		"core-to-core.n1":                     CoreToCore.On("n1"),
		"others.user.n1":                      OthersUser.On("n1"),
		"cpu.flanneld":                        CPUProgram.Thread("", "flanneld", ""),
		"cpu.qemu-system-x86/vhost":           CPUProgram.Thread("", "qemu-system-x86", "vhost"),
		"thread.h1.ovs-vswitchd/handler":      CPUThread.Thread("h1", "ovs-vswitchd", "handler"),
		"thread.machine.ksoftirqd/0":          CPUThread.Thread("", "ksoftirqd", "0"),
		"thread.n1.example.weir-engine-agent": CPUThread.Thread("n1.example", "weir-engine-agent", ""),
		"thread.ip-10-0-1-5.eu-west-1.compute.internal.weir-engine-serve": CPUThread.Thread("ip-10-0-1-5.eu-west-1.compute.internal", "weir-engine-serve", ""),
		"thread.machine.weir-run-st/B.yaml":                               CPUThread.Thread("", "weir-run", ""),
		"thread.a.weir-report-DIR/x":                                      CPUThread.Thread("a", "weir-report", ""),
		"thread.h1.weir-relay-relay0":                                     CPUThread.Thread("h1", "weir-relay-relay0", ""),
		"thread.h2.qemu-system-x86_64/CPU_0/KVM":                          CPUThread.Thread("h2", "qemu-system-x86_64", "CPU_0/KVM"),
		"of a newer weir":                                                 Quantity("of a newer weir").Whole(),
	} {
		if got := keyV1(name, dotted); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestObservationsOfFormat1(t *testing.T) {
	got := observedV1(Observed{"again": "of block 3", "cost": "not measured: 2 pairs at once", "cpu.own": "without the packets that rps gave to other CPUs",
		"cpus": "client [0 2], server [1]", "path.loss": "1.5%", "path.client": "ip-10-0-1-5.eu-west-1.compute.internal eth0", "path.server": "b eth1",
		"warmup": "none: the tool cannot leave it out", "rtt": "twice what sockperf prints, which is half of the round trip", "rps": "2, 3", "load.share": "of capacity",
		"path.mtu": "1450", "tool": "weir engine"})
	want := Observed{"repeats": "3", "at.once": "2", "own.partial": "true", "cpus.client": "0 2", "cpus.server": "1", "path.loss": "0.015",
		"client.host": "ip-10-0-1-5.eu-west-1.compute.internal", "client.device": "eth0", "server.host": "b", "server.device": "eth1",
		"warmup": "0s", "rtt.doubled": "true", "rps": "2 3", "load.share": "capacity", "path.mtu": "1450", "tool": "weir engine"}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Every note that format 1 stored as a sentence comes back as a code with its arguments.
func TestNotesOfFormat1(t *testing.T) {
	for code, format := range NoteFormats() {
		if code == NoteText {
			continue
		}
		var args []any
		for i := range strings.Count(format, "%s") {
			args = append(args, fmt.Sprint("argument ", i))
		}
		n := code.With(args...)
		if got := noteV1(n.String()); fmt.Sprint(got) != fmt.Sprint(n) || got.Code != code {
			t.Errorf("%q is %v %q, want %v", n, got.Code, got.Args, code)
		}
	}
	if got := noteV1("a sentence of an older weir"); got.Code != NoteText || got.String() != "a sentence of an older weir" {
		t.Errorf("an unknown sentence is %+v", got)
	}
}

func TestVocabulary(t *testing.T) {
	ids, words := map[Quantity]bool{}, map[string]Quantity{}
	for _, d := range Quantities() {
		if ids[d.ID] {
			t.Errorf("%s is defined twice", d.ID)
		}
		ids[d.ID] = true
		if d.Word == "" || d.Chinese == "" || !strings.HasSuffix(d.Doc, ".") {
			t.Errorf("%s lacks words, or a sentence that defines it", d.ID)
		}
		if other := words[d.Word]; other != "" {
			t.Errorf("%s and %s have the same word, %q", d.ID, other, d.Word)
		}
		words[d.Word] = d.ID
	}
	keys := map[string]bool{}
	for _, f := range Facts() {
		if keys[f.Key] || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s is defined twice, or lacks a sentence", f.Key)
		}
		keys[f.Key] = true
	}
}

// A fact reads what it wrote, and nothing from a text of another type.
func TestFacts(t *testing.T) {
	o := Observed{}
	o.Observe(ClientCPUs.Is([]int{0, 3}), PathHosts.Is([]string{"h1", "h2"}), PathLoss.Is(0.015), Warmup.Is(0), Swapped.Is(false), Guest.Is(""), Rate.Is(2e8))
	want := Observed{"cpus.client": "0 3", "path.hosts": "h1 h2", "path.loss": "0.015", "warmup": "0s", "swapped": "false", "rate": "200000000"}
	if !maps.Equal(o, want) {
		t.Errorf("got %v, want %v", o, want)
	}
	if v, ok := ClientCPUs.Get(o); !ok || fmt.Sprint(v) != "[0 3]" {
		t.Errorf("CPUs %v, %v", v, ok)
	}
	if v, ok := Warmup.Get(o); !ok || v != 0 {
		t.Errorf("warm-up %v, %v", v, ok)
	}
	if v, ok := PathMTU.Get(Observed{"path.mtu": "large"}); ok || v != 0 {
		t.Errorf("an MTU %v of a word", v)
	}
	if PathMTU.In(o) || !Swapped.In(o) || Swapped.Of(o) {
		t.Error("a fact that nobody observed, or the reverse")
	}
}
