package event

import (
	"cmp"
	"fmt"
	"time"
)

// Outages is the result of udp-outage: when the path delivered nothing of a stream of requests, each of which is answered.
//
// All moments are ns of CLOCK_MONOTONIC: of the client's machine for the round trip and the way back, of the server's for
// the way to the server. All lengths are ns.
//
// What the engine itself did is not an outage. Arrivals count when the kernel stamps them, so a program without a CPU
// shows no gap where it receives. A gap counts only if it is longer than the longest time between two sends within it,
// and only from the first request that was sent in it until the last; the time in which the server had a request and
// did not answer is taken out. See tally.Outages.
type Outages struct {
	Head
	Rate     float64 `json:"rate"`     // requests/s asked for
	Offered  int64   `json:"offered"`  // requests that the schedule held
	Requests int64   `json:"requests"` // that were sent; the others were due while the sender had no CPU
	Refused  int64   `json:"refused"`  // of these, by the kernel of the client's machine; they are lost on the way there
	Answered int64   `json:"transactions"`
	// The requests that were not answered by ReplyTimeout after the window.
	Lost Lost `json:"lost"`

	Duplicates int64 `json:"duplicates"` // replies that came again
	Reordered  int64 `json:"reordered"`  // replies that came after one to a later request
	Late       int64 `json:"late"`       // replies that took longer than ReplyTimeout; they are not lost

	RoundTrip Gaps `json:"roundTrip"`
	There     Gaps `json:"there"` // the way to the server; of udp-outage alone, like Back
	// Back is the way back: the server answered and no answer came. While no request reaches the server, nothing is
	// sent on this way, and it shows nothing.
	Back Gaps `json:"back"`

	// The longest time between two sends, and the longest time that a request waited for the server's program beyond a
	// millisecond.
	ClientPause int64 `json:"clientPause"`
	ServerPause int64 `json:"serverPause"`

	Timeline     Timeline `json:"timeline"`
	Stamps       string   `json:"stamps"`       // how replies are stamped when they arrive, or NoStamps and why
	ServerStamps string   `json:"serverStamps"` // and requests
	SndBuf       int      `json:"sndbuf"`       // bytes in effect
	RcvBuf       int      `json:"rcvbuf"`       // bytes in effect
	Own
}

// TCPOutages is the result of tcp-outage: messages at a fixed rate over one connection, each of which is answered. What TCP
// sends again is late, not lost: only the round trip is known, and what has no answer at the end is Lost.Unknown.
type TCPOutages struct {
	Outages
	Broken        *Broken `json:"broken,omitempty"`       // absent: the connection lasted
	Timers        *Timers `json:"timers,omitempty"`       // of the client's kernel; absent before Linux 6.7
	ServerTimers  *Timers `json:"serverTimers,omitempty"` // of the server's, which sends the answers
	Congestion    string  `json:"congestion"`
	FarCongestion string  `json:"serverCongestion"`
}

// ConnectOutages is the result of connect-outage: a new connection at a fixed rate, each with one request. A request is
// answered when its reply has come, and what has none at the end is Lost.Unknown.
type ConnectOutages struct {
	Outages
	// Errors counts the connections that failed, by the name of the error: ECONNREFUSED, ECONNRESET, ETIMEDOUT and such.
	Errors    map[string]int64 `json:"errors"`
	Slow      int64            `json:"slow"`      // answered after a second or more, as when the first packet is lost and sent again (RFC 6298, section 2)
	Abandoned int64            `json:"abandoned"` // neither answered nor failed when the client needed their port, or at the end
	Ports     int              `json:"ports"`     // of the client, used in turn
	PortsBusy int64            `json:"portsBusy"` // times that a port was skipped because it was not free
}

// Broken is the end of a connection.
type Broken struct {
	At  int64  `json:"at"`  // when the client saw it, ns of CLOCK_MONOTONIC
	Why string `json:"why"` // name of the error, such as ETIMEDOUT; "closed" if the server closed it
}

// Timers counts the retransmission timeouts (RFC 6298) of a connection in the window. Segments that were sent again
// without one were found by duplicate acknowledgments or tail loss probes (RFC 8985).
type Timers struct {
	Timeouts   int64   `json:"timeouts"`   // times that the timer fired (tcpi_total_rto)
	Recoveries int64   `json:"recoveries"` // times that the connection went on after one or several (tcpi_total_rto_recoveries)
	Time       float64 `json:"time"`       // s from a first timeout to going on, of all (tcpi_total_rto_time)
}

// Lost counts requests without an answer. The parts add up.
type Lost struct {
	There   int64 `json:"there"`   // did not reach the server's socket
	Socket  int64 `json:"socket"`  // found it full, or their answer the client's: a program had no CPU
	Back    int64 `json:"back"`    // reached the server, and the answer did not come
	Unknown int64 `json:"unknown"` // no later answer came, which would have told
}

func (l Lost) Sum() int64 { return l.There + l.Socket + l.Back + l.Unknown }

// Gaps are the times in which a way delivered nothing, each longer than a millisecond and than three intervals.
type Gaps struct {
	Count   int64 `json:"count"`
	Total   int64 `json:"total"`   // sum of their lengths
	Longest int64 `json:"longest"` // 0: none
	// The longest ones, at most MaxGaps, in the order in which they began.
	List []Gap `json:"list,omitempty"`
}

