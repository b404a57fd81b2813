package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var checksumErrors = Rule{
	ID:    atChecksum,
	Title: "Packets arrive with a wrong checksum",
	Doc: "The receiver's namespace dropped more than 0.1 % of the packets that reached it because the checksum of UDP or TCP was wrong (InCsumErrors in /proc/net/snmp). Something on the way changed them, or was to complete the checksum and did not." +
		majority,
	lossy: lost(atChecksum, func(_ *analysis.Table, _ *analysis.Row, l *loss) Finding {
		return Finding{
			Text:       lang.T("%s of %s packets (%s) reached %s with a wrong checksum and were dropped there", prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share), l.place),
			Remedy:     lang.T("look for what changes packets on the way, or for a device that says it computes checksums and does not (ethtool -k)"),
			Untestable: lang.T("weir cannot know what changed them"),
		}
	}),
}
