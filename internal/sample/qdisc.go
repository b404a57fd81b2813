package sample

import "strings"

// A Qdisc is what the root queueing discipline of a device counted since it was added.
type Qdisc struct {
	Dev, Kind                                   string
	Packets, Bytes, Drops, Overlimits, Requeues uint64
}

// OfQdiscs returns the counters of OfQdisc: qdisc.eth0.tbf.packets, bytes, drops, overlimits and requeues.
// A discipline that replaces one of another kind therefore begins at 0.
func OfQdiscs(all []Qdisc) Counters {
	c := make(Counters, 5*len(all))
	for _, q := range all {
		name := "qdisc." + q.Dev + "." + q.Kind + "."
		c[name+"packets"], c[name+"bytes"] = float64(q.Packets), float64(q.Bytes)
		c[name+"drops"], c[name+"overlimits"], c[name+"requeues"] = float64(q.Drops), float64(q.Overlimits), float64(q.Requeues)
	}
	return c
}

// QdiscCounter splits the name of a counter of OfQdisc; ok is false for others. A device's name can have
// dots, a discipline's cannot.
func QdiscCounter(name string) (dev, kind, counter string, ok bool) {
	rest, ok := strings.CutPrefix(name, "qdisc.")
	last := strings.LastIndexByte(rest, '.')
	if !ok || last < 0 {
		return "", "", "", false
	}
	before := strings.LastIndexByte(rest[:last], '.')
	if before < 0 {
		return "", "", "", false
	}
	return rest[:before], rest[before+1 : last], rest[last+1:], true
}
