package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Bounds of what a client may ask, and a server grants.
const (
	maxStreams = 128
	maxBuffer  = 1 << 30 // bytes of a socket buffer
	maxTime    = time.Hour
	maxLine    = 4096 // bytes of a control message
)

// workloads in the order in which they are listed.
var workloads = []string{"tcp-crr", "tcp-rr", "tcp-stream", "udp-open", "udp-rr", "udp-search", "udp-stream"}

// Workloads returns the names of what can be run, in order.
func Workloads() []string { return slices.Clone(workloads) }

// params is the client's first message: what it is about to do, and what it
// wants the server to set. Times are nanoseconds.
type params struct {
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

	transfer
	requests
}

// accepted is the server's answer to params: what it set, read back.
type accepted struct {
	Weir  int    `json:"weir"`
	Error string `json:"error,omitempty"`

	Challenge string `json:"challenge,omitempty"` // the server wants an admission first, and then answers again
	Secret    string `json:"secret,omitempty"`    // for the hello over UDP

	CC     string `json:"cc,omitempty"`
	RcvBuf int    `json:"rcvbuf"` // bytes, as getsockopt returns them: twice what was granted (socket(7))

	Place    *place `json:"place,omitempty"`    // where it spins
	NoStamps string `json:"noStamps,omitempty"` // why it takes none although asked to
}

// check returns an error that names the value and its bound.
func (p params) check() error {
	maxSize, minSize := event.MaxMessage, 1
	if strings.HasPrefix(p.Workload, "udp-") {
		maxSize, minSize = event.MaxDatagram, headerSize
	}
	switch {
	case p.Weir != version:
		return otherVersion(p.Weir)
	case !slices.Contains(workloads, p.Workload):
		return fmt.Errorf("unknown workload %q; one of %s", p.Workload, strings.Join(workloads, ", "))
	case p.Run > maxRun:
		return fmt.Errorf("run %d is outside 0..%d", p.Run, maxRun)
	case p.Streams < 1 || p.Streams > maxStreams:
		return fmt.Errorf("%d streams is outside 1..%d", p.Streams, maxStreams)
	case p.Streams != 1 && p.Workload != "tcp-stream":
		return fmt.Errorf("%s: --streams is for tcp-stream alone", p.Workload)
	case p.Size < minSize || p.Size > maxSize:
		return fmt.Errorf("%s: size %d is outside %d..%d bytes", p.Workload, p.Size, minSize, maxSize)
	case p.Warmup < 0 || p.Warmup > maxTime:
		return fmt.Errorf("warm-up %v is outside 0..%v", p.Warmup, maxTime)
	case p.Duration <= 0 || p.Duration > maxTime:
		return fmt.Errorf("duration %v is outside 1ns..%v", p.Duration, maxTime)
	case p.RcvBuf < 0 || p.RcvBuf > maxBuffer:
		return fmt.Errorf("receive buffer %d is outside 0..%d bytes", p.RcvBuf, maxBuffer)
	case len(p.CC) > 15: // TCP_CA_NAME_MAX 16, include/net/tcp.h
		return fmt.Errorf("congestion control %q is longer than 15 bytes", p.CC)
	}
	if err := p.checkTransfer(); err != nil {
		return err
	}
	return p.checkRequests()
}

func otherVersion(v int) error {
	return fmt.Errorf("version %d of the other end is not %d: use the same weir at both ends", v, version)
}
