package event

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Head begins every result.
type Head struct {
	Event    string  `json:"event"` // KindResult
	Workload string  `json:"workload"`
	Engine   int     `json:"engine"` // Version
	Server   string  `json:"server"`
	Size     int     `json:"size"`   // bytes of payload per write, datagram or message; reach: of the IP packet
	Window   float64 `json:"window"` // s, the measured window
}

func NewHead(workload, server string, size int, window time.Duration) Head {
	return Head{Event: KindResult, Workload: workload, Engine: Version, Server: server, Size: size, Window: float64(window) / 1e9}
}

// Own is the CPU time, s, of the threads that carry the workload, by their own clocks
// (CLOCK_THREAD_CPUTIME_ID) at the edges of the window. It includes these threads' user and kernel
// time and the softirqs that ran on top of them: on one machine, most of the datapath. It excludes
// other threads, and kernel threads such as ksoftirqd. It is 0 if a thread could not read its clock
// at both edges, as after a stall, and for workloads without such clocks.
//
// The waits are the time, s, that these threads were runnable and waited for a CPU (run_delay, the second
// field of /proc/PID/task/TID/schedstat), and are absent where the kernel does not count them. The
// connections' figures are absent over UDP.
type Own struct {
	ClientTime float64  `json:"cpuTime,omitempty"`
	ServerTime float64  `json:"serverCPUTime,omitempty"`
	ClientWait *float64 `json:"waitTime,omitempty"`
	ServerWait *float64 `json:"serverWaitTime,omitempty"`
	ClientTCP  *TCP     `json:"tcp,omitempty"`
	ServerTCP  *TCP     `json:"serverTCP,omitempty"`
}

// TCP is the growth of struct tcp_info (include/uapi/linux/tcp.h) at one end in the window, the sum of all
// connections. Its times are in steps of the kernel's tick, 1 to 10 ms.
type TCP struct {
	Busy          float64 `json:"busy"`                 // s with data in flight or waiting
	RwndLimited   float64 `json:"rwndLimited"`          // s of Busy limited by the receiver's window
	SndbufLimited float64 `json:"sndbufLimited"`        // s of Busy limited by the send buffer
	SegmentsOut   float64 `json:"segmentsOut"`          // retransmitted ones included
	Retransmitted float64 `json:"retransmitted"`        // segments
	Duplicates    float64 `json:"duplicates,omitempty"` // segments that the other end received twice, by its D-SACKs (RFC 2883)
	Reordered     float64 `json:"reordered,omitempty"`  // times that later segments were acknowledged before one that was never sent again
	Window        float64 `json:"cwnd,omitempty"`       // segments: the congestion window at the end of the window
}

// TCPStream is the result of tcp-stream. The window is the server's.
type TCPStream struct {
	Head
	Streams       int     `json:"streams"`
	Bytes         int64   `json:"bytes"`          // read by the server in the window, over all streams
	StreamBytes   []int64 `json:"streamBytes"`    // per stream
	Retransmits   int64   `json:"retransmits"`    // segments, in the window (TCP_INFO)
	Silence       float64 `json:"silence"`        // s, the longest time in the window in which any stream received nothing
	MSS           int     `json:"mss"`            // bytes, of the first stream, at the end
	Rate          float64 `json:"rate,omitempty"` // bit/s of payload, limit in effect for all streams together
	Congestion    string  `json:"congestion"`     // in effect at the sender
	FarCongestion string  `json:"serverCongestion"`
	Send          string  `json:"send"`           // "copy", "sendfile", "zerocopy", or "zerocopy, copied after all" when most calls were
	ZeroSends     int64   `json:"zerocopySends"`  // calls with MSG_ZEROCOPY that the kernel has reported complete, warm-up included
	ZeroCopied    int64   `json:"zerocopyCopied"` // of these, calls that it copied after all, as for receivers on the same machine
	Recv          string  `json:"recv"`           // "copy", or "discard": the server did not copy the bytes
	DSCP          int     `json:"dscp"`           // in effect at the sender
	SndBuf        int     `json:"sndbuf"`         // bytes in effect, of the first stream, at the end
	RcvBuf        int     `json:"rcvbuf"`         // bytes in effect at the server, at the beginning
	Own                   // the sums of all streams
}

