package event

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// RR is the result of tcp-rr and udp-rr. No more requests are outstanding than were
// asked for, so a slow reply delays the requests after it: this is closed-loop
// latency, and its tail is that of the transactions that were made. udp-open has no
// such feedback.
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
	Split
	Congestion    string `json:"congestion,omitempty"`
	FarCongestion string `json:"serverCongestion,omitempty"`
	SndBuf        int    `json:"sndbuf"` // bytes in effect
	RcvBuf        int    `json:"rcvbuf"` // bytes in effect
}

// How a program waits for a message.
const (
	WaitBlocking = "blocking"
	WaitSpinning = "spinning"
)

// ReplyTimeout is when a request over UDP counts as lost. It is several times the
// longest stalls of a busy virtual machine, which are not losses.
const ReplyTimeout = 500 * time.Millisecond

// A Split is what the response times of the stamped requests consist of; see
// tally.Split. The histograms are present unless Stamps begins with NoStamps.
type Split struct {
	Stamps      string `json:"stamps"`
	Stamped     int64  `json:"stamped"`    // requests
	Incomplete  int64  `json:"incomplete"` // of them, without a stamp of every step
	Impossible  int64  `json:"impossible"` // of them, with a part below zero
	StampedHist string `json:"stampedHist,omitempty"`
	PathHist    string `json:"pathHist,omitempty"`
	WakeHist    string `json:"wakeHist,omitempty"`
	AppHist     string `json:"appHist,omitempty"`
}

// NoStamps begins Split.Stamps when no stamps were taken; the reason follows.
const NoStamps = "none: "

// Open is the result of udp-open. Requests leave on a schedule of absolute times,
// whatever became of those before, and response times count from when the request
// should have left: a stall shows in all requests that it delayed, which is what a
// closed loop omits.
type Open struct {
	RR              // Inflight is 0: there is no bound
	Rate    float64 `json:"rate"`    // requests/s asked for
	Offered int64   `json:"offered"` // requests that the schedule held
	// LateSends counts requests that left more than 1/rate after their time, or not at
	// all because the window had ended.
	LateSends int64 `json:"lateSends"`
	Stalls    int64 `json:"stalls"` // periods in which response times were above 50 ms
}

// CRR is the result of tcp-crr. Response times go from before connect until the reply
// has come; the rate of transactions pays for closing as well.
type CRR struct {
	RR
	ConnectHist string `json:"connectHist"` // time until the connection was made
	Ports       int    `json:"ports"`       // of the client, used in turn
	PortsBusy   int64  `json:"portsBusy"`   // times that a port was skipped because it was not free
}

// Ping is the result of ping. Requests leave on a schedule, whether or not the one
// before was answered.
type Ping struct {
	Head                // Size is the data of a request, as ping -s counts it
	Requests     int64  `json:"requests"`
	Transactions int64  `json:"transactions"` // requests that were answered
	Lost         int64  `json:"lost"`
	Duplicates   int64  `json:"duplicates"`
	Hist         string `json:"hist"`   // round-trip times, see NewHist
	Socket       string `json:"socket"` // "dgram" or "raw"
}

// Reach is the result of reach: a packet came back.
type Reach struct {
	Head
	Tries int `json:"tries"`
}

// The range and precision of every histogram, in nanoseconds and decimal digits.
// Histograms with equal ranges merge without loss.
const (
	HistLowest  = 1
	HistHighest = int64(60 * time.Second)
	HistDigits  = 3
	maxHist     = 1 << 20 // bytes of the encoding, far more than a full one takes
)

// NewHist returns an empty histogram of nanoseconds.
func NewHist() *hdrhistogram.Histogram {
	return hdrhistogram.New(HistLowest, HistHighest, HistDigits)
}

// EncodeHist returns h as results hold it: HDR V2 compressed, base64.
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