// A Gap is a time in which nothing arrived although something was sent. It begins and ends half an interval inside the
// arrivals around it, because what happened between two requests shows in neither. If every reply that would have told
// more was lost, it is somewhere between Begin and End, and Length is the sum of all gaps there.
type Gap struct {
	Begin  int64 `json:"begin"`
	End    int64 `json:"end"`
	Length int64 `json:"length"` // End - Begin, less a longer pause of the engine in it
	Lost   Lost  `json:"lost"`
	Before bool  `json:"before,omitempty"` // it had begun when the window did
	After  bool  `json:"after,omitempty"`  // it had not ended when the window did
}

// A Timeline counts replies by the time of their arrival, and answered requests by the time at which they were sent.
type Timeline struct {
	Begin   int64   `json:"begin"`   // of the window, ns of the client's CLOCK_MONOTONIC
	Bin     int64   `json:"bin"`     // ns
	Replies []int64 `json:"replies"` // in each bin, from the beginning of the window on
	// Answered are the requests that were sent in each bin and answered; older results lack it.
	Answered []int64 `json:"answered,omitempty"`
}

// Bounds of outages.
const (
	MaxGaps     = 64
	MaxBins     = 2000
	LeastOutage = time.Millisecond
	MinOutages  = 10 // requests/s
	MaxOutages  = 20_000
	// MaxNumbered bounds the requests of a window, each of which takes 100 bytes of the client's memory.
	MaxNumbered = 2_000_000
)

// OutageLimit is the longest gap between arrivals at a rate, 1/s, that is not an outage.
func OutageLimit(rate float64) time.Duration {
	return max(LeastOutage, time.Duration(3e9/rate))
}

// CheckOutages returns an error if a workload cannot have a rate, 1/s, for so long.
func CheckOutages(workload string, rate float64, window time.Duration) error {
	fastest := MaxOutages
	if workload == "connect-outage" {
		fastest = MaxConnects
	}
	switch most := MaxNumbered / rate; {
	case !(rate >= MinOutages && rate <= float64(fastest)):
		return fmt.Errorf("%s: rate %v is outside %d..%d/s", workload, rate, MinOutages, fastest)
	case window.Seconds() > most:
		return fmt.Errorf("%s: a window of %v at %v/s has more than %d requests: take at most %v, or a lower rate", workload, window, rate, MaxNumbered,
			time.Duration(most)*time.Second)
	}
	return nil
}

// RoundTripOnly returns the outages of a workload that does not tell the ways apart.
func (o Outages) RoundTripOnly() Outages {
	o.Lost, o.There, o.Back = Lost{Unknown: o.Lost.Sum()}, Gaps{}, Gaps{}
	for i := range o.RoundTrip.List {
		l := &o.RoundTrip.List[i].Lost
		*l = Lost{Unknown: l.Sum()}
	}
	return o
}

// Check returns an error if a result is impossible.
func (o *Outages) Check() error {
	err := cmp.Or(o.Lost.check(), o.RoundTrip.check("round trip"), o.There.check("way to the server"), o.Back.check("way back"))
	in, answered := int64(0), int64(0)
	for _, n := range o.Timeline.Replies {
		if in += n; n < 0 {
			return fmt.Errorf("%d replies in a bin", n)
		}
	}
	for _, n := range o.Timeline.Answered {
		if answered += n; n < 0 {
			return fmt.Errorf("%d answered requests in a bin", n)
		}
	}
	switch {
	case err != nil:
		return err
	case o.Requests > o.Offered || o.Refused > o.Requests:
		return fmt.Errorf("%d requests sent of %d, %d refused", o.Requests, o.Offered, o.Refused)
	case o.Answered+o.Lost.Sum() != o.Requests:
		return fmt.Errorf("%d requests, %d answered, %+v lost", o.Requests, o.Answered, o.Lost)
	case o.Reordered > o.Answered || o.Late > o.Answered:
		return fmt.Errorf("%d answered, %d of them out of order and %d late", o.Answered, o.Reordered, o.Late)
	case answered > o.Answered || len(o.Timeline.Answered) > len(o.Timeline.Replies):
		return fmt.Errorf("%d answered requests in %d bins, of %d in %d", answered, len(o.Timeline.Answered), o.Answered, len(o.Timeline.Replies))
	case o.Timeline.Begin < 0 || o.Timeline.Bin <= 0 || len(o.Timeline.Replies) > MaxBins || in > o.Answered+o.Duplicates:
		return fmt.Errorf("%d replies in %d bins of %d ns, of %d", in, len(o.Timeline.Replies), o.Timeline.Bin, o.Answered+o.Duplicates)
	}
	return nil
}

func (l Lost) check() error {
	if min(l.There, l.Socket, l.Back, l.Unknown) < 0 {
		return fmt.Errorf("%+v lost", l)
	}
	return nil
}

func (g Gaps) check(way string) error {
	sum, longest := int64(0), int64(0)
	for _, x := range g.List {
		if err := x.Lost.check(); err != nil {
			return err
		}
		if x.Length <= 0 || x.Length > x.End-x.Begin || x.Begin < 0 {
			return fmt.Errorf("%s: a gap of %d ns from %d to %d", way, x.Length, x.Begin, x.End)
		}
		sum, longest = sum+x.Length, max(longest, x.Length)
	}
	if len(g.List) > MaxGaps || g.Count < int64(len(g.List)) || g.Total < sum || g.Longest != longest || g.Count == int64(len(g.List)) && g.Total != sum {
		return fmt.Errorf("%s: %d gaps, together %d ns, longest %d ns, with a list of %d, together %d ns, longest %d ns",
			way, g.Count, g.Total, g.Longest, len(g.List), sum, longest)
	}
	return nil
}
