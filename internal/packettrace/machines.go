package packettrace

import (
	"cmp"
	"maps"
	"slices"
)

// acrossMachines is transactions for ends on two machines. Events are in order of time on each of them and not across, and
// all carry the engine's header (Tap of a shared machine). A request passes the client's machine and then the
// server's, and its reply the other way.
func acrossMachines(events []Event, at ends) (all []transaction) {
	ms := make([]marked, len(events))
	for i, e := range events {
		ms[i] = marked{e, markOf(e.Head)}
	}
	run, _ := runOf(ms)
	ways := map[uint64]*transaction{} // by sequence number
	for _, m := range ms {
		if !m.found || m.run != run {
			continue
		}
		if ways[m.seq] == nil {
			ways[m.seq] = &transaction{}
		}
		if x := ways[m.seq]; m.reply {
			x.reply = append(x.reply, m)
		} else {
			x.request = append(x.request, m)
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(ways)) {
		if x := ways[seq]; x.request.begins(at.client) && x.reply.begins(at.server) {
			all = append(all, *x)
		}
	}
	return all[:max(0, len(all)-1)] // the last one can lack its end
}

// begins puts the events of a node first, and reports whether the pass leaves it for the other machine.
func (p pass) begins(node string) bool {
	slices.SortStableFunc(p, func(a, b marked) int {
		if (a.Node == node) != (b.Node == node) {
			if a.Node == node {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.At, b.At)
	})
	return p.crossing() > 0 && p[0].Node == node
}

// crossing returns the index of the first event on another machine than the one before; 0 without one.
func (p pass) crossing() int {
	for i := 1; i < len(p); i++ {
		if p[i].Clock != p[i-1].Clock {
			return i
		}
	}
	return 0
}

// step is the time from the event before event i to where recording it begins, ns; 0 across machines.
func (p pass) step(i int) int64 {
	if p[i].Clock != p[i-1].Clock {
		return 0
	}
	return p[i].At - p[i].Warm - p[i-1].At
}

// between is the time between the machines there and back, ns: what passed from the request's last event on the client's
// machine to the reply's first one there, less what passed on the server's machine between its first and its last event.
func (x transaction) between() int64 {
	out, back := x.request.crossing(), x.reply.crossing()
	if out == 0 || back == 0 {
		return 0
	}
	return x.reply[back].At - x.request[out-1].At - (x.reply[back-1].At - x.request[out].At)
}
