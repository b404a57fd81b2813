package finding

import (
	"fmt"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// lostElsewhere is the share of lost packets above which the sender's thread does not limit how many arrive.
const lostElsewhere = 0.1

// mostFull is how many threads a finding names.
const mostFull = 3

var fullThread = Rule{
	ID:    "full-thread",
	Title: "A thread uses a whole CPU",
	Doc: "A thread runs on one CPU at a time, so one that uses 95 % of a CPU or more cannot do more, however idle the other CPUs are; nor can the engine's client if it uses 90 % and waits for its CPU the rest of the time. The time of a thread includes the softirqs that ran on top of it, which in a lab is most of the path. " +
		"Threads that only load a CPU as a condition of the trial, and ends that poll, are left out, and so is the engine's client where more than 10 % of what it sends is lost.",
	Check: rows(func(_ *analysis.Table, r *analysis.Row) []Finding {
		var names, subjects, roles, evidence []lang.Text
		for _, t := range r.Threads() {
			if !t.Full || idles(t, r) || clearly(r.Lost, lostElsewhere) && t.Program == sample.EngineClient || len(names) == mostFull {
				continue
			}
			name := lang.T("%s at %s", Describe(t).Subject, ofCPU(t))
			if !t.WholeCPU() {
				name = lang.T("%s and never idle", name)
			}
			names, subjects, roles = append(names, name), append(subjects, Describe(t).Subject), append(roles, Describe(t).Name)
			evidence = append(evidence, lang.T("%s in %s: median of %d blocks", t.Name(), placeOf(t), t.Share.N))
			if line := receives(r, t); line != "" {
				evidence = append(evidence, line)
			}
		}
		f := Finding{Severity: Note, Subject: lang.Join(subjects, lang.T("; ")), Role: lang.Join(roles, lang.T("; ")), Evidence: evidence}
		switch len(names) {
		case 0:
			return nil
		case 1:
			f.Text = lang.T("%s: that thread is the limit", names[0])
		default:
			f.Text = lang.T("%s: these threads are the limit", lang.Join(names, lang.T("; ")))
		}
		return []Finding{f}
	}),
}

// receives says how much of the machine's receiving ran on the CPU of the sender, whose thread is full; ""
// without evidence, or if it is less than nine tenths.
func receives(r *analysis.Row, t analysis.Thread) lang.Text {
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
	return lang.T("its CPU also did %s of the receiving on that machine: devices, bridges, tunnels and the receiver's stack", prose.PercentWithin(share))
}

// idles reports whether a thread uses its CPU whatever the network costs.
func idles(t analysis.Thread, r *analysis.Row) bool {
	return t.Program == sample.EngineLoad || record.Wait.Of(r.Observed) == record.Spinning && t.Engine()
}

func ofCPU(t analysis.Thread) lang.Text {
	text := lang.T("%.0f %% of a CPU", 100*t.Share.Center)
	if t.Share.Bounded() {
		text += lang.Text(fmt.Sprintf(" [%.0f, %.0f]", 100*t.Share.Lo, 100*t.Share.Hi))
	}
	return text
}

func placeOf(t analysis.Thread) lang.Text {
	if t.Place == "" {
		return lang.T("the machine")
	}
	return lang.Text(t.Place)
}

// A Description says what a thread is in words.
type Description struct {
	Name    lang.Text // short
	Subject lang.Text // of a sentence: the name and its place
	Does    lang.Text // what its time goes to
}

// daemons are programs of networks.
var daemons = map[string]lang.Text{
	"ovs-vswitchd": lang.T("Open vSwitch: packets that the kernel does not forward by itself, or all of them in user space"),
	"ovsdb-server": lang.T("Open vSwitch's database"),
	"dockerd":      lang.T("Docker's daemon: sets networks up"),
	"containerd":   lang.T("Docker's container runtime"),
	"flanneld":     lang.T("Flannel's daemon: keeps routes up to date"),
	"weaver":       lang.T("Weave's router: carries packets that the kernel does not"),
	"bird":         lang.T("BGP: exchanges routes"),
	"calico-node":  lang.T("Calico's agent: keeps rules and routes up to date"),
	"etcd":         lang.T("the database of a network's daemons"),
}

// Describe describes a thread by its name. Names are foreign text, already limited to short printable
// words (sample.Threads).
func Describe(t analysis.Thread) Description {
	process, thread := t.Program, t.Thread
	is := func(label, does lang.Text) Description {
		d := Description{Name: label, Subject: label, Does: does}
		if t.Place != "" {
			d.Subject = lang.T("%s in %s", label, t.Place)
		}
		return d
	}
	name := lang.Text(t.Name())
	switch vcpu, isCPU := strings.CutPrefix(thread, "CPU_"); {
	case process == "ksoftirqd":
		return is(name, lang.T("kernel: softirqs of CPU %s that other threads left", thread))
	case process == "kworker":
		return is(lang.T("kernel workers"), lang.T("kernel: deferred work, such as WireGuard's encryption"))
	case process == "vhost" || strings.HasPrefix(thread, "vhost"):
		return is("vhost", lang.T("kernel: carries packets between a guest's device and its host"))
	case process == "napi":
		return is(name, lang.T("kernel: receives packets of a device"))
	case isCPU:
		n, accel, _ := strings.Cut(vcpu, "/")
		does := lang.T("the guest: its kernel and the program in it")
		if accel == "TCG" {
			does = lang.T("the guest: its kernel and the program in it, emulated")
		}
		return is("vCPU "+lang.Text(n), does)
	case strings.HasPrefix(process, "qemu-"):
		return is("QEMU", lang.T("the guest's devices, and packets without vhost"))
	case process == sample.EngineClient:
		return is(lang.T("engine client"), lang.T("sending or asking, and softirqs on top"))
	case process == sample.EngineServer:
		return is(lang.T("engine server"), lang.T("receiving or answering, and softirqs on top"))
	case process == sample.EngineLoad:
		return is(lang.T("CPU load"), lang.T("a condition of the trial"))
	case strings.HasPrefix(process, "weir-relay"):
		return is(lang.T("relay"), lang.T("carries every packet in user space"))
	case daemons[process] != "":
		return is(name, daemons[process])
	}
	return is(name, "")
}
