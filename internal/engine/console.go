package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/unit"
)

// A console shows a person how a run goes. It asks for counters from a goroutine of its
// own, which disturbs the counting threads only for the answer.
type console struct {
	w     io.Writer
	every time.Duration // interval of lines; 0: none

	count func() (tally.Counts, bool)        // counters so far; false if there is no answer
	line  func(from, to tally.Counts) string // for an interval

	stop, done chan struct{}
	last       tally.Counts
}

// watch prepares the lines of a run that is about to begin.
func (e events) watch(count func() (tally.Counts, bool), line func(from, to tally.Counts) string) {
	if e.console != nil {
		e.console.count, e.console.line = count, line
	}
}

// board returns the board of requests and replies that a console watches, or nil.
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
	}()
}

// end ends it. What is left since the last line gets a line of its own unless it is
// short.
func (p *console) end() {
	if p.stop == nil {
		return
	}
	p.halt()
	if t, ok := p.count(); ok && time.Duration(t.At-p.last.At) > p.every/2 {
		p.print(t)
	}
}

// halt ends the lines. Call it before closing what they count with.
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

// perSecond returns the rate between two counts, formatted.
func perSecond(n int64, from, to tally.Counts, what string) string {
	return unit.Format(float64(n)/seconds(to.At-from.At), what)
}

// transactions is the line of workloads of requests and replies.
func transactions(from, to tally.Counts) string {
	return fmt.Sprintf("%s, %d lost", perSecond(to.Count-from.Count, from, to, "transaction/s"), to.Lost-from.Lost)
}

// delivery is the line of udp-stream.
func delivery(from, to tally.Counts) string {
	return fmt.Sprintf("%s delivered, %s, %d dropped at the server's socket",
		perSecond(8*(to.Bytes-from.Bytes), from, to, "bit/s"), perSecond(to.Count-from.Count, from, to, "packet/s"), to.Lost-from.Lost)
}
