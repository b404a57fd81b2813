package trial

import (
	"fmt"
	"slices"

	"github.com/weir-bench/weir/record"
)

const (
	// step is the unit of /proc/stat, s. Idle, iowait and steal time are rounded down to it, at both
	// edges of a window.
	step = 0.01
	// late is the largest delay of a busy thread in reading its clock at an edge, as a share of the window.
	late = 0.05
)

// own adds the cost by the threads' own clocks, which include the softirqs that interrupted the threads but not those
// on other CPUs. Other programs do not add to it, so concurrent trials and background have it too. It removes an
// impossible value, with a note: a part of the machine's work cannot exceed all of it.
func (s *Setup) own(r *record.Result, x *execution) {
	own, ok := r.Get(record.CPUOwn)
	if !ok {
		return
	}
	all := spans(s.hosts(), x.readings.Begin, x.readings.End)
	if cpus := capacity(all); cpus > 0 {
		// A thread's clock includes stolen time, unless the kernel has CONFIG_PARAVIRT_TIME_ACCOUNTING.
		u := usage(all)
		most, unsure := u.Used+u.Steal, 0.0
		for _, h := range all {
			unsure += 3 * step / h.seconds
		}
		if own.Value > most*(1+late)+unsure {
			r.Values = slices.DeleteFunc(r.Values, func(v record.Value) bool {
				return v.Name == record.CPUOwn
			})
			r.Notes = append(r.Notes, record.NoteOwnImpossible.With(fmt.Sprintf("%.2f", own.Value), fmt.Sprintf("%.2f", most)))
			return
		}
	}
	if len(s.steered()) > 0 {
		// A cost per packet would seem to fall by whatever the other CPUs do for it.
		record.OwnPartial.Put(r.Observed, true)
		return
	}
	perWork(r, [3]record.Quantity{record.CPUOwnPerBit, record.CPUOwnPerPacket, record.CPUOwnPerTransaction}, own.Value)
	perDatagram(r)
}

// perDatagram corrects the cost of a datagram where some are lost: the sender's threads spend time on each datagram
// sent, the receiver's on each one received. If both were divided by the delivered datagrams, a loss would look like a
// cost.
func perDatagram(r *record.Result) {
	sent, a := r.Get(record.Sent)
	received, b := r.Get(record.Received)
	client, c := r.Value(record.CPUOwn.At("client"))
	server, d := r.Value(record.CPUOwn.At("server"))
	i := slices.IndexFunc(r.Values, func(v record.Value) bool { return v.Name == record.CPUOwnPerPacket })
	if i >= 0 && a && b && c && d && sent.Value > 0 && received.Value > 0 {
		r.Values[i].Value = client.Value/sent.Value + server.Value/received.Value
	}
}
