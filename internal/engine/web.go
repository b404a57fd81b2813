package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// An exchanger makes one exchange after another in a protocol of package web.
type exchanger interface {
	// exchange returns when the answer has come and was right.
	exchange() (exchanged, error)
	close()
}

// exchanged is what an exchange tells besides its duration.
type exchanged struct {
	connect   int64 // ns until the connection stood; 0: it stood before
	handshake int64 // ns of TLS
	resumed   bool  // its session
	renewed   bool  // the server had ended the connection before, so the exchange made a new one
	lost      bool  // no answer came
	bytes     int   // of the answer's body; 0 for DNS
}

// A webRun has exchangers that each have one request in flight: back to back, or on a schedule that they share.
type webRun struct {
	c         config
	stop      *sock.Stopper
	each      []exchanger
	threads   bool // each on one of its own, with blocking sockets
	datagrams bool // over UDP
	failed    atomic.Bool
	mu        sync.Mutex // guards what follows
	book      tally.Ledger
	connect   tally.Ledger
	handshake tally.Ledger
	result    event.Web
	ended     int64 // the last exchange
}

func newWebRun(c config, s *sock.Stopper) *webRun {
	return &webRun{c: c, stop: s, book: tally.NewLedger(1, 0), connect: tally.NewLedger(1, 0), handshake: tally.NewLedger(1, 0)}
}

func runWeb(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	dial := c
	dial.rate = 0
	t, err := dialTCP(ctx, dial, s) // the server serves the protocol while this connection is open
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	defer runtime.GC() // nothing is measured now
	w := newWebRun(c, s)
	w.c.CC, w.result.Congestion, w.result.FarCongestion = t.cc, t.cc, t.far.CC
	defer w.close()
	if err = w.prepare(ctx, t); err == nil {
		err = w.measure(func() (wire.Reading, error) { return t.reading(w.c, w.stop) }, out)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: %s %v: %w", c.Workload, c.server, err)
	}
	return w.result, nil
}

func (w *webRun) close() {
	for _, x := range w.each {
		x.close()
	}
}

// measure measures for the duration. reading asks what the server has used since it was asked before.
func (w *webRun) measure(reading func() (wire.Reading, error), out events) error {
	if err := w.all(w.c.Warmup, false); err != nil {
		return err
	}
	if _, err := reading(); err != nil {
		return err
	}
	out.begin()
	begin, before := sock.Now(), sock.ProcessReading()
	if err := w.all(w.c.Duration, true); err != nil {
		return err
	}
	used := sock.ProcessReading().Since(before)
	out.end()
	server, err := reading()
	if err != nil {
		return err
	}
	return w.finish(max(w.ended-begin, int64(w.c.Duration)), used, server)
}

// finish completes the result of a window, ns.
func (w *webRun) finish(window int64, used, server wire.Reading) (err error) {
	a := asker{c: w.c, book: w.book, inflight: len(w.each)}
	cc, farCC := w.result.Congestion, w.result.FarCongestion
	if w.datagrams {
		cc, farCC = "", ""
	}
	if w.result.RR, err = a.result(window); err != nil {
		return err
	}
	r := &w.result
	r.Own, r.Congestion, r.FarCongestion = own(used, server, false), cc, farCC
	r.Rate, r.Stalls, r.Sizes = w.c.rate, w.book.Stalls, w.c.sizes.String()
	r.Stamps = event.NoStamps + "a library sends and receives"
	for to, h := range map[*string]tally.Ledger{&r.ConnectHist: w.connect, &r.HandshakeHist: w.handshake} {
		if h.Answered == 0 {
			continue
		}
		if *to, err = event.EncodeHist(h.Hist); err != nil {
			return err
		}
	}
	return nil
}

// all lets all exchangers work for d, and for one exchange at least, and returns the first error.
func (w *webRun) all(d time.Duration, measured bool) error {
	begin := sock.Now()
	var g errgroup.Group
	for i := range w.each {
		work := func() error {
			err := w.work(i, begin, int64(d), measured)
			if err != nil {
				w.failed.Store(true)
			}
			return err
		}
		g.Go(func() error {
			if w.threads {
				return <-sock.OnThread(work)
			}
			return caught.Error(work)
		})
	}
	return g.Wait()
}

// work lets the ith exchanger work.
func (w *webRun) work(i int, begin, d int64, measured bool) error {
	interval := 0.0 // of the schedule that all share
	if w.c.rate > 0 {
		interval = 1e9 / w.c.rate
	}
	for k := i; ; k += len(w.each) {
		start := sock.Now()
		due := begin + int64(float64(k)*interval)
		switch {
		case w.failed.Load(): // another one, which says why
			return nil
		case w.stop.Stopped():
			return sock.ErrStopped
		case interval > 0 && due >= begin+d:
			return nil
		case interval > 0:
			start = w.await(due)
			if left := w.scheduled(k, start, due, begin+d, interval, measured); left {
				return nil
			}
		case start >= begin+d && k > i:
			return nil
		}
		x, err := w.each[i].exchange()
		if err != nil {
			return err
		}
		if interval > 0 {
			start = due
		}
		if err := w.enter(x, start, measured); err != nil {
			return err
		}
	}
}

// scheduled counts the kth request of the schedule, which leaves at t. It reports whether the window is over: this request
// and those after it never leave.
func (w *webRun) scheduled(k int, t, due, end int64, interval float64, measured bool) (over bool) {
	if !measured {
		return t >= end
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int64(1)
	if over = t >= end; over {
		n = int64(math.Ceil(float64(end-due) / interval / float64(len(w.each))))
	}
	w.result.Offered += n
	if float64(t-due) > interval {
		w.result.LateSends += n
	}
	return over
}

// await returns at t, or as soon as possible after it.
func (w *webRun) await(t int64) int64 {
	for now := sock.Now(); ; now = sock.Now() {
		switch left := t - now; {
		case left <= 0 || w.stop.Stopped() || w.failed.Load():
			return now
		case left > sock.SpinBelow && w.threads:
			sock.HotNap(time.Duration(min(left-sock.SpinBelow, int64(sock.Tick))))
		case left > sock.SpinBelow:
			time.Sleep(time.Duration(min(left-sock.SpinBelow, int64(sock.Tick))))
		}
	}
}

// enter counts an exchange that began at start and is over.
func (w *webRun) enter(x exchanged, start int64, measured bool) error {
	t := sock.Now()
	if !measured {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = max(w.ended, t)
	if x.renewed {
		w.result.Renewed++
	}
	if x.resumed {
		w.result.Resumed++
	}
	slot := tally.Slot{Start: start, Sent: start, Measured: true, Sample: -1}
	if x.lost {
		w.book.Requests++
		w.book.Lost++
		return nil
	}
	if w.c.sizes.Mean() > 0 {
		w.result.Bytes += int64(x.bytes)
	}
	err := w.book.Enter(slot, t)
	for _, part := range [...]struct {
		book *tally.Ledger
		ns   int64
	}{{&w.connect, x.connect}, {&w.handshake, x.handshake}} {
		if part.ns > 0 && !x.renewed {
			slot.Start = t - part.ns
			err = errors.Join(err, part.book.Enter(slot, t))
		}
	}
	return err
}
