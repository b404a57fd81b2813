package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

var receiveWindow = Rule{
	ID:    "receive-window",
	Title: "The receiver's window limits TCP",
	Doc: "TCP waited for the receiver's window for more than 30 % of the time in which it had data to send (tcpi_rwnd_limited of tcpi_busy_time): the receive buffer is too small for the path, or the receiving program too slow. " +
		"If that program uses 90 % of a CPU, it is the limit, and the rule is silent. A buffer smaller than the kernel's default, 131,072 bytes, is the cause even where the program waits for a CPU." + majority + certainly,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		if _, full := receiverBusy(r); full {
			return nil
		}
		share, ok := limitedBy(r, func(t *evidence.TCP) float64 { return t.RwndLimited })
		if !ok {
			return nil
		}
		node := r.Evidence()[0].Evidence.Receiver.Node
		f := Finding{Severity: Warning, Place: node, Number: &share,
			Text:   lang.T("the receiver's window held TCP back for %s of its busy time", prose.PercentWithin(share.Value)),
			Remedy: lang.T("raise the receiver's buffer (net.ipv4.tcp_rmem), or let it adapt: no SO_RCVBUF")}
		if size := float64(record.RcvBuf.Of(r.Observed)); size > 0 && size < usualTCP {
			f.Evidence, f.certain = append(f.Evidence, lang.T("the buffer has %s bytes", prose.Thousands(size))), true
		}
		f.buffers(t, r, f.certain, "rcvbuf", node, "net.ipv4.tcp_rmem")
		return []Finding{f}
	}),
}
