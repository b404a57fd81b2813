package engine

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
)

// An asker is the client of request/response: what TCP and UDP have in common.
type asker struct {
	c       config
	stop    *stopper
	sock    *stampedSocket
	book    ledger
	samples samples
	stamps  string   // how stamps are taken, or "none: " and why not
	every   int64    // ns from one burst of stamped requests to the next; 0 is no stamps
	next    int64    // when the next burst begins
	burst   int      // requests that are left of this one
	read    int64    // when the last message was
	heed    int      // requests until no reply to a stamped one can be outstanding
	answers []answer // that are not recorded yet
	free    []int    // slots of a closed loop
	board   *board   // nil when nobody watches
	began   int64    // the measured window
	places  [2]place // where client and server spin

	// send sends the request of a slot. start is from when on its response time
	// counts.
	send func(slot int, start int64, measured bool) error
	// receive reads once, and returns the slots that became free. They are valid
	// until the next call. The answers are to be recorded.
	receive func(flags int) ([]int, error)
}

func newAsker(c config, s *stopper, fd, slots int) *asker {
	return &asker{c: c, stop: s, sock: newStampedSocket(fd, nil), samples: newSamples(), book: newLedger(slots, 0)}
}

// stamp turns stamping on, unless there is a reason not to.
func (a *asker) stamp(not string) {
	switch {
	case a.c.stampEvery == 0:
		not = "they were not asked for"
	case not == "":
		if err := a.sock.stampOn(); err != nil {
			not = err.Error()
		}
	}
	if not != "" {
		a.stamps = "none: " + not
		return
	}
	a.every = (1 + stampBurst) * max(int64(a.c.stampEvery), int64(a.c.Duration)/maxSamples)
	a.stamps = fmt.Sprintf("SCHED and RX_SOFTWARE, %d requests every %v", stampBurst, time.Duration(a.every).Round(time.Microsecond))
}

// due reports whether a request at t is to be marked, whose reply is then stamped as
// well, and whether it is to be a sample. The first of a burst is none: from it the
// server learns to read the stamp of the next.
func (a *asker) due(t int64, measured bool) (marked, sample bool) {
	if a.burst == 0 && measured && a.every > 0 && t >= a.next && !a.samples.full() {
		a.burst, a.next = stampBurst+1, t+a.every
	}
	if a.burst == 0 {
		a.heed = max(a.heed-1, 0)
		return false, false
	}
	a.burst--
	a.heed = len(a.book.slots)
	return true, a.burst < stampBurst && !a.samples.full()
}

// heeds reports whether the stamp of the next reply is to be read: it may answer a
// sample, or show for the first time that the kernel stamps. To look for a message
// with a stamp takes a fifth longer than without.
func (a *asker) heeds() bool { return a.every > 0 && (a.heed > 0 || !a.sock.live) }

// enter keeps a request that was sent at start with a stamp of a number.
func (a *asker) enter(x slot, id uint32) {
	a.samples.add(sample{seq: x.seq, id: id})
	if !a.c.Spin { // there is time until the reply comes
		a.samples.list[x.sample].start = wall(x.start)
		a.samples.collect(a.sock)
	}
}

// An answer is a reply to a request.
type answer struct {
	slot
	read int64 // when
	rx   int64 // when the kernel got it, see stampedSocket
}

// record enters the answers. In a closed loop there is time for that when the next
// requests are on their way; before, it would be a part of every response time.
func (a *asker) record() error {
	for _, x := range a.answers {
		if err := a.book.record(x.slot, x.read); err != nil {
			return err
		}
		if x.sample >= 0 {
			s := &a.samples.list[x.sample]
			s.rx, s.got, s.rtt = x.rx, wall(x.read), x.read-x.start
			s.start = s.got - s.rtt
			a.samples.collect(a.sock)
		}
	}
	a.answers = a.answers[:0]
	return nil
}

// settle gives a client that spins a CPU that is not the server's.
func (a *asker) settle(far *place) error {
	if !a.c.Spin {
		return nil
	}
	if far == nil {
		return fmt.Errorf("spin: the server does not say where it spins")
	}
	var err error
	if a.places[0], _, err = settle(true); err != nil {
		return err
	}
	a.places[1] = *far
	return apart(a.places[0], a.places[1])
}

// flags are those of reading while there is nothing else to do.
func (a *asker) flags() int {
	if a.c.Spin {
		return unix.MSG_DONTWAIT
	}
	return 0
}

// closed keeps every slot busy through the warm-up, and then for the duration,
// which the last requests may outlast. It must run on a thread of its own.
func (a *asker) closed(out events) (r event.RR, err error) {
	for i := range a.book.slots {
		a.free = append(a.free, i)
	}
	err = a.warmUp(func(d time.Duration) error { return a.keepBusy(now()+int64(d), false) })
	if err != nil {
		return r, err
	}
	if err := out.begin(); err != nil {
		return r, err
	}
	a.began = now()
	if err := a.keepBusy(a.began+int64(a.c.Duration), true); err != nil {
		return r, err
	}
	window := now() - a.began
	a.board.close(a.tally(now()))
	if err := out.end(); err != nil {
		return r, err
	}
	return a.result(window)
}