// UDPStream is the result of udp-stream. Its counts form a ladder, offered ≥ sent ≥ received ≥
// delivered: received counts at the server's socket, delivered in its application.
type UDPStream struct {
	Head
	Rate        float64          `json:"rate"`    // bit/s of payload asked for; 0 is as fast as possible
	Offered     int64            `json:"offered"` // datagrams that the schedule held; without a rate, attempts
	Sent        int64            `json:"sent"`    // that the kernel took
	Received    int64            `json:"received"`
	Delivered   int64            `json:"delivered"`             // without duplicates
	Bytes       int64            `json:"bytes"`                 // of payload, delivered
	Streams     int              `json:"streams,omitempty"`     // absent: 1
	StreamBytes []int64          `json:"streamBytes,omitempty"` // of several, Bytes of each
	Dropped     int64            `json:"dropped"`               // at the server's socket buffer; with gro an estimate, see tally.Received
	Duplicates  int64            `json:"duplicates"`
	Reordered   int64            `json:"reordered"`
	Jitter      float64          `json:"jitter"`     // s, RFC 3550, of the last datagram of every read; the mean of the streams
	Span        float64          `json:"span"`       // s, from first to last arrival
	Silence     float64          `json:"silence"`    // s, the longest time in which any stream had no arrival, edges of the window included
	SendErrors  map[string]int64 `json:"sendErrors"` // attempts that failed, by error
	Send        string           `json:"send"`       // one of SendModes
	Batch       int              `json:"batch"`      // datagrams per call, at most
	Recv        string           `json:"recv"`       // one of RecvModes
	Nap         float64          `json:"nap"`        // s, the server's polling interval; 0: it was woken up
	Reads       int64            `json:"reads"`      // system calls of the server that returned datagrams
	Buffers     int64            `json:"buffers"`    // that reached its socket: fewer than datagrams that stayed together
	DSCP        int              `json:"dscp"`       // in effect
	SndBuf      int              `json:"sndbuf"`     // bytes in effect
	RcvBuf      int              `json:"rcvbuf"`     // bytes in effect
	Own
}

// Add adds the counts of another stream.
func (r *UDPStream) Add(s UDPStream) {
	r.Offered, r.Sent, r.Received, r.Delivered = r.Offered+s.Offered, r.Sent+s.Sent, r.Received+s.Received, r.Delivered+s.Delivered
	r.Bytes, r.Dropped, r.Duplicates, r.Reordered = r.Bytes+s.Bytes, r.Dropped+s.Dropped, r.Duplicates+s.Duplicates, r.Reordered+s.Reordered
	r.Reads, r.Buffers = r.Reads+s.Reads, r.Buffers+s.Buffers
	r.Jitter, r.Silence = r.Jitter+s.Jitter, max(r.Silence, s.Silence)
	for name, n := range s.SendErrors {
		r.SendErrors[name] += n
	}
}

// UDPSearch is the result of udp-search, and the phases, in order, that it follows from.
type UDPSearch struct {
	Head
	Loss   float64 `json:"loss"`  // asked for
	Width  float64 `json:"width"` // asked for
	Length float64 `json:"phase"` // s
	Found
	Goals  []Goal  `json:"goals,omitempty"` // the first is the goal of Loss
	Phases []Phase `json:"phases"`
	Send   string  `json:"send"`  // one of SendModes
	Batch  int     `json:"batch"` // datagrams per call, at most
	Recv   string  `json:"recv"`  // one of RecvModes
	Nap    float64 `json:"nap"`   // s, the server's polling interval; 0: it was woken up
	DSCP   int     `json:"dscp"`  // in effect
	SndBuf int     `json:"sndbuf"`
	RcvBuf int     `json:"rcvbuf"` // bytes in effect
	Own            // of all phases and the time between them
}

