package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
)

const (
	// stampEvery is the mean time between two requests that are stamped, where
	// there are enough of them. A stamp takes one to two microseconds at each end,
	// so stamping them all would slow down what is measured; 2000 per second are
	// enough for a distribution.
	stampEvery = 500_000 // ns
	// stampBurst is how many requests in a row are stamped. A single one would run
	// through code that no cache holds, and take twice as much longer.
	stampBurst = 16
	// stampPatience is how much longer the warm-up lasts where no stamp has come
	// by its end. The kernel begins to stamp on a thread of its own, when that
	// gets a CPU (net_enable_timestamp, net/core/dev.c).
	stampPatience = 500 * time.Millisecond
	// maxSamples bounds the stamped requests of a run.
	maxSamples = 1 << 14
)

// A sample is a request that is stamped. Times are ns since 1970 on the own
// clock, 0 while they are not known. The client's rx is that of the reply, the
// server's that of the request.
type sample struct {
	seq   uint64
	id    uint32 // by which the kernel calls the stamp of sending
	start int64  // before sending; no stamp of it can be earlier
	tx    int64  // handed to the first device
	rx    int64  // received by the machine
	got   int64  // and by the program
	rtt   int64  // ns; the client's, on the clock that is never set
}

// samples matches stamps of sending with what was sent, for they come later.
type samples struct {
	list    []sample
	epoch   int // the first of those whose identifiers the kernel still counts
	pending int // stamps of sending that have not come yet
}

func newSamples() samples { return samples{list: make([]sample, 0, maxSamples)} }

func (s *samples) full() bool { return len(s.list) == maxSamples }

func (s *samples) add(x sample) {
	s.list = append(s.list, x)
	s.pending++
}

// restart forgets what is pending: the identifiers begin anew.
func (s *samples) restart() { s.epoch, s.pending = len(s.list), 0 }

// collect reads the stamps that have come, and stops where none is missing: each
// look into the error queue takes half a microsecond.
func (s *samples) collect(from *stampedSocket) {
	for s.pending > 0 {
		id, t, ok := from.sent()
		if !ok {
			return
		}
		s.sent(id, t)
	}
}

// sent enters a stamp. The first one of a packet counts. A stamp that is older
// than the request of its identifier belongs to one that was given up.
func (s *samples) sent(id uint32, t int64) {
	for i := len(s.list) - 1; i >= max(s.epoch, len(s.list)-event.MaxInflight); i-- {
		if x := &s.list[i]; x.id == id {
			if x.tx == 0 && t >= x.start {
				x.tx = t
				s.pending--
			}
			return
		}
	}
}

// A farSample is what the server knows of a request, ns.
type farSample struct {
	seq  uint64
	turn int64 // from receiving the request to handing the reply to the first device
	wake int64 // of that, until the program had the request
}

const (
	farHeader = 8                                         // the number of the first sample, and how many there are
	farSize   = 16                                        // of a sample: sequence number 8, turn 4, wake 4, most significant byte first
	farMost   = (1200 - headerSize - farHeader) / farSize // samples of a datagram that every path carries whole
)

// encode appends the samples from a number on, at most most of them.
func (s *samples) encode(b []byte, from, most int) []byte {
	from = min(max(from, 0), len(s.list))
	b = binary.BigEndian.AppendUint32(b, uint32(from))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.list)))
	for _, x := range s.list[from:min(from+most, len(s.list))] {
		turn, wake := x.tx-x.rx, x.got-x.rx
		if x.tx == 0 || x.rx == 0 || wake < 0 || turn < wake || turn > 1<<32-1 {
			turn, wake = 0, 0 // a stamp is missing, or the clock was set
		}
		b = binary.BigEndian.AppendUint64(b, x.seq)
		b = binary.BigEndian.AppendUint32(b, uint32(turn))
		b = binary.BigEndian.AppendUint32(b, uint32(wake))
	}
	return b
}

var errFar = errors.New("the server's stamps are malformed")

// decodeFar reads what encode wrote: the samples from a number on, and how many
// there are altogether.
func decodeFar(b []byte) (list []farSample, from, total int, err error) {
	if len(b) < farHeader || (len(b)-farHeader)%farSize != 0 {
		return nil, 0, 0, fmt.Errorf("%w: %d bytes", errFar, len(b))
	}
	from, total = int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	b = b[farHeader:]
	if n := len(b) / farSize; total > maxSamples || from > total || n > total-from || n == 0 && from < total {
		return nil, 0, 0, fmt.Errorf("%w: %d samples from %d on, of %d", errFar, n, from, total)
	}
	for ; len(b) > 0; b = b[farSize:] {
		x := farSample{binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint32(b[12:]))}
		if x.wake > x.turn {
			return nil, 0, 0, fmt.Errorf("%w: request %d waited %d of %d ns", errFar, x.seq, x.wake, x.turn)
		}
		list = append(list, x)
	}
	return list, from, total, nil
}

// A split is what response times consist of. All three parts of one request add
// up to its response time; medians of parts need not.
type split struct {
	whole *hdrhistogram.Histogram // of the stamped requests; stamps make them longer than others

	path *hdrhistogram.Histogram // from device to namespace, there and back
	wake *hdrhistogram.Histogram // from the namespace to the program, at both ends
	app  *hdrhistogram.Histogram // the rest: programs, and sending down to the device, at both ends

	incomplete int64 // stamped requests that lack a stamp or a reply
	impossible int64 // that have a negative part, or whose clock was set
}

// join takes apart the response times of the samples for which the server has
// its stamps. Only differences of one clock are used, so the clocks of the two
// ends need not agree.
func (s *samples) join(far []farSample) (p split) {
	p.whole, p.path, p.wake, p.app = event.NewHist(), event.NewHist(), event.NewHist(), event.NewHist()
	bySeq := make(map[uint64]farSample, len(far))
	for _, f := range far {
		if _, ok := bySeq[f.seq]; !ok && f.turn > 0 {
			bySeq[f.seq] = f
		}
	}
	for _, x := range s.list {
		f, ok := bySeq[x.seq]
		if !ok || x.tx == 0 || x.rx == 0 || x.got == 0 {
			p.incomplete++
			continue
		}
		path, wake := x.rx-x.tx-f.turn, x.got-x.rx+f.wake
		app := x.rtt - path - wake
		if path <= 0 || x.got < x.rx || app < 0 || x.rtt > event.HistHighest || !sameTime(x.got-x.start, x.rtt) {
			p.impossible++
			continue
		}
		// They cannot fail: no part is above the response time.
		_ = p.whole.RecordValue(max(x.rtt, event.HistLowest))
		_ = p.path.RecordValue(path)
		_ = p.wake.RecordValue(max(wake, event.HistLowest))
		_ = p.app.RecordValue(max(app, event.HistLowest))
	}
	return p
}

// sameTime reports whether two clocks agree on a span: one that is slewed by
// less than 1 in 1000 (adjtimex(2): 500 ppm), read twice.
func sameTime(a, b int64) bool {
	d := a - b
	return max(d, -d) <= 2000+b/1000
}
