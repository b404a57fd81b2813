package engine

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/unit"
)

// A console shows the progress of a run. It asks for counters from a goroutine of its own, which
// disturbs the counting threads only for the answer.
type console struct {
	w     io.Writer
	every time.Duration // interval of lines; 0: none

	count func() (tally.Counts, bool)        // counters so far; false if there is no answer
	line  func(from, to tally.Counts) string // for an interval

	stop, done chan struct{}
	last       tally.Counts
	err        error // why the lines ended early; read it after done
}

// watch prepares the lines of the next run.
func (e events) watch(count func() (tally.Counts, bool), line func(from, to tally.Counts) string) {
	if e.console != nil {
		e.console.count, e.console.line = count, line
	}
}

// board returns the board that a console watches, or nil.
func (e events) board() *tally.Board {
	if e.console == nil {
		return nil
	}
	b := tally.NewBoard()
	e.watch(b.Ask, transactions)
	return b
}

// say prints only on a console.
func (e events) say(format string, args ...any) {
	if e.console != nil {
		_ = e.write(fmt.Sprintf(format, args...)) // if writing fails, printing the summary fails too
	}
}

// begin begins the measured window.
func (p *console) begin() {
	if p.every == 0 || p.count == nil {
		return
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.done)
		p.err = caught.Error(func() error { p.lines(); return nil })
	}()
}

func (p *console) lines() {
	lines := time.NewTicker(p.every)
	defer lines.Stop()
	for {
		select {
		case <-lines.C:
			if t, ok := p.count(); ok && t.At > p.last.At {
				p.print(t)
			}
		case <-p.stop:
			return
		}
	}
}

// end ends it. The rest since the last line gets a line of its own unless it is short.
func (p *console) end() {
	if p.stop == nil {
		return
	}
	if p.halt(); p.err != nil {
		return // the summary says why
	}
	if t, ok := p.count(); ok && time.Duration(t.At-p.last.At) > p.every/2 {
		p.print(t)
	}
}

// halt ends the lines. Call it before closing the source of their counts.
func (p *console) halt() {
	if p != nil && p.stop != nil {
		close(p.stop)
		<-p.done
		p.stop = nil
	}
}

func (p *console) print(t tally.Counts) {
	fmt.Fprintf(p.w, "%6.1f to %5.1f s  %s\n", seconds(p.last.At), seconds(t.At), p.line(p.last, t))
	p.last = t
}

func perSecond(n int64, from, to tally.Counts, what string) string {
	return unit.Format(float64(n)/seconds(to.At-from.At), what)
}

func transactions(from, to tally.Counts) string {
	return fmt.Sprintf("%s, %d lost", perSecond(to.Count-from.Count, from, to, "transaction/s"), to.Lost-from.Lost)
}

func delivery(from, to tally.Counts) string {
	return fmt.Sprintf("%s delivered, %s, %d dropped at the server's socket",
		perSecond(8*(to.Bytes-from.Bytes), from, to, "bit/s"), perSecond(to.Count-from.Count, from, to, "packet/s"), to.Lost-from.Lost)
}

// inWords returns a result as text. Every number in it is in the result, or the quotient of two.
func inWords(v any) string {
	var b strings.Builder
	b.WriteByte('\n')
	switch r := v.(type) {
	case event.TCPStream:
		summarizeTCPStream(r, &b)
	case event.UDPStream:
		summarizeUDPStream(r, &b)
	case event.UDPSearch:
		summarizeUDPSearch(r, &b)
	case event.RR:
		summarizeRR(r, &b)
	case event.Open:
		entry(&b, "offered", "%d requests, %s; %d left late", r.Offered, unit.Format(r.Rate, "1/s"), r.LateSends)
		summarizeRR(r.RR, &b)
		entry(&b, "stalls", "%d periods with response times above %v", r.Stalls, time.Duration(tally.StallBound))
	case event.CRR:
		summarizeRR(r.RR, &b)
		quantiles(&b, "connecting", r.ConnectHist)
	case event.Ping:
		entry(&b, "answered", "%d of %d requests, %d lost, %d duplicates", r.Transactions, r.Requests, r.Lost, r.Duplicates)
		quantiles(&b, "round trip", r.Hist)
	case event.Reach:
		entry(&b, "reached", "a packet of %d bytes came back whole at try %d, after %s", r.Size, r.Tries, unit.Format(r.Window, "s"))
	default:
		entry(&b, "result", "%+v", v)
	}
	return b.String()
}

func entry(b *strings.Builder, name, format string, args ...any) {
	fmt.Fprintf(b, "%-14s "+format+"\n", append([]any{name}, args...)...)
}

// perStream prints each stream's part unless there is only one.
func perStream(b *strings.Builder, bytes []int64, window float64) {
	if len(bytes) < 2 {
		return
	}
	for i, n := range bytes {
		entry(b, fmt.Sprintf("  stream %d", i+1), "%s", unit.Format(8*float64(n)/window, "bit/s"))
	}
}

func summarizeTCPStream(r event.TCPStream, b *strings.Builder) {
	entry(b, "arrived", "%s: %s in %s, read by the server's program", unit.Format(8*float64(r.Bytes)/r.Window, "bit/s"),
		unit.Format(float64(r.Bytes), "byte"), unit.Format(r.Window, "s"))
	perStream(b, r.StreamBytes, r.Window)
	entry(b, "silence", "longest time without an arrival: %s", unit.Format(r.Silence, "s"))
	entry(b, "retransmitted", "%d segments of at most %d bytes", r.Retransmits, r.MSS)
	entry(b, "congestion", "%s here, %s at the server", r.Congestion, r.FarCongestion)
	entry(b, "buffers", "%s to send, at the end; %s to receive, at the beginning", unit.Format(float64(r.SndBuf), "byte"), unit.Format(float64(r.RcvBuf), "byte"))
	if r.Send != "copy" || r.Recv != "copy" {
		entry(b, "copies", "sent by %s, received by %s", r.Send, r.Recv)
	}
}

