package costmodel

import (
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/record"
)

// A Busy is a thread and the time that a unit of work takes it.
type Busy struct {
	analysis.Thread
	PerUnit float64 `json:"perUnit"` // s of its CPU's time
}

// leastBusy is the share of a CPU below which a thread is not a part of the path that could limit it.
const leastBusy = 0.02

// limit finds the thread that limits the network, and the next one.
//
// Encapsulation is work of the thread that sends: softirqs run on top of it, across both hosts of a lab.
// For a guest that is vhost, or QEMU without it, and never the guest's CPU.
func (b *Bound) limit(row analysis.Row, guest bool) {
	for _, t := range row.Threads() {
		if t.Program == sample.EngineLoad || t.Unresolved || t.Share.Center < leastBusy || b.Rate <= 0 {
			continue
		}
		x := &Busy{t, t.Share.Center / b.Rate}
		switch {
		case b.Limit == nil && (t.Full || t.NeverIdle):
			b.Limit, b.Inside = x, encapsulates(t, guest)
		case b.Next == nil:
			b.Next = x
		}
	}
	if b.Inside && b.Next != nil && b.Next.PerUnit > b.Limit.PerUnit-b.Encapsulation.Center {
		b.Most = max(1, b.Limit.PerUnit/b.Next.PerUnit) // threads are sorted by share, and a sender that waits can come second
	}
}

// encapsulates reports whether a thread's time includes that of encapsulation. A sender's inside a guest
// does not.
func encapsulates(t analysis.Thread, guest bool) bool {
	if strings.HasPrefix(t.Thread, "CPU_") {
		return false
	}
	return t.Program == sample.EngineClient && !guest || t.Program == "vhost" || strings.HasPrefix(t.Thread, "vhost") || strings.HasPrefix(t.Program, "qemu-")
}

// unitOf returns the unit of a table's costs: TCP does not choose its packets.
func unitOf(t *analysis.Table) string {
	if slices.ContainsFunc(t.Rows, func(r analysis.Row) bool { _, ok := r.Get(record.Delivered); return ok }) {
		return "s/packet"
	}
	return "s/byte"
}
