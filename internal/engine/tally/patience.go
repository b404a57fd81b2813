package tally

import (
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

const (
	// LeastPatience is the shortest wait beyond a usual response time. ping -f also sends every 10 ms,
	// whatever has come back (ping(8)).
	LeastPatience = 10 * time.Millisecond
	// firstPatience is the wait while no response time is known.
	firstPatience = 20 * time.Millisecond
)

// A Patience is how long a closed loop waits for a reply before it asks again. A lost request must not
// end a window: windows that stop at their first loss measure few requests, and each of them a loss.
//
// It is the timer of RFC 6298, section 2: the smoothed response time and four times its variation, or
// LeastPatience if that is longer. Every wait that ends without a reply doubles it (section 5.5), up to
// event.ReplyTimeout, so that a stall adds few requests.
type Patience struct{ smoothed, variation, wait int64 } // ns

func NewPatience() Patience { return Patience{wait: int64(firstPatience)} }

// Wait returns how long to wait, ns.
func (p *Patience) Wait() int64 { return p.wait }

// Known reports whether a reply has ever come.
func (p *Patience) Known() bool { return p.smoothed > 0 }

// Heard enters a response time, ns.
func (p *Patience) Heard(rtt int64) {
	rtt = max(rtt, 1)
	if p.smoothed == 0 {
		p.smoothed, p.variation = rtt, rtt/2
	} else {
		p.variation += (max(rtt-p.smoothed, p.smoothed-rtt) - p.variation) / 4
		p.smoothed = max(1, p.smoothed+(rtt-p.smoothed)/8)
	}
	p.wait = min(p.smoothed+max(int64(LeastPatience), 4*p.variation), int64(event.ReplyTimeout))
}

// Ended enters a wait without a reply.
func (p *Patience) Ended() { p.wait = min(2*p.wait, int64(event.ReplyTimeout)) }