// Why a search found no higher rate.
const (
	LimitPath   = "path"   // more was lost
	LimitSender = "sender" // it could not send faster: the path can carry more
	LimitTime   = "time"   // time was up before the bounds were close
)

// Found is the result of a search. Rates are packet/s.
type Found struct {
	Lower    float64 `json:"lower"`    // the lowest rate carried in any phase of the load that was not lossy; 0: no load was carried
	Load     float64 `json:"load"`     // the rate asked for then
	Upper    float64 `json:"upper"`    // the lowest rate offered at which more was lost; 0: none was
	Limit    string  `json:"limit"`    // why Lower is no higher
	Inverted float64 `json:"inverted"` // the highest rate above Upper that was carried all the same; 0: none
}

// A Goal is the result of a search for one goal, in the terms of draft-ietf-bmwg-mlrsearch. Rates are packet/s; 0 is one
// that the phases do not show.
type Goal struct {
	Loss       float64 `json:"loss"`       // goal loss ratio
	Lower      float64 `json:"lower"`      // relevant lower bound, a rate asked for
	Upper      float64 `json:"upper"`      // relevant upper bound
	Throughput float64 `json:"throughput"` // conditional throughput
	Limit      string  `json:"limit"`      // what keeps Lower from being higher
}

// A Phase is a short run of datagrams at one rate.
type Phase struct {
	Asked     float64 `json:"asked"`     // packet/s; 0 is as fast as the sender could
	Offered   int64   `json:"offered"`   // datagrams that the schedule held
	Refused   int64   `json:"refused"`   // by a queue of the sender's machine
	Sent      int64   `json:"sent"`      // that the kernel took
	Delivered int64   `json:"delivered"` // that the receiver's program read
	Dropped   int64   `json:"dropped"`   // at the receiver's socket
	Window    float64 `json:"window"`    // s, of sending
	Queue     float64 `json:"queue"`     // s, delay of the last datagram over the quickest
}

// Tried is how many datagrams the sender tried to send. Refusals by its own machine are losses too:
// the first device of the path had a full queue.
func (p Phase) Tried() int64 { return p.Sent + p.Refused }

// Lost is the share of the datagrams tried that was lost.
func (p Phase) Lost() float64 { return float64(p.Tried()-p.Delivered) / float64(max(p.Tried(), 1)) }

// Reached is the offered rate, packet/s.
func (p Phase) Reached() float64 { return float64(p.Tried()) / p.Window }

// Carried is the rate of arrival, packet/s. Datagrams that queued up during sending arrived later
// by that much.
func (p Phase) Carried() float64 {
	rate := float64(p.Delivered) / (p.Window + p.Queue)
	if p.Asked > 0 {
		rate = min(rate, p.Asked) // a schedule can hold one datagram more than fits its time
	}
	return rate
}

// RR is the result of tcp-rr and udp-rr. The number of outstanding requests is bounded, so a slow
// reply delays the requests after it: this is closed-loop latency, and its tail covers only the
// transactions that were made. Over UDP, a reply that is overdue (tally.Patience) delays no further
// request, so that a lost one does not end the window. udp-open has no such feedback.
type RR struct {
	Head
	Inflight     int    `json:"inflight"` // requests outstanding at once
	Wait         string `json:"wait"`     // for a message: WaitBlocking or WaitSpinning
	CPU          *int   `json:"cpu,omitempty"`
	FarCPU       *int   `json:"serverCPU,omitempty"`
	Requests     int64  `json:"requests"`
	Transactions int64  `json:"transactions"` // requests that were answered
	Lost         int64  `json:"lost"`         // requests without an answer within ReplyTimeout
	Late         int64  `json:"late"`         // replies after it, and duplicates, warm-up included; not counted
	Hist         string `json:"hist"`         // response times, see NewHist
	// PlainHist has the response times of the requests that were sent without stamps; absent if all were.
	PlainHist string `json:"plainHist,omitempty"`
	Split
	Congestion    string `json:"congestion,omitempty"`
	FarCongestion string `json:"serverCongestion,omitempty"`
	SndBuf        int    `json:"sndbuf"` // bytes in effect
	RcvBuf        int    `json:"rcvbuf"` // bytes in effect
	Own
}

