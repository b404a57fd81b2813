package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
)

var sendBuffer = Rule{
	ID:    "send-buffer",
	Title: "The send buffer limits TCP",
	Doc: "TCP had room in its window and nothing to send for more than 30 % of its busy time, because the send buffer held no more (tcpi_sndbuf_limited of tcpi_busy_time). " +
		"A smaller share has no effect that can be measured." + majority + certainly,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		share, ok := limitedBy(r, func(t *evidence.TCP) float64 { return t.SndbufLimited })
		if !ok {
			return nil
		}
		node := r.Evidence()[0].Evidence.Sender.Node
		f := Finding{Severity: Warning, Place: node, Number: &share,
			Text:   lang.T("the send buffer held TCP back for %s of its busy time", prose.PercentWithin(share.Value)),
			Remedy: lang.T("raise the sender's buffer (net.ipv4.tcp_wmem), or let it adapt: no SO_SNDBUF")}
		f.buffers(t, r, true, "sndbuf", node, "net.ipv4.tcp_wmem")
		return []Finding{f}
	}),
}
