package event

import "time"

// A Head begins every result.
type Head struct {
	Event    string  `json:"event"` // KindResult
	Workload string  `json:"workload"`
	Engine   int     `json:"engine"` // Version
	Server   string  `json:"server"`
	Size     int     `json:"size"`   // bytes of payload per write, datagram or message; reach: of the IP packet
	Window   float64 `json:"window"` // s, the measured window
}

// NewHead returns the head of a result.
func NewHead(workload, server string, size int, window time.Duration) Head {
	return Head{Event: KindResult, Workload: workload, Engine: Version, Server: server, Size: size, Window: float64(window) / 1e9}
}

// TCPStream is the result of tcp-stream. The window is the server's.
type TCPStream struct {
	Head
	Streams       int     `json:"streams"`
	Bytes         int64   `json:"bytes"`          // that the server read in the window, over all streams
	StreamBytes   []int64 `json:"streamBytes"`    // per stream
	Retransmits   int64   `json:"retransmits"`    // segments, in the window (TCP_INFO)
	Silence       float64 `json:"silence"`        // s, the longest time in the window in which a stream received nothing, over all streams
	MSS           int     `json:"mss"`            // bytes, of the first stream, at the end
	Rate          float64 `json:"rate,omitempty"` // bit/s of payload that all streams together are held to, in effect
	Congestion    string  `json:"congestion"`     // in effect at the sender
	FarCongestion string  `json:"serverCongestion"`
	Send          string  `json:"send"`           // "copy", "zerocopy", or "zerocopy, copied after all" when most calls were
	ZeroSends     int64   `json:"zerocopySends"`  // calls with MSG_ZEROCOPY that the kernel has reported complete, warm-up included
	ZeroCopied    int64   `json:"zerocopyCopied"` // of these, calls for which it copied after all, as for receivers on the same machine
	Recv          string  `json:"recv"`           // "copy", or "discard": the server did not copy what it counted
	DSCP          int     `json:"dscp"`           // in effect at the sender
	SndBuf        int     `json:"sndbuf"`         // bytes in effect, of the first stream, at the end
	RcvBuf        int     `json:"rcvbuf"`         // bytes in effect at the server, at the beginning
}

// UDPStream is the result of udp-stream. Its counts form a ladder, offered ≥ sent ≥
// received ≥ delivered: received is what reached the server's socket, delivered what
// its application read.
type UDPStream struct {
	Head
	Rate       float64          `json:"rate"`    // bit/s of payload asked for; 0 is as fast as possible
	Offered    int64            `json:"offered"` // datagrams that the schedule held; without a rate, attempts
	Sent       int64            `json:"sent"`    // that the kernel took
	Received   int64            `json:"received"`
	Delivered  int64            `json:"delivered"` // without duplicates
	Bytes      int64            `json:"bytes"`     // of payload, delivered
	Dropped    int64            `json:"dropped"`   // at the server's socket buffer; with gro an estimate, see tally.Ladder
	Duplicates int64            `json:"duplicates"`
	Reordered  int64            `json:"reordered"`
	Jitter     float64          `json:"jitter"`     // s, RFC 3550, of the last datagram of every read
	Span       float64          `json:"span"`       // s, from first to last arrival
	Silence    float64          `json:"silence"`    // s, the longest time without an arrival: from the begin, between two, or to the window's end
	SendErrors map[string]int64 `json:"sendErrors"` // attempts that failed, by error
	Send       string           `json:"send"`       // one of SendModes
	Batch      int              `json:"batch"`      // datagrams per call, at most
	Recv       string           `json:"recv"`       // one of RecvModes
	Nap        float64          `json:"nap"`        // s, the server's polling interval; 0: it was woken up
	Reads      int64            `json:"reads"`      // system calls of the server that returned datagrams
	Buffers    int64            `json:"buffers"`    // in which datagrams reached its socket: fewer than datagrams where these stayed together
	DSCP       int              `json:"dscp"`       // in effect
	SndBuf     int              `json:"sndbuf"`     // bytes in effect
	RcvBuf     int              `json:"rcvbuf"`     // bytes in effect
}

// UDPSearch is the result of udp-search: what it found, and the phases in the order
// of time, from which that follows.
type UDPSearch struct {
	Head
	Loss   float64 `json:"loss"`  // asked for
	Width  float64 `json:"width"` // asked for
	Length float64 `json:"phase"` // s
	Found
	Phases []Phase `json:"phases"`
	Send   string  `json:"send"`  // one of SendModes
	Batch  int     `json:"batch"` // datagrams per call, at most
	Recv   string  `json:"recv"`  // one of RecvModes
	Nap    float64 `json:"nap"`   // s, the server's polling interval; 0: it was woken up
	DSCP   int     `json:"dscp"`  // in effect
	SndBuf int     `json:"sndbuf"`
	RcvBuf int     `json:"rcvbuf"` // bytes in effect
}

// Why a search found no higher rate.
const (
	LimitPath   = "path"   // more was lost
	LimitSender = "sender" // it could not send faster: the path may carry more
	LimitTime   = "time"   // time was up before the bounds were close
)

// Found is what a search found. Rates are packet/s.
type Found struct {
	Lower    float64 `json:"lower"`    // the lowest rate carried in any phase of the load that was not lossy; 0: no load was carried
	Load     float64 `json:"load"`     // the rate asked for then
	Upper    float64 `json:"upper"`    // the lowest rate offered at which more was lost; 0: none was
	Limit    string  `json:"limit"`    // why Lower is no higher
	Inverted float64 `json:"inverted"` // the highest rate above Upper that was carried all the same; 0: none
}

// A Phase is a short run of datagrams at one rate, and what became of them.
type Phase struct {
	Asked     float64 `json:"asked"`     // packet/s; 0 is as fast as the sender could
	Offered   int64   `json:"offered"`   // datagrams that the schedule held
	Refused   int64   `json:"refused"`   // of them, by a queue of the sender's machine
	Sent      int64   `json:"sent"`      // that the kernel took
	Delivered int64   `json:"delivered"` // that the receiver's program read
	Dropped   int64   `json:"dropped"`   // at the receiver's socket
	Window    float64 `json:"window"`    // s, of sending
	Queue     float64 `json:"queue"`     // s, by which the last datagram took longer to arrive than the quickest
}

// Tried is how many datagrams the sender tried to send. What its own machine refused
// is as lost as what is lost later: the first device of the path had a full queue.
func (p Phase) Tried() int64 { return p.Sent + p.Refused }

// Lost is the share of the datagrams tried that was lost.
func (p Phase) Lost() float64 {
	return float64(p.Tried()-p.Delivered) / float64(max(p.Tried(), 1))
}

// Reached is the rate that the sender offered, packet/s.
func (p Phase) Reached() float64 { return float64(p.Tried()) / p.Window }

// Carried is the rate at which datagrams arrived, packet/s. Datagrams that queued up
// while they were sent arrived later, and took that much longer.
func (p Phase) Carried() float64 {
	rate := float64(p.Delivered) / (p.Window + p.Queue)
	if p.Asked > 0 {
		rate = min(rate, p.Asked) // a schedule may hold one datagram more than fits its time
	}
	return rate
}
