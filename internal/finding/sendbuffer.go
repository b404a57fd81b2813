package finding

import (
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// twoPackets is the size of two packets as large as devices take at once (GSO_LEGACY_MAX_SIZE, include/linux/netdevice.h), bytes: with
// less, the sender waits for each acknowledgement, or sends smaller packets.
const twoPackets = 2 * 65536

var sendBuffer = Rule{
	ID:    "send-buffer",
	Title: "The send buffer limits TCP",
	Doc: "TCP had room in its window and nothing to send for more than 30 % of its busy time, because the send buffer held no more (tcpi_sndbuf_limited of tcpi_busy_time). " +
		"A smaller share has no effect that can be measured." + majority + certainly +
		" The kernel does not count the time that a sender waits because a buffer holds less than two large packets, 131,072 bytes. Such a setting is reported if the baseline allows at least twice as much, and TCP is slower than it, or costs more CPU time, over the whole interval, unless its congestion window ends below the 10 segments with which a connection begins: then that is smaller.",
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		share, ok := limitedBy(r, func(t *evidence.TCP) float64 { return t.SndbufLimited })
		node := r.Evidence()[0].Evidence.Sender.Node
		if !ok {
			return smallSendBuffer(t, r, node)
		}
		f := Finding{Severity: Warning, Place: node, Number: &share,
			Text:   lang.T("the send buffer held TCP back for %s of its busy time", prose.PercentWithin(share.Value)),
			Remedy: lang.T("raise the sender's buffer (net.ipv4.tcp_wmem), or let it adapt: no SO_SNDBUF")}
		f.buffers(t, r, true, "sndbuf", node, "net.ipv4.tcp_wmem")
		return []Finding{f}
	}),
}

// smallSendBuffer finds a setting that leaves the sender less than two packets, if it differs from the baseline's and TCP
// does, too.
func smallSendBuffer(t *analysis.Table, r *analysis.Row, node string) []Finding {
	const key = "net.ipv4.tcp_wmem"
	own := largestBuffer(settings(r), node, key)
	base := 0.0
	for _, o := range r.BaseEvidence() {
		base = max(base, largestBuffer(o.Settings, o.Evidence.Sender.Node, key))
	}
	if window := congestion(r.Evidence()); window > 0 && window < initialWindow {
		return nil // it holds less than the buffer
	}
	cost := r.OwnAlone()
	slower, dearer := r.Ratio.Bounded() && r.Ratio.Hi < 1, cost.Bounded() && cost.Lo > 1
	if last(r).Evidence.Protocol != "tcp" || own == 0 || own >= twoPackets || base < 2*own || record.SndBuf.In(r.Observed) || !slower && !dearer {
		return nil
	}
	f := Finding{Severity: Warning, Place: node, contrast: true, Remedy: lang.T("raise the sender's buffer (net.ipv4.tcp_wmem)")}
	if slower && strings.HasSuffix(t.Unit, "/s") {
		f.Number = &Number{lang.T("%s ÷ the baseline's", lang.Quantity(t.Metric)), "1", r.Ratio}
		f.Text = lang.T("%s lets a TCP connection hold %s bytes (net.ipv4.tcp_wmem), the baseline %s: less than two large packets; with it, %s is %s", node, prose.Thousands(own), prose.Thousands(base), lang.Quantity(t.Metric), prose.Times(r.Ratio))
		f.buffers(t, r, false, "sndbuf", node, key)
		return []Finding{f}
	}
	if !dearer {
		return nil
	}
	f.Number = &Number{lang.T("CPU time ÷ the baseline's"), "1", cost}
	f.Text = lang.T("%s lets a TCP connection hold %s bytes (net.ipv4.tcp_wmem), the baseline %s: less than two large packets; with it, CPU time %s is %s", node, prose.Thousands(own), prose.Thousands(base), perWork(r), prose.Times(cost))
	f.Test = lessCPU(r, 0.9, plan.Step{In: node, Sysctl: &plan.Sysctl{Key: key, Value: "4096 131072 33554432"}})
	return []Finding{f}
}
