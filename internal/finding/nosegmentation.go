package finding

import (
	"fmt"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
)

var noSegmentation = Rule{
	ID:    "no-segmentation",
	Title: "The sender's device gets packets of wire size",
	Doc: "A bulk TCP sender hands its first device packets of tens of kB if that device segments. The rule reports one segment per packet: less than 3,000 bytes, and between half and 1.2 times the device's MTU, " +
		"with a feature off there that would allow more. Every packet then pays for the whole path. Small writes have smaller packets and are left out, and so are runs whose study switches offloads off." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		size, first, ok := unsegmented(r)
		off := segmenting(settings(r), first)
		if !ok || len(off) == 0 || t.Config["offload"] == "off" {
			return nil
		}
		f := Finding{Severity: Note, Place: first.In + " " + first.Dev, Number: &size,
			Text: fmt.Sprintf("the sender's kernel segments: %s %s gets %s B per packet", first.In, first.Dev, count(size.Value.Center))}
		f.switchOn(r, first, off)
		return []Finding{f}
	}),
}

// unsegmented returns the mean packet size on the path's first device, false if its packets stand for many.
func unsegmented(r *analysis.Row) (size Number, first evidence.Hop, ok bool) {
	s := settings(r)
	v, ok := analysis.Exceeds(r.Evidence(), 0, func(o analysis.Observed) (bytes, packets float64) {
		path := o.Evidence.Path
		if len(path) == 0 || o.Evidence.Protocol != "tcp" || path[0].Data.Packets < leastPassed {
			return 0, 0
		}
		first = path[0]
		d, _ := deviceOf(s, first.In, first.Dev)
		if size, mtu := first.Data.Size(), float64(d.MTU); size > mtu/2 && size < min(small, 1.2*(mtu+etherHeader)) {
			bytes = first.Data.Bytes
		}
		return bytes, first.Data.Packets
	})
	return Number{"packet size", "byte", v}, first, ok
}
