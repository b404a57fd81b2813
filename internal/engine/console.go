package engine

import (
	"fmt"
	"io"
	"time"

	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/unit"
)

// people tells a person of a run while it is on. It asks for counters from a
// goroutine of its own; those who count are not disturbed but for the answer.
type people struct {
	w     io.Writer
	every time.Duration // from one line to the next; 0 is none

	count func() (tally.Counts, bool)        // what has been counted; false when nobody answers
	line  func(from, to tally.Counts) string // of an interval

	stop, done chan struct{}
	last       tally.Counts
}

// watch prepares the lines of a run that is about to begin.
func (e events) watch(count func() (tally.Counts, bool), line func(from, to tally.Counts) string) {
	if e.people != nil {
		e.people.count, e.people.line = count, line
	}
}

// say prints for people alone.
func (e events) say(format string, args ...any) {
	if e.people != nil {
		_ = e.write(fmt.Sprintf(format, args...)) // what is measured is the summary's to fail with
	}
}

// begin begins the measured window.
func (p *people) begin() {
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
				p.next()
			case <-p.stop:
				return
			}
		}
	}()
}

// end ends it. What is left since the last line gets one of its own, unless it is
// short.
func (p *people) end() {
	if p.stop == nil {
		return
	}
	p.halt()
	if t, ok := p.count(); ok && time.Duration(t.At-p.last.At) > p.every/2 {
		p.print(t)
	}
}

// halt ends the lines. It must come before what they count with is closed.
func (p *people) halt() {
	if p != nil && p.stop != nil {
		close(p.stop)
		<-p.done
		p.stop = nil
	}
}

func (p *people) next() {
	if t, ok := p.count(); ok && t.At > p.last.At {
		p.print(t)
	}
}

func (p *people) print(t tally.Counts) {
	fmt.Fprintf(p.w, "%6.1f to %5.1f s  %s\n", seconds(p.last.At), seconds(t.At), p.line(p.last, t))
	p.last = t
}

// perSecond returns a rate between two tallies, for reading.
func perSecond(n int64, from, to tally.Counts, what string) string {
	return unit.Format(float64(n)/seconds(to.At-from.At), what)
}

// transactions is the line of workloads that are made of requests and replies.
func transactions(from, to tally.Counts) string {
	return fmt.Sprintf("%s, %d lost", perSecond(to.Count-from.Count, from, to, "transaction/s"), to.Lost-from.Lost)
}

// delivery is that of udp-stream.
func delivery(from, to tally.Counts) string {
	return fmt.Sprintf("%s delivered, %s, %d dropped at the server's socket",
		perSecond(8*(to.Bytes-from.Bytes), from, to, "bit/s"), perSecond(to.Count-from.Count, from, to, "packet/s"), to.Lost-from.Lost)
}
