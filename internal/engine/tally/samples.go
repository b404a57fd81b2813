package tally

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const MaxSamples = 1 << 14

// A Sample is a stamped request. Times are ns since 1970 on this machine's clock, 0 while unknown.
// Rx is the time of the reply at the client, and of the request at the server.
type Sample struct {
	Seq   uint64
	ID    uint32 // the kernel's number for the stamp of sending
	Start int64  // before sending; no stamp can be earlier
	tx    int64  // handed to the first device
	Rx    int64  // received by the machine
	Got   int64  // and by the program
	RTT   int64  // ns, at the client, on the monotonic clock
}

// Samples matches stamps of sending, which arrive later, with requests.
type Samples struct {
	List    []Sample
	epoch   int // first sample whose identifier the kernel still counts
	pending int // missing stamps of sending
}

func NewSamples() Samples { return Samples{List: make([]Sample, 0, MaxSamples)} }

func (s *Samples) Full() bool { return len(s.List) == MaxSamples }

func (s *Samples) Add(x Sample) {
	s.List = append(s.List, x)
	s.pending++
}

// Restart forgets pending stamps: the kernel numbers anew.
func (s *Samples) Restart() { s.epoch, s.pending = len(s.List), 0 }

// A Stamper returns the next stamp of sending; ok is false when none is there yet.
type Stamper interface {
	Sent() (id uint32, t int64, ok bool)
}

// Collect reads the stamps that are there, and stops once none is missing: each look into the error
// queue takes 0.5 µs.
func (s *Samples) Collect(from Stamper) {
	for s.pending > 0 {
		id, t, ok := from.Sent()
		if !ok {
			return
		}
		s.sent(id, t)
	}
}

// sent enters a stamp. A packet's first stamp counts. A stamp older than the request with its
// identifier belongs to a request that was given up.
func (s *Samples) sent(id uint32, t int64) {
	for i := len(s.List) - 1; i >= max(s.epoch, len(s.List)-event.MaxInflight); i-- {
		if x := &s.List[i]; x.ID == id {
			if x.tx == 0 && t >= x.Start {
				x.tx = t
				s.pending--
			}
			return
		}
	}
}

// A FarSample is the server's times for a request, ns.
type FarSample struct {
	seq  uint64
	turn int64 // from receiving the request to handing the reply to the first device
	wake int64 // of that, until the program had the request
}

const (
	FarHeader = 8                                              // the number of the first sample, and how many there are
	FarSize   = 16                                             // of a sample: sequence number 8, turn 4, wake 4, most significant byte first
	FarMost   = (1200 - wire.HeaderSize - FarHeader) / FarSize // samples in a datagram that every path carries whole
)

// Encode appends at most most samples, starting with number from.
func (s *Samples) Encode(b []byte, from, most int) []byte {
	from = min(max(from, 0), len(s.List))
	b = binary.BigEndian.AppendUint32(b, uint32(from))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.List)))
	for _, x := range s.List[from:min(from+most, len(s.List))] {
		turn, wake := x.tx-x.Rx, x.Got-x.Rx
		if x.tx == 0 || x.Rx == 0 || wake < 0 || turn < wake || turn > 1<<32-1 {
			turn, wake = 0, 0 // a stamp is missing, or the clock was set
		}
		b = binary.BigEndian.AppendUint64(b, x.Seq)
		b = binary.BigEndian.AppendUint32(b, uint32(turn))
		b = binary.BigEndian.AppendUint32(b, uint32(wake))
	}
	return b
}

var ErrFar = errors.New("the server's stamps are malformed")

// DecodeFar returns the samples, the number of the first, and the total.
func DecodeFar(b []byte) (list []FarSample, from, total int, err error) {
	if len(b) < FarHeader || (len(b)-FarHeader)%FarSize != 0 {
		return nil, 0, 0, fmt.Errorf("%w: %d bytes", ErrFar, len(b))
	}
	from, total = int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	b = b[FarHeader:]
	if n := len(b) / FarSize; total > MaxSamples || from > total || n > total-from || n == 0 && from < total {
		return nil, 0, 0, fmt.Errorf("%w: %d samples from %d on, of %d", ErrFar, n, from, total)
	}
	for ; len(b) > 0; b = b[FarSize:] {
		x := FarSample{binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint32(b[12:]))}
		if x.wake > x.turn {
			return nil, 0, 0, fmt.Errorf("%w: request %d waited %d of %d ns", ErrFar, x.seq, x.wake, x.turn)
		}
		list = append(list, x)
	}
	return list, from, total, nil
}

// A Split divides response times. The three parts of a request add up to its response time; medians
// of parts need not.
type Split struct {
	Whole *hdrhistogram.Histogram // of the stamped requests; stamps lengthen them

	Path *hdrhistogram.Histogram // from device to namespace, both directions
	Wake *hdrhistogram.Histogram // from namespace to program, both ends
	App  *hdrhistogram.Histogram // the rest: programs, and sending down to the device, both ends

	Incomplete int64 // stamped requests that lack a stamp or a reply
	Impossible int64 // stamped requests with a negative part, or whose clock was set
}

// Join splits the response times of the samples that the server has stamps for. It uses only
// differences on one clock, so the clocks of the two ends need not agree.
func (s *Samples) Join(far []FarSample) (p Split) {
	p.Whole, p.Path, p.Wake, p.App = event.NewHist(), event.NewHist(), event.NewHist(), event.NewHist()
	bySeq := make(map[uint64]FarSample, len(far))
	for _, f := range far {
		if _, ok := bySeq[f.seq]; !ok && f.turn > 0 {
			bySeq[f.seq] = f
		}
	}
	for _, x := range s.List {
		f, ok := bySeq[x.Seq]
		if !ok || x.tx == 0 || x.Rx == 0 || x.Got == 0 {
			p.Incomplete++
			continue
		}
		path, wake := x.Rx-x.tx-f.turn, x.Got-x.Rx+f.wake
		app := x.RTT - path - wake
		if path <= 0 || x.Got < x.Rx || app < 0 || x.RTT > event.HistHighest || !sameTime(x.Got-x.Start, x.RTT) {
			p.Impossible++
			continue
		}
		// These cannot fail: no part exceeds the response time.
		_ = p.Whole.RecordValue(max(x.RTT, event.HistLowest))
		_ = p.Path.RecordValue(path)
		_ = p.Wake.RecordValue(max(wake, event.HistLowest))
		_ = p.App.RecordValue(max(app, event.HistLowest))
	}
	return p
}

// sameTime reports whether two clocks agree on a span: one is slewed by less than 1 in 1000
// (adjtimex(2): 500 ppm), and each is read twice.
func sameTime(a, b int64) bool {
	d := a - b
	return max(d, -d) <= 2000+b/1000
}