const (
	WaitBlocking = "blocking"
	WaitSpinning = "spinning"
)

// ReplyTimeout is when a request over UDP counts as lost. It is several times the longest stalls of
// a busy virtual machine, which are not losses.
const ReplyTimeout = 500 * time.Millisecond

// A Split divides the response times of the stamped requests; see tally.Split. The histograms are
// present unless Stamps begins with NoStamps.
type Split struct {
	Stamps      string `json:"stamps"`
	Stamped     int64  `json:"stamped"`    // requests
	Incomplete  int64  `json:"incomplete"` // requests without a stamp of every step
	Impossible  int64  `json:"impossible"` // requests with a part below zero
	StampedHist string `json:"stampedHist,omitempty"`
	PathHist    string `json:"pathHist,omitempty"`
	WakeHist    string `json:"wakeHist,omitempty"`
	AppHist     string `json:"appHist,omitempty"`
}

// NoStamps begins Split.Stamps if no stamps were taken; the reason follows.
const NoStamps = "none: "

// Open is the result of udp-open. Requests leave on a schedule of absolute times, independent of
// replies, and response times count from the scheduled time: a stall shows in all requests that it
// delayed, which a closed loop omits.
type Open struct {
	RR              // Inflight is 0: unbounded
	Rate    float64 `json:"rate"`    // requests/s asked for
	Offered int64   `json:"offered"` // requests that the schedule held
	// LateSends counts requests that left more than 1/rate late, or never because the window had
	// ended.
	LateSends int64 `json:"lateSends"`
	Stalls    int64 `json:"stalls"` // periods in which response times were above 50 ms
}

// CRR is the result of tcp-crr. Response times run from before connect to the reply; the
// transaction rate includes closing.
type CRR struct {
	RR
	ConnectHist string `json:"connectHist"` // time until the connection was made
	Ports       int    `json:"ports"`       // of the client, used in turn
	PortsBusy   int64  `json:"portsBusy"`   // times that a port was skipped because it was not free
}

// Ping is the result of ping. Requests leave on a schedule, independent of replies.
type Ping struct {
	Head                // Size is the data of a request, as ping -s counts it
	Requests     int64  `json:"requests"`
	Transactions int64  `json:"transactions"` // requests that were answered
	Lost         int64  `json:"lost"`
	Duplicates   int64  `json:"duplicates"`
	Hist         string `json:"hist"`   // round-trip times, see NewHist
	Socket       string `json:"socket"` // "dgram" or "raw"
}

type Reach struct {
	Head
	Tries int     `json:"tries"`
	RTT   float64 `json:"rtt"` // s, from the packet that came back to its answer
}

// The range and precision of every histogram, in ns and decimal digits. Histograms with equal
// ranges merge without loss.
const (
	HistLowest  = 1
	HistHighest = int64(60 * time.Second)
	HistDigits  = 3
	maxHist     = 1 << 20 // bytes of the encoding, far more than a full one takes
)

func NewHist() *hdrhistogram.Histogram { return hdrhistogram.New(HistLowest, HistHighest, HistDigits) }

// EncodeHist returns h as HDR V2 compressed, base64.
func EncodeHist(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("engine: histogram: %w", err)
	}
	return string(b), nil
}

// DecodeHist is the inverse of EncodeHist. It refuses other ranges.
func DecodeHist(s string) (*hdrhistogram.Histogram, error) {
	if len(s) > maxHist {
		return nil, fmt.Errorf("%d bytes, more than %d", len(s), maxHist)
	}
	h, err := hdrhistogram.Decode([]byte(s))
	if err != nil {
		return nil, err
	}
	if h.LowestTrackableValue() != HistLowest || h.HighestTrackableValue() != HistHighest || h.SignificantFigures() != HistDigits {
		return nil, fmt.Errorf("%d..%d with %d digits, want %d..%d with %d", h.LowestTrackableValue(), h.HighestTrackableValue(),
			h.SignificantFigures(), HistLowest, HistHighest, HistDigits)
	}
	return h, nil
}