// warmUp makes traffic for the warm-up, and on until there are stamps.
func (a *asker) warmUp(traffic func(time.Duration) error) (err error) {
	if a.c.Warmup > 0 {
		err = traffic(a.c.Warmup)
	}
	for end := now() + int64(stampPatience); err == nil && a.every > 0 && !a.sock.live && now() < end; {
		err = traffic(time.Millisecond)
	}
	return err
}

// pollsPerLook is how often a spinning end looks for a message before it looks at
// the clock, which takes a third as long: some 10 µs in all.
const pollsPerLook = 64

// keepBusy sends until a time, at least once, and returns when no request is
// outstanding.
func (a *asker) keepBusy(until int64, measured bool) error {
	silent := now()                  // since when there was no reply
	look := silent + int64(askEvery) // when to look for lost requests
	polls := 0                       // without a reply
	start := silent                  // of the next request, 0 when that is not known
	for t := silent; ; {
		for ; len(a.free) > 0; start = 0 {
			if start == 0 {
				start = now()
			}
			last := len(a.free) - 1
			if err := a.send(a.free[last], start, measured); err != nil {
				return err
			}
			a.free = a.free[:last]
		}
		for len(a.free) == 0 || t >= until {
			if err := a.record(); err != nil {
				return err
			}
			freed, err := a.receive(a.flags())
			if err != nil {
				return err
			}
			a.free = append(a.free, freed...)
			if polls++; len(freed) == 0 && a.c.Spin && polls%pollsPerLook != 0 {
				continue
			}
			if t = a.read; len(freed) > 0 {
				silent, polls, start = t, 0, t
			} else {
				t = now()
			}
			if t > look {
				look, start = t+int64(askEvery), 0
				a.free = a.expire(a.free, t)
				a.tell()
			}
			switch {
			case a.stop.stopped():
				return errStopped
			case t >= until && len(a.free) == len(a.book.slots):
				return a.record()
			case t-silent > int64(a.c.timeout):
				return fmt.Errorf("no reply for %v: %w", a.c.timeout, errSilent)
			}
		}
	}
}

// tally is what has been counted by a time.
func (a *asker) tally(t int64) tally {
	return tally{At: t - a.began, Count: a.book.answered, Lost: a.book.lost}
}

// tell answers who watches, if anybody does.
func (a *asker) tell() {
	if a.board.wanted() {
		a.board.post(a.tally(now()))
	}
}

// watch lets out watch the run, when it is for people.
func (a *asker) watch(out events) {
	if out.people != nil {
		a.board = newBoard()
		out.watch(a.board.ask, transactions)
	}
}

// expire gives up the requests that are lost at t, and appends their slots to free.
func (a *asker) expire(free []int, t int64) []int {
	for i := range a.book.slots {
		if a.book.expired(i, t) {
			a.book.lose(i)
			free = append(free, i)
		}
	}
	return free
}

// result is what both loops end with; the split is added when the server has
// told its part.
func (a *asker) result(window int64) (r event.RR, err error) {
	if a.book.answered == 0 {
		return r, fmt.Errorf("none of %d requests was answered within %v", a.book.requests, event.ReplyTimeout)
	}
	r.Head = event.NewHead(a.c.Workload, a.c.server.String(), a.c.Size, time.Duration(window))
	r.Requests, r.Transactions, r.Lost, r.Late = a.book.requests, a.book.answered, a.book.lost, a.book.late
	r.Inflight, r.Wait = len(a.book.slots), "blocking"
	if a.c.Spin {
		r.Wait, r.CPU, r.FarCPU = "spinning", &a.places[0].CPU, &a.places[1].CPU
	}
	r.Hist, err = event.EncodeHist(a.book.hist)
	return r, err
}

// split completes r with what the server says of the samples.
func (a *asker) split(r *event.RR, far []farSample) (err error) {
	r.Stamps, r.Stamped = a.stamps, int64(len(a.samples.list))
	if a.every == 0 {
		return nil
	}
	p := a.samples.join(far)
	r.Incomplete, r.Impossible = p.incomplete, p.impossible
	if p.path.TotalCount() == 0 {
		r.Stamps = "none: no stamped request has a plausible stamp of every step"
		return nil
	}
	for to, h := range map[*string]*hdrhistogram.Histogram{&r.StampedHist: p.whole, &r.PathHist: p.path, &r.WakeHist: p.wake, &r.AppHist: p.app} {
		if *to, err = event.EncodeHist(h); err != nil {
			return err
		}
	}
	return nil
}
