package tally

import (
	"fmt"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A Receiver counts the measured datagrams of a udp-stream run or of a udp-search phase.
//
// Datagrams returned by one read share one arrival time, and datagrams sent by one call share one
// sending time. They give one sample of jitter: that of the last datagram of the read, which waited
// for the reader least. With one datagram per read, this is RFC 3550 to the letter.
type Receiver struct {
	wire.UDPReport
	Next    uint64 // smallest sequence number not yet seen or passed
	seen    [seenWindow / 64]uint64
	transit uint64 // arrival minus sending of the last sample, modulo 2^40
	last    uint64 // of the last datagram
	least   uint64 // of the quickest sample
	counted int64  // delivered before this read
	heard   int64  // Span at the last read that delivered any
	sampled bool   // transit is valid
}

// seenWindow is how many sequence numbers before Next are remembered, to distinguish duplicates
// from reordered datagrams: more than a receive buffer or a queue on the path holds.
const seenWindow = 1 << 16

// Add counts a datagram of n bytes that was read at time t. Done ends the read.
func (r *Receiver) Add(h wire.Header, n int, t int64) {
	if r.duplicate(h.Seq) {
		r.Duplicates++
		return
	}
	if r.Delivered == 0 {
		r.First = t
	}
	r.Delivered++
	r.Bytes += int64(n)
	// Only differences of transits are used, so the clocks of the two ends need not agree.
	r.last = (uint64(t) - h.Sent) & wire.Mask40
	r.Span = t - r.First
}

// Done ends a read whose measured datagrams came in a number of buffers.
func (r *Receiver) Done(buffers int64) {
	if buffers == 0 {
		return
	}
	r.Reads++
	r.Buffers += buffers
	if r.Delivered == r.counted {
		return // only duplicates
	}
	r.counted = r.Delivered
	r.Silence, r.heard = max(r.Silence, r.Span-r.heard), r.Span
	if r.sampled {
		d := float64(wire.Diff40(r.last, r.transit))
		r.Jitter += (max(d, -d) - r.Jitter) / 16
	}
	if !r.sampled || wire.Diff40(r.last, r.least) < 0 {
		r.least = r.last
	}
	r.transit, r.sampled = r.last, true
	r.Queue = wire.Diff40(r.last, r.least)
}

// duplicate marks seq as seen and reports whether it was seen before. A datagram older than the
// window counts as reordered.
func (r *Receiver) duplicate(seq uint64) bool {
	bit := uint64(1) << (seq % 64)
	word := &r.seen[seq/64%uint64(len(r.seen))]
	if seq == r.Next { // nearly always
		*word |= bit
		r.Next++
		return false
	}
	if seq < r.Next {
		if r.Next-seq > seenWindow {
			r.Reordered++
			return false
		}
		if *word&bit != 0 {
			return true
		}
		*word |= bit
		r.Reordered++
		return false
	}
	r.forget(seq)
	*word |= bit
	r.Next = seq + 1
	return false
}

func (r *Receiver) forget(seq uint64) {
	if seq-r.Next >= seenWindow {
		clear(r.seen[:])
		return
	}
	for s := r.Next; s <= seq; s++ {
		r.seen[s/64%uint64(len(r.seen))] &^= 1 << (s % 64)
	}
}

// Silence returns the longest time without an arrival in a window, ns. The server's clock shows
// neither end of the window: it begins with the request to count, less than a round trip early, and
// is as long as the client's.
func Silence(r wire.UDPReport, window int64) int64 {
	return max(r.Silence, min(r.Wait, window), window-r.Wait-r.Span)
}

// Received returns how many of the datagrams sent in mode m reached the server's socket, and
// refuses an impossible report. asked is the number of requests that the client sent.
func Received(m event.Mode, asked int, sent int64, r wire.UDPReport) (int64, error) {
	switch {
	case r.Error != "":
		return 0, fmt.Errorf("the server's count: %s", r.Error)
	case r.Span < 0 || r.Jitter < 0:
		return 0, fmt.Errorf("impossible: arrivals over %d ns, jitter %g ns", r.Span, r.Jitter)
	case r.Delivered > sent:
		return 0, fmt.Errorf("impossible: %d datagrams delivered of %d sent", r.Delivered, sent)
	case r.Bytes != r.Delivered*int64(m.Size):
		return 0, fmt.Errorf("impossible: %d bytes in %d datagrams of %d", r.Bytes, r.Delivered, m.Size)
	case r.Reads < 0 || r.Reads > r.Buffers || r.Buffers > r.Delivered+r.Duplicates:
		return 0, fmt.Errorf("impossible: %d datagrams and %d duplicates in %d buffers and %d reads", r.Delivered, r.Duplicates, r.Buffers, r.Reads)
	}
	// The socket's counter includes dropped requests (to begin, after the answered one, and for the
	// report, before it) and duplicates made by the network.
	dropped := r.Dropped
	if m.Recv == event.RecvGRO {
		dropped = min(dropped*perBuffer(m, r), sent-r.Delivered)
	}
	received := r.Delivered + dropped
	if extra := received - sent; extra > 0 {
		if extra > int64(asked) && r.Duplicates == 0 { // where copies arrive, a full socket drops as many others
			return 0, fmt.Errorf("impossible: %d datagrams delivered and %d dropped at the socket, of %d sent", r.Delivered, dropped, sent)
		}
		received = sent
	}
	return received, nil
}

// perBuffer estimates how many datagrams a dropped buffer held: as many as the buffers that
// arrived. With UDP_GRO the kernel counts drops by the buffer (__udp_enqueue_schedule_skb,
// net/ipv4/udp.c). The estimate is exact for gso batches that no device cuts.
func perBuffer(m event.Mode, r wire.UDPReport) int64 {
	if r.Buffers == 0 {
		return int64(max(m.Batch, 1))
	}
	return (r.Delivered + r.Duplicates + r.Buffers - 1) / r.Buffers
}
