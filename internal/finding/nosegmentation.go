package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var noSegmentation = Rule{
	ID:    "no-segmentation",
	Title: "The sender's device gets packets of wire size",
	Doc: "A bulk TCP sender hands its first device packets of tens of kB if that device segments. The rule reports one segment per packet: less than 3,000 bytes, and between half and 1.2 times the device's MTU, " +
		"with a feature off there that would allow more. Every packet then pays for the whole path. Small writes have smaller packets and are left out, and so are cells whose study switches offloads off or adds a background load." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		size, first, ok := unsegmented(r)
		if !ok || t.Config["offload"] == "off" || loaded(t) {
			return nil
		}
		off := segmenting(settings(r), last(r).Evidence, first)
		if len(off) == 0 || byPlan(settings(r), first, off) {
			return nil
		}
		f := Finding{Severity: Note, Place: first.In + " " + first.Dev, Number: &size,
			Text: lang.T("the sender's kernel segments: %s %s gets %s B per packet", first.In, first.Dev, prose.Thousands(size.Value.Center))}
		f.switchOn(r, first, off)
		return []Finding{f}
	}),
}

// unsegmented returns the mean packet size on the path's first device, false if its packets stand for many.
func unsegmented(r *analysis.Row) (size Number, first evidence.Hop, ok bool) {
	s, all := settings(r), r.Evidence()
	_, ok = analysis.Mostly(all, func(o analysis.Observed) bool {
		path := o.Evidence.Path
		if len(path) == 0 || o.Evidence.Protocol != "tcp" || path[0].Data.Packets < leastPassed {
			return false
		}
		first = path[0]
		d, _ := deviceOf(s, first.In, first.Dev)
		size, mtu := first.Data.Size(), float64(d.MTU)
		return size > mtu/2 && size < min(small, 1.2*(mtu+etherHeader))
	})
	v, _ := analysis.Exceeds(all, 0, func(o analysis.Observed) (bytes, packets float64) {
		if len(o.Evidence.Path) == 0 {
			return 0, 0
		}
		return o.Evidence.Path[0].Data.Bytes, o.Evidence.Path[0].Data.Packets
	})
	return Number{lang.T("packet size"), "byte", v}, first, ok
}
