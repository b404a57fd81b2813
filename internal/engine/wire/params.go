package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Bounds of what a client can ask for, and a server grants.
const (
	MaxStreams = 128
	MaxBuffer  = 1 << 30 // bytes of a socket buffer
	MaxTime    = time.Hour
	MaxLine    = 4096 // bytes of a control message
)

// Workloads lists the workloads in order.
var Workloads = []string{"tcp-crr", "tcp-rr", "tcp-stream", "udp-open", "udp-rr", "udp-search", "udp-stream"}

// Params is the client's first message: what it is about to do, and what the server is
// to set. Times are nanoseconds.
type Params struct {
	Weir     int           `json:"weir"` // version
	Workload string        `json:"workload"`
	Run      uint32        `json:"run"`
	Streams  int           `json:"streams"`
	Size     int           `json:"size"` // bytes
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	CC       string        `json:"cc,omitempty"`
	RcvBuf   int           `json:"rcvbuf,omitempty"` // bytes asked for; 0 keeps the server's default
	Secret   string        `json:"secret,omitempty"` // in a hello over UDP to a server that is not open

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
		return fmt.Errorf("%s: --streams is only for tcp-stream", p.Workload)
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
	return p.checkWorkload()
}

// Transfer is how the bytes of a stream get into the kernel and out of it.
type Transfer struct {
	Discard bool          `json:"discard,omitempty"` // tcp-stream: the receiver does not copy what arrives
	Send    string        `json:"send,omitempty"`    // one-way datagrams: one of event.SendModes
	Batch   int           `json:"batch,omitempty"`   // datagrams per call
	Recv    string        `json:"recv,omitempty"`    // one-way datagrams: one of event.RecvModes
	Nap     time.Duration `json:"nap,omitempty"`     // one-way datagrams: polling interval of the receiver; 0 waits in the socket
	DSCP    int           `json:"dscp,omitempty"`    // of what both ends send, 0..63
}

// MaxNap bounds the polling interval of a receiver.
const MaxNap = 10 * time.Millisecond

// OneWay reports whether a workload consists of datagrams that are counted and not
// answered.
func OneWay(workload string) bool { return workload == "udp-stream" || workload == "udp-search" }

// Mode returns how datagrams are sent and received.
func (p Params) Mode() event.Mode {
	return event.Mode{Size: p.Size, Send: p.Send, Batch: p.Batch, Recv: p.Recv}
}

// Requests is what both ends must know about workloads of requests and replies.
type Requests struct {
	Inflight int  `json:"inflight,omitempty"` // outstanding at once; 0 is 1
	Spin     bool `json:"spin,omitempty"`     // poll instead of block, at both ends
	Stamps   bool `json:"stamps,omitempty"`   // the client will mark requests for stamps
}

// Echoing reports whether a workload consists of requests and replies.
func Echoing(workload string) bool { return workload != "tcp-stream" && !OneWay(workload) }

// checkWorkload checks what depends on the workload.
func (p Params) checkWorkload() error {
	oneWay := OneWay(p.Workload)
	switch {
	case p.DSCP < 0 || p.DSCP > event.MaxDSCP:
		return fmt.Errorf("DSCP %d is outside 0..%d", p.DSCP, event.MaxDSCP)
	case p.Discard && p.Workload != "tcp-stream":
		return fmt.Errorf("%s: --discard is only for tcp-stream", p.Workload)
	case !oneWay && (p.Send != "" || p.Batch != 0 || p.Recv != "" || p.Nap != 0):
		return fmt.Errorf("%s: --send, --batch, --recv and --nap are only for udp-stream and udp-search", p.Workload)
	case p.Nap < 0 || p.Nap > MaxNap:
		return fmt.Errorf("nap %v is outside 0..%v", p.Nap, MaxNap)
	case p.Inflight < 0 || p.Inflight > event.MaxInflight:
		return fmt.Errorf("%d requests in flight is outside 1..%d", p.Inflight, event.MaxInflight)
	case p.Inflight > 1 && p.Workload != "tcp-rr" && p.Workload != "udp-rr":
		return fmt.Errorf("%s: more than one request in flight is only for tcp-rr and udp-rr", p.Workload)
	case p.Inflight > 1 && p.Workload == "tcp-rr" && p.Inflight*p.Size > event.MaxPipeline:
		return fmt.Errorf("tcp-rr: %d requests of %d bytes in flight are more than %d bytes: each end could wait for the other to read",
			p.Inflight, p.Size, event.MaxPipeline)
	case p.Spin && (!Echoing(p.Workload) || p.Workload == "tcp-crr"):
		return fmt.Errorf("%s: spinning is only for tcp-rr, udp-open and udp-rr", p.Workload)
	case p.Workload == "tcp-crr" && p.Size < HeaderSize:
		return fmt.Errorf("tcp-crr: size %d is below %d bytes, which identify its requests", p.Size, HeaderSize)
	}
	if oneWay {
		return p.Mode().Filled().Check()
	}
	return nil
}
