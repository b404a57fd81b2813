package finding

import (
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

// amplest is the largest TCP buffer that can hold back a stream on a path without delay, bytes: the kernel's
// default is 4 MB or more (tcp_init, net/ipv4/tcp.c).
const amplest = 2 << 20

// largestBuffer returns the last number of a setting of TCP's buffers in a node, bytes; 0 if unknown.
func largestBuffer(s *evidence.Settings, node, key string) float64 { return buffer(s, node, key, 2) }

// buffer returns the i-th number of such a setting: the smallest buffer, that of a new connection, the largest.
func buffer(s *evidence.Settings, node, key string, i int) float64 {
	if s == nil {
		return 0
	}
	f := strings.Fields(s.Places[node].Sysctl[key])
	if len(f) != 3 {
		return 0
	}
	n, err := strconv.ParseFloat(f[i], 64)
	if err != nil {
		return 0
	}
	return n
}

// scaling returns the setting of window scaling at the ends, "0" if one of them has none; "" if unknown.
func scaling(r *analysis.Row) (v string) {
	s := settings(r)
	if s == nil {
		return ""
	}
	for _, node := range []string{r.Evidence()[0].Evidence.Sender.Node, r.Evidence()[0].Evidence.Receiver.Node} {
		if v = s.Places[node].Sysctl["net.ipv4.tcp_window_scaling"]; v == "0" {
			return v
		}
	}
	return v
}

const (
	moderate = "net.ipv4.tcp_moderate_rcvbuf"
	rmem     = "net.ipv4.tcp_rmem"
)

// fixedBuffer reports whether a node keeps receive buffers at the size that they begin with, and that is not ample; false if
// unknown.
func fixedBuffer(r *analysis.Row, node string) bool {
	s := settings(r)
	return s != nil && s.Places[node].Sysctl[moderate] == "0" && buffer(s, node, rmem, 1) < amplest
}

// enoughThere reports whether receive buffers no larger than a row's are enough for the baseline.
func enoughThere(r *analysis.Row, most float64) bool {
	base := r.BaseEvidence()
	s := settingsOf(base)
	if s == nil {
		return false
	}
	there := largestBuffer(s, base[0].Evidence.Receiver.Node, rmem)
	share, _ := analysis.ShareExceeds(base, 0, func(o analysis.Observed) (part, busy float64) {
		if t := o.Evidence.Sender.TCP; t != nil {
			return t.RwndLimited, t.Busy
		}
		return 0, 0
	})
	return there > 0 && there <= most && share.N > 0 && share.Center < limited
}

// halved reports whether a receive buffer that grows to most bytes holds less than one large packet, and a row carries less than half of
// what the baseline does with larger ones: then the receiver's CPU is full of small packets.
func halved(r *analysis.Row, most float64) bool {
	base := r.BaseEvidence()
	s := settingsOf(base)
	return most > 0 && most < twoPackets/2 && s != nil && largestBuffer(s, base[0].Evidence.Receiver.Node, rmem) >= twoPackets &&
		r.Ratio.Bounded() && r.Ratio.Hi < 0.5
}

// waitsToRead reports whether the receiving program waits for a CPU instead of emptying its buffer.
func waitsToRead(r *analysis.Row) bool {
	share, _ := analysis.ShareExceeds(r.Evidence(), waited, func(o analysis.Observed) (wait, window float64) {
		return o.Evidence.Receiver.Wait, o.Evidence.Window * threads(o)
	})
	return share.N > 0 && share.Center > waited
}

var receiveWindow = Rule{
	ID:    "receive-window",
	Title: "The receiver's window limits TCP",
	Doc: "TCP waited for the receiver's window for more than 30 % of the time in which it had data to send (tcpi_rwnd_limited of tcpi_busy_time): the receive buffer is too small for the path, or the receiving program too slow. " +
		"If that program uses 90 % of a CPU, it is the limit, and the rule is silent, unless the buffer cannot hold one large packet, 65,536 bytes, the baseline's can, and throughput is less than half of it: then small packets fill that CPU. A buffer smaller than the kernel's default, 131,072 bytes or at most 2 MB after growing, buffers that do not grow, or window scaling that is off, is the cause even where the program waits for a CPU; with a larger one, or one that is enough for the baseline, the program reads too slowly or something bounds the window, such as a route, and which is not known: where it waits for a CPU for more than 20 % of the time, nothing is said." + majority + certainly,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		node := r.Evidence()[0].Evidence.Receiver.Node
		most := largestBuffer(settings(r), node, rmem)
		if _, full := receiverBusy(r); full && !halved(r, most) {
			return nil
		}
		share, ok := limitedBy(r, func(t *evidence.TCP) float64 { return t.RwndLimited })
		if !ok {
			return nil
		}
		f := Finding{Severity: Warning, Place: node, Number: &share,
			Text: lang.T("the receiver's window held TCP back for %s of its busy time", prose.PercentWithin(share.Value))}
		size := float64(record.RcvBuf.Of(r.Observed))
		switch {
		case scaling(r) == "0":
			f.certain = true
			f.Text += lang.T(": window scaling is off, so no window is larger than 64 kB")
			f.Remedy = lang.T("switch window scaling on at both ends (net.ipv4.tcp_window_scaling)")
			if t.Metric == record.Throughput {
				f.Test = &Test{Text: lang.T("Refuted if window scaling adds less than 2 % throughput"), Metric: t.Metric, Factor: 1.02, Whole: true}
				for _, in := range []string{r.Evidence()[0].Evidence.Sender.Node, node} {
					f.Test.Fix = append(f.Test.Fix, plan.Step{In: in, Sysctl: &plan.Sysctl{Key: "net.ipv4.tcp_window_scaling", Value: "1"}})
				}
			}
			return []Finding{f}
		case size == 0 && fixedBuffer(r, node):
			f.certain = true
			f.Text += lang.T(": no receive buffer of its node grows (net.ipv4.tcp_moderate_rcvbuf is 0)")
			f.Remedy = lang.T("let receive buffers adapt: sysctl net.ipv4.tcp_moderate_rcvbuf=1")
			if t.Metric == record.Throughput {
				f.Test = &Test{Text: lang.T("Refuted if larger buffers add less than 2 % throughput"), Metric: t.Metric, Factor: 1.02, Whole: true,
					Fix: []plan.Step{{In: node, Sysctl: &plan.Sysctl{Key: moderate, Value: "1"}}}}
			}
			return []Finding{f}
		case size > 0 && size < usualTCP:
			f.certain = true
			f.Text += lang.T(": its buffer has %s bytes", prose.Thousands(size))
		case most > 0 && most < amplest && !enoughThere(r, most):
			f.certain = true
			f.Text += lang.T(": its buffer can grow to %s bytes", prose.Thousands(most))
		case most > 0: // the buffer is as large as usual: who does not empty it is not known
			if waitsToRead(r) {
				return nil
			}
			f.Text += lang.T(", although its buffer can grow to %s bytes: whether its program reads too slowly, or something bounds its window, such as a route, is not known", prose.Thousands(most))
			f.Remedy = lang.T("look at what the receiving program waits for, and for a window in ip route show")
			f.Untestable = lang.T("weir cannot make the receiving program read faster, or know what bounds the window")
			return []Finding{f}
		}
		f.Remedy = lang.T("raise the receiver's buffer (net.ipv4.tcp_rmem), or let it adapt: no SO_RCVBUF")
		f.buffers(t, r, size > 0 && size < usualTCP, "rcvbuf", node, rmem)
		return []Finding{f}
	}),
}
