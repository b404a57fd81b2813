package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const (
	// stampEvery is the mean time between two stamped requests, if there are enough requests. A
	// stamp takes 1 to 2 µs at each end, so stamping all would slow down the measurement; 2000 per
	// second suffice for a distribution.
	stampEvery = 500_000 // ns
	// stampBurst is how many requests in a row are stamped. A single one would run cold code, at
	// twice the extra cost.
	stampBurst = 16
	// stampPatience extends the warm-up if no stamp has come by its end: the kernel starts stamping
	// on a thread of its own, once that gets a CPU (net_enable_timestamp, net/core/dev.c).
	stampPatience = 500 * time.Millisecond
)

// An asker is the client of request/response workloads, common to TCP and UDP.
type asker struct {
	c       config
	stop    *sock.Stopper
	sock    *sock.Stamped
	seq     uint64 // of the next request
	book    tally.Ledger
	samples tally.Samples
	stamps  string   // how stamps are taken, or event.NoStamps and why not
	every   int64    // ns between bursts of stamped requests; 0: no stamps
	next    int64    // when the next burst begins
	burst   int      // requests left of this one
	read    int64    // when the last message was read
	heed    int      // requests until no stamped one can be outstanding
	answers []answer // not recorded yet
	free    []int    // slots of a closed loop
	// inflight is how many requests a closed loop waits for at once; overdue ones add to those outstanding.
	inflight int
	patience tally.Patience
	places   [2]wire.Core // where client and server spin
	gauge    *sock.Gauge
	used     wire.Reading   // by this thread and its connection in the measured window
	farEdges []wire.Reading // of the server's thread, at the marks

	// mark makes the server read its gauge at the beginning or end of the measured window.
	mark func(end bool) error

	// send sends the request of a slot. Its response time counts from start.
	send func(slot int, start int64, measured bool) error
	// receive reads once, adds to answers, and returns the slots that became free, valid until the
	// next call.
	receive func(flags int) ([]int, error)
}

func newAsker(c config, s *sock.Stopper, fd, inflight, slots int) *asker {
	return &asker{c: c, stop: s, sock: sock.NewStamped(fd, nil), samples: tally.NewSamples(), book: tally.NewLedger(slots, 0),
		inflight: inflight, patience: tally.NewPatience()}
}

// stamp turns stamping on unless there is a reason not to.
func (a *asker) stamp(not string) {
	switch {
	case a.c.stampEvery == 0:
		not = "they were not asked for"
	case not == "":
		if err := a.sock.TurnOn(); err != nil {
			not = err.Error()
		}
	}
	if not != "" {
		a.stamps = event.NoStamps + not
		return
	}
	a.every = (1 + stampBurst) * max(int64(a.c.stampEvery), int64(a.c.Duration)/tally.MaxSamples)
	a.stamps = fmt.Sprintf("SCHED and RX_SOFTWARE, %d requests every %v", stampBurst, time.Duration(a.every).Round(time.Microsecond))
}

// request returns the next request. A marked one tells the server to stamp the reply. The first of a
// burst is not a sample: it makes the server read the stamp of the next.
func (a *asker) request(start int64, measured bool) tally.Slot {
	x := tally.Slot{Seq: a.seq, Start: start, Sent: start, Measured: measured, Sample: -1}
	a.seq++
	if a.burst == 0 && measured && a.every > 0 && start >= a.next && !a.samples.Full() {
		a.burst, a.next = stampBurst+1, start+a.every
	}
	if a.burst == 0 || !measured { // the last request, with the mark, can follow half a burst
		a.heed = max(a.heed-1, 0)
		return x
	}
	a.burst--
	x.Marked = true
	a.heed = a.inflight
	if a.burst < stampBurst && !a.samples.Full() {
		x.Sample = len(a.samples.List)
	}
	return x
}

// heeds reports whether to read the stamp of the next reply, which can answer a sample or show for
// the first time that the kernel stamps. Looking for a stamp takes a fifth longer.
func (a *asker) heeds() bool { return a.every > 0 && (a.heed > 0 || !a.sock.Live) }

// enter adds a request, sent with a stamp of a number, to the samples.
func (a *asker) enter(x tally.Slot, id uint32) {
	a.samples.Add(tally.Sample{Seq: x.Seq, ID: id})
	if !a.c.Spin { // there is time before the reply
		a.samples.List[x.Sample].Start = sock.Wall(x.Start)
		a.samples.Collect(a.sock)
	}
}

// An answer is a reply to a request.
type answer struct {
	tally.Slot
	read int64 // when
	rx   int64 // when the kernel received it, see sock.Stamped
}

