package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var backlogDrop = Rule{
	ID:    atBacklog,
	Title: "The queue of a CPU drops packets",
	Doc: "The backlog of a CPU drops more than 0.1 % of the packets. A device without a queue of its own (veth, tunnels, bridges), or receive packet steering (RPS), " +
		"puts each packet into the backlog of a CPU; with net.core.netdev_max_backlog packets in it, enqueue_to_backlog (net/core/dev.c) drops the packet and counts it twice: as dropped in the CPU's line of " +
		"softnet_stat, and as a receive drop of the device. The counter of the CPU covers the whole machine, so the rule takes those that a device of the path counts too, per packet of that device: " +
		"packets that the CPUs process would be counted once for every device of the path." + majority,
	lossy: lost(atBacklog, func(t *analysis.Table, r *analysis.Row, l *loss) Finding {
		f := Finding{
			Text:   lang.T("the backlog of the CPU that receives for %s was full: it dropped %s of %s packets (%s)", l.place, prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share)),
			Remedy: lang.T("raise net.core.netdev_max_backlog, or give the packets of that CPU to more CPUs"),
		}
		if d, ok := deviceOf(settings(r), l.hop.In, l.hop.Dev); ok && len(d.RPS) > 0 {
			f.Evidence = append(f.Evidence, lang.T("receive packet steering is on there, mask %s, so another CPU than the sender's processes them", d.RPS[0]))
			if level := t.Config["rps"]; level != "" && level != "off" {
				f.Test = &Test{Levels: map[string]string{"rps": "off"}}
			}
		}
		return f
	}),
}
