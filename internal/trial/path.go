package trial

import (
	"slices"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/sample"
)

// trace returns the devices between client and server. The steps show them where weir has built the network.
// Otherwise they are the devices of the ends, and those of their hosts that the plan expects to carry.
func (s *Setup) trace(t *plan.Tracer) []plan.Hop {
	if hops := t.Trace(s.Client, s.Server); hops != nil {
		return hops
	}
	hops := []plan.Hop{{In: s.Client.Node, Dev: s.Client.Dev}}
	for _, host := range []string{s.Client.Host, s.Server.Host} {
		for _, e := range s.Plan.Expect {
			hop := plan.Hop{In: host, Dev: e.Dev}
			if e.In == host && e.MustCarry && e.Concerns(s.Client, s.Server) && !slices.Contains(hops, hop) &&
				hop != (plan.Hop{In: s.Server.Node, Dev: s.Server.Dev}) {
				hops = append(hops, hop)
			}
		}
	}
	return append(hops, plan.Hop{In: s.Server.Node, Dev: s.Server.Dev})
}

// backwards returns the same path from its other end.
func backwards(hops []plan.Hop) []plan.Hop {
	out := slices.Clone(hops)
	slices.Reverse(out)
	for i := range out {
		out[i].By = ""
		if i > 0 {
			out[i].By = hops[len(hops)-i].By
		}
	}
	return out
}

// passed returns what the devices of hops counted, in this order, without those whose counters do not show
// packets that they forward, and those without counters. grown is the growth by node.
func passed(hops []plan.Hop, grown map[string]sample.Counters) []evidence.Hop {
	bytes := make([]float64, len(hops))
	for i, h := range hops {
		rx, known := grown[h.In]["dev."+h.Dev+".rx_bytes"]
		if bytes[i] = rx + grown[h.In]["dev."+h.Dev+".tx_bytes"]; !known {
			bytes[i] = -1
		}
	}
	silent := make([]bool, len(hops))
	for i := 1; i < len(hops)-1; i++ {
		// What was lost before a device cannot be seen after it. A bridge counts only packets of its own
		// host (br_pass_frame_up, net/bridge/br_input.c).
		around := min(slices.Max(bytes[:i]), slices.Max(bytes[i+1:]))
		silent[i] = bytes[i] >= 0 && bytes[i] < around/2
	}
	out := outward(hops, grown, silent)
	queues := map[string]map[string]*evidence.Queue{} // by node and device
	var all []evidence.Hop
	for i, h := range hops {
		if bytes[i] < 0 || silent[i] {
			continue
		}
		if queues[h.In] == nil {
			queues[h.In] = queuesOf(grown[h.In])
		}
		hop := evidence.Hop{In: h.In, Dev: h.Dev, By: h.By, Out: out[i], Queue: queues[h.In][h.Dev]}
		hop.Data, hop.Back = flow(grown[h.In], h.Dev, "rx"), flow(grown[h.In], h.Dev, "tx")
		if hop.Out {
			hop.Data, hop.Back = hop.Back, hop.Data
		}
		all = append(all, hop)
	}
	return all
}

// outward reports for each hop whether the data leave its node through it: in the sender's node they do, in
// the receiver's they enter. In others they enter before they are routed or pass a silent device, and leave
// from there on. Where the plan does not show this, the device's larger direction decides, then its place.
func outward(hops []plan.Hop, grown map[string]sample.Counters, silent []bool) []bool {
	out := make([]bool, len(hops))
	for i := 0; i < len(hops); {
		j := i + 1
		for j < len(hops) && hops[j].In == hops[i].In {
			j++
		}
		turn := i // the first hop through which the data leave
		for turn < j && !silent[turn] && (turn == i || hops[turn].By != "route") {
			turn++
		}
		for k := i; k < j; k++ {
			d, name := grown[hops[k].In], "dev."+hops[k].Dev+"."
			rx, tx := d[name+"rx_bytes"], d[name+"tx_bytes"]
			switch {
			case i == 0: // the sender's
				out[k] = true
			case j == len(hops): // the receiver's
			case turn < j:
				out[k] = k >= turn
			case j-i > 1 && k == i && hops[k].By == "": // from a wire
			case j-i > 1 && k == j-1 && hops[j].By == "": // to a wire
				out[k] = true
			case max(rx, tx) > 2*min(rx, tx):
				out[k] = tx > rx
			case j-i > 1 && (k == i || k == j-1):
				out[k] = k == j-1
			default: // tunnels, and devices below a macvlan, belong to the wire
				out[k] = k < len(hops)/2
			}
		}
		i = j
	}
	return out
}

// flow returns the growth of a device's counters in one direction, rx or tx.
func flow(grown sample.Counters, dev, dir string) evidence.Flow {
	name := "dev." + dev + "." + dir
	return evidence.Flow{Packets: grown[name+"_packets"], Bytes: grown[name+"_bytes"],
		Drops: grown[name+"_dropped"], Errors: grown[name+"_errors"] + grown[name+"_fifo"]}
}

// queuesOf returns the root queueing discipline of each device of a node.
func queuesOf(grown sample.Counters) map[string]*evidence.Queue {
	all := map[string]*evidence.Queue{}
	for name, v := range grown {
		dev, kind, counter, ok := sample.QdiscCounter(name)
		if !ok {
			continue
		}
		if all[dev] == nil {
			all[dev] = &evidence.Queue{Kind: kind}
		}
		switch q := all[dev]; counter {
		case "packets":
			q.Packets = wrapped(v)
		case "bytes":
			q.Bytes = v
		case "drops":
			q.Drops = wrapped(v)
		case "overlimits":
			q.Overlimits = wrapped(v)
		case "requeues":
			q.Requeues = wrapped(v)
		}
	}
	return all
}

// wrapped is the growth of a counter of 32 bits.
func wrapped(grown float64) float64 {
	if grown < 0 {
		grown += 1 << 32
	}
	return grown
}
