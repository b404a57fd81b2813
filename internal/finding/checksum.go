package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var checksumOff = Rule{
	ID:    "checksum-off",
	Title: "A device does not compute checksums",
	Doc: "A device without a tx-checksum feature for IP cannot segment either (netdev_fix_features, net/core/dev.c): the kernel computes checksums and cuts packets before it. " +
		"The rule reports it where TCP's packets are of wire size from that device on (see no-segmentation and segmentation-lost, which follow from it). Without that effect the cost of a checksum is too small to tell, so UDP is left out." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		size, at, ok := unsegmented(r)
		if c := cutAt(r); !ok && c != nil {
			size, at, ok = c.times, c.after, true
		}
		s := settings(r)
		off := checksums(s, at)
		if !ok || len(off) == 0 || byPlan(s, at, off) || t.Config["offload"] == "off" || loaded(t) {
			return nil
		}
		f := Finding{Severity: Note, Place: at.In + " " + at.Dev, Number: &size,
			Text: lang.T("the kernel computes checksums and segments before %s %s: %s B per packet there", at.In, at.Dev, prose.Thousands(at.Data.Size()))}
		f.switchOn(r, at, append(off, segmenting(s, last(r).Evidence, at)...))
		return []Finding{f}
	}),
}
