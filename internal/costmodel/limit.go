package costmodel

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
)

// A Busy is a thread and the time that a unit of work takes it.
type Busy struct {
	analysis.Thread
	PerUnit float64 `json:"perUnit"` // s of its CPU's time
}

// leastBusy is the share of a CPU below which a thread is no part of the path that could limit it.
const leastBusy = 0.02

// Names of the threads that carry packets (see finding.Describe).
const (
	client = "weir-engine-agent"
	load   = "weir-engine-hog" // a condition of the trial
)

// limit finds the thread that limits the network, and the next one.
//
// Encapsulation is work of the thread that sends: softirqs run on top of it, across both hosts of a lab.
// For a guest that is vhost, or QEMU without it, and never the guest's CPU.
func (b *Bound) limit(row analysis.Row, guest bool) {
	busy := neverIdle(row)
	for _, t := range row.Threads() {
		if t.Name == load || t.Unresolved || t.Share.Center < leastBusy || b.Rate <= 0 {
			continue
		}
		x := &Busy{t, t.Share.Center / b.Rate}
		switch {
		case b.Limit == nil && (t.Full || busy && t.Name == client):
			b.Limit, b.Inside = x, encapsulates(t, guest)
		case b.Next == nil:
			b.Next = x
		}
	}
	if b.Inside && b.Next != nil && b.Next.PerUnit > b.Limit.PerUnit-b.Encapsulation.Center {
		b.Most = max(1, b.Limit.PerUnit/b.Next.PerUnit) // threads are sorted by share, and a sender that waits can come second
	}
}

// neverIdle reports whether the sender's thread always had work: it ran, or other programs kept it from
// running. Its own clock alone does not show that on a busy machine.
func neverIdle(row analysis.Row) bool {
	_, ok := analysis.Exceeds(row.Evidence(), analysis.FullShare, func(o analysis.Observed) (part, whole float64) {
		e := o.Evidence
		if streams := o.Observed["streams"]; streams != "" && streams != "1" || e.Sender.CPU == 0 {
			return 0, 0 // several threads, or no clock
		}
		return e.Sender.CPU + e.Sender.Wait, e.Window
	})
	return ok
}

// encapsulates reports whether a thread's time includes that of encapsulation. A sender's inside a guest
// does not.
func encapsulates(t analysis.Thread, guest bool) bool {
	process, thread, _ := strings.Cut(t.Name, "/")
	if strings.HasPrefix(thread, "CPU_") {
		return false
	}
	return t.Name == client && !guest || process == "vhost" || strings.HasPrefix(thread, "vhost") || strings.HasPrefix(process, "qemu-")
}
