package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Bounds of what a client may ask, and a server grants.
const (
	MaxStreams = 128
	MaxBuffer  = 1 << 30 // bytes of a socket buffer
	MaxTime    = time.Hour
	MaxLine    = 4096 // bytes of a control message
)

// Workloads in the order in which they are listed.
var Workloads = []string{"tcp-crr", "tcp-rr", "tcp-stream", "udp-open", "udp-rr", "udp-search", "udp-stream"}

// Params is the client's first message: what it is about to do, and what it
// wants the server to set. Times are nanoseconds.
type Params struct {
	Weir     int           `json:"weir"` // version
	Workload string        `json:"workload"`
	Run      uint32        `json:"run"`
	Streams  int           `json:"streams"`
	Size     int           `json:"size"` // bytes
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	CC       string        `json:"cc,omitempty"`
	RcvBuf   int           `json:"rcvbuf,omitempty"` // bytes asked for; 0 leaves the server's default
	Secret   string        `json:"secret,omitempty"` // of a hello over UDP to a server that is not open; see grant

	Transfer
	Requests
}

// Check returns an error that names the value and its bound.
func (p Params) Check() error {
	maxSize, minSize := event.MaxMessage, 1
	if strings.HasPrefix(p.Workload, "udp-") {
		maxSize, minSize = event.MaxDatagram, HeaderSize
	}
	switch {
	case p.Weir != Version:
		return OtherVersion(p.Weir)
	case !slices.Contains(Workloads, p.Workload):
		return fmt.Errorf("unknown workload %q; one of %s", p.Workload, strings.Join(Workloads, ", "))
	case p.Run > MaxRun:
		return fmt.Errorf("run %d is outside 0..%d", p.Run, MaxRun)
	case p.Streams < 1 || p.Streams > MaxStreams:
		return fmt.Errorf("%d streams is outside 1..%d", p.Streams, MaxStreams)
	case p.Streams != 1 && p.Workload != "tcp-stream":
		return fmt.Errorf("%s: --streams is for tcp-stream alone", p.Workload)
	case p.Size < minSize || p.Size > maxSize:
		return fmt.Errorf("%s: size %d is outside %d..%d bytes", p.Workload, p.Size, minSize, maxSize)
	case p.Warmup < 0 || p.Warmup > MaxTime:
		return fmt.Errorf("warm-up %v is outside 0..%v", p.Warmup, MaxTime)
	case p.Duration <= 0 || p.Duration > MaxTime:
		return fmt.Errorf("duration %v is outside 1ns..%v", p.Duration, MaxTime)
	case p.RcvBuf < 0 || p.RcvBuf > MaxBuffer:
		return fmt.Errorf("receive buffer %d is outside 0..%d bytes", p.RcvBuf, MaxBuffer)
	case len(p.CC) > 15: // TCP_CA_NAME_MAX 16, include/net/tcp.h
		return fmt.Errorf("congestion control %q is longer than 15 bytes", p.CC)
	}
	if err := p.checkTransfer(); err != nil {
		return err
	}
	return p.checkRequests()
}
