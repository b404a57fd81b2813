package engine

// A receiver counts the measured datagrams of one udp-stream run. It does not
// allocate and makes no system call.
type receiver struct {
	udpReport
	next    uint64 // the smallest sequence number not yet seen or passed
	seen    [seenWindow / 64]uint64
	transit uint64 // arrival minus sending of the last datagram, modulo 2^40
}

// seenWindow is how many sequence numbers before next are remembered, so that a
// duplicate is told from a reordered datagram. It is more than a receive buffer
// or a queue on the path holds.
const seenWindow = 1 << 16

// udpReport is what the receiver tells the client. Times are nanoseconds.
type udpReport struct {
	Error      string  `json:"error,omitempty"`
	Delivered  int64   `json:"delivered"` // datagrams that the application read, duplicates left out
	Bytes      int64   `json:"bytes"`     // of their payload
	Duplicates int64   `json:"duplicates"`
	Reordered  int64   `json:"reordered"` // RFC 4737, section 3: sequence number below the next expected one
	Dropped    int64   `json:"dropped"`   // at the socket's buffer, since the run began
	Jitter     float64 `json:"jitter"`    // RFC 3550, section 6.4.1
	Span       int64   `json:"span"`      // from the first to the last arrival
	First      int64   `json:"-"`         // arrival on the receiver's clock
}

// add counts a datagram of n bytes that was read at time t.
func (r *receiver) add(h header, n int, t int64) {
	if r.duplicate(h.seq) {
		r.Duplicates++
		return
	}
	r.Delivered++
	r.Bytes += int64(n)
	// Only the difference of two transits is used, so the clocks of the two
	// ends need not agree.
	transit := (uint64(t) - h.sent) & mask40
	if r.Delivered == 1 {
		r.First = t
	} else {
		d := float64(diff40(transit, r.transit))
		r.Jitter += (max(d, -d) - r.Jitter) / 16
	}
	r.transit = transit
	r.Span = t - r.First
}

// duplicate marks seq as seen, and reports whether it was. Of a datagram that is
// older than the window it is not known; it counts as reordered.
func (r *receiver) duplicate(seq uint64) bool {
	bit := uint64(1) << (seq % 64)
	word := &r.seen[seq/64%uint64(len(r.seen))]
	if seq < r.next {
		if r.next-seq > seenWindow {
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
	r.next = seq + 1
	return false
}

// forget clears the places of next up to seq, which held older numbers.
func (r *receiver) forget(seq uint64) {
	if seq-r.next >= seenWindow {
		clear(r.seen[:])
		return
	}
	for s := r.next; s <= seq; s++ {
		r.seen[s/64%uint64(len(r.seen))] &^= 1 << (s % 64)
	}
}