// summarizeUDPStream prints the ladder of counts: the difference of two steps was lost between
// them.
func summarizeUDPStream(r event.UDPStream, b *strings.Builder) {
	entry(b, "delivered", "%s, %s: %s in %s", unit.Format(8*float64(r.Bytes)/r.Window, "bit/s"),
		unit.Format(float64(r.Delivered)/r.Window, "packet/s"), unit.Format(float64(r.Bytes), "byte"), unit.Format(r.Window, "s"))
	entry(b, "  offered", "%d datagrams of %d bytes", r.Offered, r.Size)
	entry(b, "  sent", "%d%s", r.Sent, lost(r.Offered-r.Sent, r.Offered, "refused by this machine"))
	entry(b, "  received", "%d%s", r.Received, lost(r.Sent-r.Received, r.Sent, "lost on the path"))
	entry(b, "  delivered", "%d%s", r.Delivered, lost(r.Received-r.Delivered, r.Sent, "dropped at the server's socket"))
	perStream(b, r.StreamBytes, r.Window)
	entry(b, "order", "%d reordered, %d duplicates", r.Reordered, r.Duplicates)
	entry(b, "jitter", "%s (RFC 3550)", unit.Format(r.Jitter, "s"))
	entry(b, "silence", "longest time without an arrival: %s", unit.Format(r.Silence, "s"))
	entry(b, "buffers", "%s to send, %s to receive", unit.Format(float64(r.SndBuf), "byte"), unit.Format(float64(r.RcvBuf), "byte"))
}

func summarizeUDPSearch(r event.UDPSearch, b *strings.Builder) {
	if r.Lower == 0 {
		entry(b, "carried", "no rate of %s or more lost at most %g %%; lower rates need a longer --phase",
			unit.Format(tally.Slowest(r.Width, time.Duration(r.Length*1e9)), "packet/s"), 100*r.Loss)
	} else {
		entry(b, "carried", "%s, %s of payload, at most %g %% lost", unit.Format(r.Lower, "packet/s"),
			unit.Format(8*float64(r.Size)*r.Lower, "bit/s"), 100*r.Loss)
	}
	if r.Upper > 0 {
		entry(b, "lost more", "at %s", unit.Format(r.Upper, "packet/s"))
	}
	switch r.Limit {
	case event.LimitSender:
		entry(b, "limit", "this end, which could not send faster: the path can carry more")
	case event.LimitTime:
		entry(b, "limit", "time was up before the bounds were within %g %%: raise --duration", 100*r.Width)
	case event.LimitPath:
		entry(b, "limit", "the path, or the server")
	}
	if r.Inverted > 0 {
		entry(b, "inversion", "%s was carried nevertheless: loss depends on more than the rate", unit.Format(r.Inverted, "packet/s"))
	}
	entry(b, "tried", "%d phases of %s in %s", len(r.Phases), unit.Format(r.Length, "s"), unit.Format(r.Window, "s"))
	entry(b, "buffers", "%s to send, %s to receive", unit.Format(float64(r.SndBuf), "byte"), unit.Format(float64(r.RcvBuf), "byte"))
}

func lost(n, of int64, how string) string {
	if n <= 0 || of <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d %s (%.3g %%)", n, how, 100*float64(n)/float64(of))
}

func summarizeRR(r event.RR, b *strings.Builder) {
	entry(b, "transactions", "%s: %d in %s, %d lost", unit.Format(float64(r.Transactions)/r.Window, "transaction/s"),
		r.Transactions, unit.Format(r.Window, "s"), r.Lost)
	if quantiles(b, "response time", r.Hist); r.PlainHist != "" {
		quantiles(b, "  unstamped", r.PlainHist)
	}
	if r.PathHist == "" {
		entry(b, "not split", "%s", strings.TrimPrefix(r.Stamps, event.NoStamps))
		return
	}
	entry(b, "parts", "from the kernel's stamps of %d requests, both directions together:", r.Stamped-r.Incomplete-r.Impossible)
	quantiles(b, "  path", r.PathHist)
	quantiles(b, "  wake-up", r.WakeHist)
	quantiles(b, "  application", r.AppHist)
}

func quantiles(b *strings.Builder, name, hist string) {
	h, err := hdrhistogram.Decode([]byte(hist))
	if err != nil || h.TotalCount() == 0 {
		entry(b, name, "no values")
		return
	}
	at := func(q float64) string { return unit.Format(seconds(h.ValueAtQuantile(q)), "s") }
	entry(b, name, "p50 %s, p90 %s, p99 %s, p99.9 %s, largest %s", at(50), at(90), at(99), at(99.9), unit.Format(seconds(h.Max()), "s"))
}

func inWordsOf(p event.Phase, v tally.Verdict) string {
	asked := "flat out"
	if p.Asked > 0 {
		asked = unit.Format(p.Asked, "packet/s")
	}
	return fmt.Sprintf("%s: %s sent, %s arrived, %.3g %% lost: %s", asked, unit.Format(p.Reached(), "packet/s"),
		unit.Format(p.Carried(), "packet/s"), 100*p.Lost(), v)
}
