package finding

import (
	"slices"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var dropOnPath = Rule{
	ID:    atDevice,
	Title: "Packets vanish between devices",
	Doc: "More than 0.2 % of packets that one device counts and the next one does not, or that a device counts as dropped, and neither a queue, nor a CPU's backlog, nor a small MTU explains it. " +
		"Counts of devices are compared only where packets have one size: elsewhere they were cut or joined. A drop shows again at the devices before it in the same call, so the last device in a row is named. " +
		"Without retransmissions or missing answers at the ends nothing is reported. 0.2 %, because devices also count other packets, such as ARP." + majority,
	lossy: lost(atDevice, func(_ *analysis.Table, r *analysis.Row, l *loss) Finding {
		f := Finding{Text: lang.T("%s of %s packets (%s) %s", prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share), l.verb)}
		program := behind(r, l)
		if program != "" && (!l.missing || l.hop.By != "") {
			f.Remedy = lang.T("%s does not take them from there fast enough: give it more CPU time, or send less", program)
			f.Untestable = lang.T("weir cannot make that program faster")
			return f
		}
		f.Remedy = lang.T("look for a filter, a traffic-control action or another port that takes them there: nft list ruleset, tc filter show, bridge fdb show")
		if program != "" { // the kernel counts nowhere what a packet socket has no room for
			f.Remedy = lang.T("%s gets too little CPU time to take them from there, or a filter or a traffic-control action drops them: nft list ruleset, tc filter show", program)
		}
		if fix := flush(settings(r), l.hop.In); fix != nil {
			f.Test = &Test{Fix: fix}
		}
		return f
	}),
}

// behind returns the program that takes the packets that a device dropped, "" if the kernel does: it is in the node of the
// device, or in one of its neighbors on the path, where the other end of a veth is.
func behind(r *analysis.Row, l *loss) string {
	path := last(r).Evidence.Path
	i := slices.IndexFunc(path, func(h evidence.Hop) bool { return h.In+" "+h.Dev == l.place })
	for _, j := range []int{i, i - 1, i + 1} {
		if i < 0 || j < 0 || j >= len(path) {
			continue
		}
		if programs := last(r).Evidence.Carriers[path[j].In]; len(programs) > 0 {
			return programs[0]
		}
	}
	return ""
}