// record enters the answers. A closed loop calls it once the next requests are under way, to keep
// it out of the response times.
func (a *asker) record() error {
	for _, x := range a.answers {
		if err := a.book.Record(x.Slot, x.read); err != nil {
			return err
		}
		a.patience.Heard(x.read - x.Start)
		if x.Sample >= 0 {
			s := &a.samples.List[x.Sample]
			s.Rx, s.Got, s.RTT = x.rx, sock.Wall(x.read), x.read-x.Start
			s.Start = s.Got - s.RTT
			a.samples.Collect(a.sock)
		}
	}
	a.answers = a.answers[:0]
	return nil
}

// settle gives a client that spins a CPU other than the server's.
func (a *asker) settle(far *wire.Core) error {
	if !a.c.Spin {
		return nil
	}
	if far == nil {
		return fmt.Errorf("spin: the server does not report its CPU")
	}
	var err error
	if a.places[0], _, err = sock.Settle(true); err != nil {
		return err
	}
	a.places[1] = *far
	return sock.DistinctCPUs(a.places[0], a.places[1])
}

// flags returns the flags for reading while there is nothing else to do.
func (a *asker) flags() int {
	if a.c.Spin {
		return unix.MSG_DONTWAIT
	}
	return 0
}

// perform measures on a thread of its own, and splits the response times by the stamps that fetch
// gets from the server, which spins at far.
func (a *asker) perform(far *wire.Core, measure func() error, fetch func() ([]tally.FarSample, error), r *event.RR) error {
	tcp := strings.HasPrefix(a.c.Workload, "tcp-")
	err := <-sock.OnThread(func() error {
		if err := a.settle(far); err != nil {
			return err
		}
		conn := -1
		if tcp {
			conn = a.sock.FD
		}
		a.gauge = sock.NewGauge(conn)
		defer a.gauge.Close()
		return measure()
	})
	if err != nil {
		return err
	}
	samples, err := fetch()
	if err != nil {
		return err
	}
	var server wire.Reading
	if len(a.farEdges) == 2 {
		server = a.farEdges[1].Since(a.farEdges[0])
	}
	if err := server.Check(); err != nil {
		return fmt.Errorf("impossible: the server's %w", err)
	}
	r.Own = own(a.used, server, tcp)
	return a.split(r, samples)
}

// measure makes traffic for the warm-up, then until there are stamps, then for the duration, and
// returns how long that took, ns.
func (a *asker) measure(out events, traffic func(d time.Duration, measured bool) error) (window int64, err error) {
	if a.c.Warmup > 0 {
		err = traffic(a.c.Warmup, false)
	}
	for end := sock.Now() + int64(stampPatience); err == nil && a.sock.On && !a.sock.Live && sock.Now() < end; {
		err = traffic(time.Millisecond, false)
	}
	if err == nil {
		err = a.mark(false)
	}
	if err != nil {
		return 0, err
	}
	out.begin()
	began, before := sock.Now(), a.gauge.Read()
	if err := traffic(a.c.Duration, true); err != nil {
		return 0, err
	}
	window, a.used = sock.Now()-began, a.gauge.Read().Since(before)
	out.end()
	return window, nil
}

// result returns the results common to both loops; split completes it with the server's stamps.
func (a *asker) result(window int64) (r event.RR, err error) {
	if a.book.Answered == 0 && !a.patience.Known() { // otherwise it is a stall
		return r, fmt.Errorf("none of %d requests was answered within %v", a.book.Requests, event.ReplyTimeout)
	}
	r.Head = event.NewHead(a.c.Workload, a.c.server.String(), a.c.Size, time.Duration(window))
	r.Requests, r.Transactions, r.Lost, r.Late = a.book.Requests, a.book.Answered, a.book.Lost, a.book.Late
	r.Inflight, r.Wait = a.inflight, "blocking"
	if a.c.Spin {
		r.Wait, r.CPU, r.FarCPU = "spinning", &a.places[0].CPU, &a.places[1].CPU
	}
	if n := a.book.Plain.TotalCount(); n > 0 && n < a.book.Answered {
		if r.PlainHist, err = event.EncodeHist(a.book.Plain); err != nil {
			return r, err
		}
	}
	r.Hist, err = event.EncodeHist(a.book.Hist)
	return r, err
}

func (a *asker) split(r *event.RR, far []tally.FarSample) (err error) {
	r.Stamps, r.Stamped = a.stamps, int64(len(a.samples.List))
	if a.every == 0 {
		return nil
	}
	p := a.samples.Join(far)
	r.Incomplete, r.Impossible = p.Incomplete, p.Impossible
	if p.Path.TotalCount() == 0 {
		r.Stamps = event.NoStamps + "no stamped request has a plausible stamp of every step"
		return nil
	}
	for to, h := range map[*string]*hdrhistogram.Histogram{&r.StampedHist: p.Whole, &r.PathHist: p.Path, &r.WakeHist: p.Wake, &r.AppHist: p.App} {
		if *to, err = event.EncodeHist(h); err != nil {
			return err
		}
	}
	return nil
}
