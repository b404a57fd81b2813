package finding

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
)

// mostFull is how many threads a finding names.
const mostFull = 3

var fullThread = Rule{
	ID:    "full-thread",
	Title: "A thread uses a whole CPU",
	Doc: "A thread runs on one CPU at a time, so one that uses 95 % of a CPU or more cannot do more, however idle the other CPUs are. The time of a thread includes the softirqs that ran on top of it, which in a lab is most of the path. " +
		"Threads that only load a CPU as a condition of the trial, and ends that poll, are left out.",
	Check: rows(func(_ *analysis.Table, r *analysis.Row) []Finding {
		var names, evidence []string
		for _, t := range r.Threads() {
			if !t.Full || idles(t, r) || len(names) == mostFull {
				continue
			}
			names = append(names, fmt.Sprintf("%s at %s", Describe(t).Subject, ofCPU(t)))
			evidence = append(evidence, fmt.Sprintf("%s in %s: median of %d blocks", t.Name, placeOf(t), t.Share.N))
			if line := receives(r, t); line != "" {
				evidence = append(evidence, line)
			}
		}
		switch len(names) {
		case 0:
			return nil
		case 1:
			return []Finding{{Severity: Note, Text: names[0] + ": that thread is the limit", Evidence: evidence}}
		}
		return []Finding{{Severity: Note, Text: strings.Join(names, "; ") + ": these threads are the limit", Evidence: evidence}}
	}),
}

// receives says how much of the machine's receiving ran on the CPU of the sender, whose thread is full; ""
// without evidence, or if it is less than nine tenths.
func receives(r *analysis.Row, t analysis.Thread) string {
	const nearly = 0.9
	share, ok := analysis.ShareExceeds(r.Evidence(), nearly, func(o analysis.Observed) (here, all float64) {
		e, c := o.Evidence.Sender, o.Evidence.Hosts[o.Evidence.Sender.Host]
		if len(e.CPUs) != 1 || e.Node != t.Place {
			return 0, 0
		}
		return c[fmt.Sprintf("softnet.cpu%d.processed", e.CPUs[0])], c["softnet.processed"]
	})
	if !ok {
		return ""
	}
	return fmt.Sprintf("its CPU also did %s of the receiving on that machine: devices, bridges, tunnels and the receiver's stack", percent(share))
}

// idles reports whether a thread uses its CPU whatever the network costs.
func idles(t analysis.Thread, r *analysis.Row) bool {
	return t.Name == "weir-engine-hog" || r.Observed["spin"] == "true" && strings.HasPrefix(t.Name, "weir-engine-")
}

func ofCPU(t analysis.Thread) string {
	text := fmt.Sprintf("%.0f %% of a CPU", 100*t.Share.Center)
	if t.Share.Bounded() {
		text += fmt.Sprintf(" [%.0f, %.0f]", 100*t.Share.Lo, 100*t.Share.Hi)
	}
	return text
}

func placeOf(t analysis.Thread) string {
	if t.Place == "" {
		return "the machine"
	}
	return t.Place
}

// A Description says what a thread is in words.
type Description struct {
	Name    string // short
	Subject string // of a sentence: the name and its place
	Does    string // what its time goes to
}

// daemons are programs of networks.
var daemons = map[string]string{
	"ovs-vswitchd": "Open vSwitch: packets that the kernel does not forward by itself, or all of them in user space",
	"ovsdb-server": "Open vSwitch's database",
	"dockerd":      "Docker's daemon: sets networks up",
	"containerd":   "Docker's container runtime",
	"flanneld":     "Flannel's daemon: keeps routes up to date",
	"weaver":       "Weave's router: carries packets that the kernel does not",
	"bird":         "BGP: exchanges routes",
	"calico-node":  "Calico's agent: keeps rules and routes up to date",
	"etcd":         "the database of a network's daemons",
}

// Describe describes a thread by its name. Names are foreign text, already limited to short printable
// words (sample.Threads).
func Describe(t analysis.Thread) Description {
	process, thread, _ := strings.Cut(t.Name, "/")
	in := ""
	if t.Place != "" {
		in = " in " + t.Place
	}
	say := func(label, does string) Description {
		return Description{Name: label, Subject: label + in, Does: does}
	}
	switch vcpu, isCPU := strings.CutPrefix(thread, "CPU_"); {
	case process == "ksoftirqd":
		return say(t.Name, "kernel: softirqs of CPU "+thread+" that other threads left")
	case process == "kworker":
		return say("kernel workers", "kernel: deferred work, such as WireGuard's encryption")
	case process == "vhost" || strings.HasPrefix(thread, "vhost"):
		return say("vhost", "kernel: carries packets between a guest's device and its host")
	case process == "napi":
		return say(t.Name, "kernel: receives packets of a device")
	case isCPU:
		n, accel, _ := strings.Cut(vcpu, "/")
		does := "the guest: its kernel and the program in it"
		if accel == "TCG" {
			does += ", emulated"
		}
		return say("vCPU "+n, does)
	case strings.HasPrefix(process, "qemu-"):
		return say("QEMU", "the guest's devices, and packets without vhost")
	case process == "weir-engine-agent":
		return say("engine client", "sending or asking, and softirqs on top")
	case process == "weir-engine-serve":
		return say("engine server", "receiving or answering, and softirqs on top")
	case process == "weir-engine-hog":
		return say("CPU load", "a condition of the trial")
	case strings.HasPrefix(process, "weir-relay"):
		return say("relay", "carries every packet in user space")
	case daemons[process] != "":
		return say(t.Name, daemons[process])
	}
	return say(t.Name, "")
}
