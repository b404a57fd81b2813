package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// Buffers that are smaller than the kernel's default are the cause even where an end waits for a CPU, bytes:
// net.core.rmem_default (SK_RMEM_MAX, include/net/sock.h) and the middle of net.ipv4.tcp_rmem (tcp_init,
// net/ipv4/tcp.c).
const (
	usualUDP = 212992
	usualTCP = 131072
)

var socketBuffer = Rule{
	ID:    atSocket,
	Title: "The receiver's socket buffer drops datagrams",
	Doc: "More than 0.1 % of datagrams that found the receive buffer of their socket full (RcvbufErrors). The counter counts nothing else, so little is enough. " +
		"If the receiving program uses 90 % of a CPU, it is slower than the sender, and no buffer helps. A buffer smaller than the kernel's default, 212,992 bytes, is the cause even where the program waits for a CPU." + majority,
	lossy: lost(atSocket, func(_ *analysis.Table, r *analysis.Row, l *loss) Finding {
		f := Finding{
			Text:   lang.T("the receive buffer in %s was full: it dropped %s of %s datagrams (%s)", l.place, prose.Thousands(l.lost), prose.Thousands(l.of), prose.PercentWithin(l.Share)),
			Remedy: lang.T("give the socket a larger receive buffer"),
		}
		if size, ok := record.RcvBuf.Get(r.Observed); ok {
			f.Evidence = append(f.Evidence, lang.T("the buffer has %s bytes", prose.Thousands(float64(size))))
			f.certain = size < usualUDP
		}
		if busy, full := receiverBusy(r); full {
			f.Text += lang.T("; its program used %s of a CPU: it is slower than the sender", prose.PercentWithin(busy))
			f.Remedy = lang.T("give the receiver more CPU time, or send less")
			return f
		}
		// The engine asks for this size by itself, and the kernel can grant less: only a smaller buffer grows.
		if size := float64(record.RcvBuf.Of(r.Observed)); record.Tool.Of(r.Observed) == record.Engine && size > 0 && size < 2*usualUDP {
			f.Test = &Test{Options: map[string]string{"rcvbuf": "4194304"}}
		}
		return f
	}),
}
