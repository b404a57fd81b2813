package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

// ErrNotJSON is a message outside the protocol.
var ErrNotJSON = errors.New("control message")

// StrictJSON decodes a control message. It checks the version first, so a message of another
// version is refused for that and not for its fields.
func StrictJSON(b []byte, v any) error {
	var of struct {
		Weir *int `json:"weir"`
	}
	if json.Unmarshal(b, &of) == nil && of.Weir != nil && *of.Weir != Version {
		return OtherVersion(*of.Weir)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return fmt.Errorf("%w: the line is empty", ErrNotJSON)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return nil
}

func OtherVersion(v int) error {
	return fmt.Errorf("the other end has version %d, this end %d; use the same weir at both ends", v, Version)
}

// UDPReport is the receiver's report. Times are nanoseconds.
type UDPReport struct {
	Error      string  `json:"error,omitempty"`
	Delivered  int64   `json:"delivered"` // datagrams that the application read, without duplicates
	Bytes      int64   `json:"bytes"`     // of their payload
	Duplicates int64   `json:"duplicates"`
	Reordered  int64   `json:"reordered"` // RFC 4737, section 3: sequence number below the next expected one
	Dropped    int64   `json:"dropped"`   // at the socket's buffer, since the run began
	Jitter     float64 `json:"jitter"`    // RFC 3550, section 6.4.1
	Reads      int64   `json:"reads"`     // that returned measured datagrams
	Buffers    int64   `json:"buffers"`   // of the socket that held these datagrams
	Span       int64   `json:"span"`      // from the first to the last arrival
	Silence    int64   `json:"silence"`   // the longest time from one arrival to the next
	Wait       int64   `json:"wait"`      // from the beginning to the first arrival
	Used       Reading `json:"used"`      // by the receiving thread since the count began
	Queue      int64   `json:"queue"`     // how much longer the last sample took than the quickest: the queue
	First      int64   `json:"-"`         // first arrival on the receiver's clock
}

// StreamReport is the receiver's report on one stream.
type StreamReport struct {
	Error  string `json:"error,omitempty"`
	Bytes  int64  `json:"bytes"`  // read inside the window
	Window int64  `json:"window"` // ns
	// Silence is the longest time, ns, without a read that returned bytes, including the time
	// before the first and after the last.
	Silence int64   `json:"silence"`
	Used    Reading `json:"used"` // by the receiving thread and its connection in the window
}

type Admission struct {
	Proof string `json:"proof"` // hexadecimal
}

// A Core is the CPU on which a thread spins.
type Core struct {
	Boot string `json:"boot"` // the kernel's boot id; equal for two ends on one machine
	CPU  int    `json:"cpu"`
}

// Accepted is the server's answer to Params: its settings, read back.
type Accepted struct {
	Weir  int    `json:"weir"`
	Error string `json:"error,omitempty"`

	Challenge string `json:"challenge,omitempty"` // the server wants an Admission first, then answers again
	Secret    string `json:"secret,omitempty"`    // for the hello over UDP
	Again     bool   `json:"again,omitempty"`     // the hello over UDP belongs to another socket, which takes the next one

	CC     string        `json:"cc,omitempty"`
	RcvBuf int           `json:"rcvbuf"`        // bytes, as getsockopt returns it: twice the size granted (socket(7))
	Nap    time.Duration `json:"nap,omitempty"` // in effect

	Certificate []byte `json:"certificate,omitempty"` // DER, of the protocols of package web

	Place    *Core  `json:"place,omitempty"`    // where it spins
	NoStamps string `json:"noStamps,omitempty"` // why it takes none although it was asked to
}

// Version is the version of the protocol. Version 2 admits clients by a token, version 3 reports
// silences and counts in phases, version 4 reports CPU times, version 5 agrees on congestion control, version 6
// reports run-queue waits and TCP_INFO, version 7 has several streams of datagrams, version 9
// waits for whole buffers of TCP and reports naps, version 10 tells arrivals in replies.
const Version = 10

func (a Accepted) Check() error {
	if a.Error != "" {
		return fmt.Errorf("the server refused: %s", a.Error)
	}
	if a.Weir != Version {
		return OtherVersion(a.Weir)
	}
	return nil
}

// Bounds of a client's requests.
const (
	MaxStreams = 128
	MaxBuffer  = event.MaxBuffer // bytes of a socket buffer
	MaxTime    = time.Hour
	MaxLine    = 4096 // bytes of a control message
)

var Workloads = []string{"connect-outage", "dns-lookup", "dns-rr", "grpc-rr", "h2-rr", "http-connect", "http-rr", "quic-rr", "tcp-crr", "tcp-outage", "tcp-rr", "tcp-stream", "udp-open", "udp-outage", "udp-rr", "udp-search", "udp-stream"}

// Web reports whether a workload speaks a protocol of package web.
func Web(workload string) bool {
	return slices.Contains([]string{"dns-lookup", "dns-rr", "grpc-rr", "h2-rr", "http-connect", "http-rr", "quic-rr"}, workload)
}

// Params is the client's first message: its plan, and settings for the server. Times are
// nanoseconds.
type Params struct {
	Weir     int           `json:"weir"` // version
	Workload string        `json:"workload"`
	Run      uint32        `json:"run"`
	Streams  int           `json:"streams"`
	Size     int           `json:"size"` // bytes
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
	CC       string        `json:"cc,omitempty"`
	AnyCC    bool          `json:"anyCC,omitempty"`  // where the server cannot set CC, it answers with its own
	RcvBuf   int           `json:"rcvbuf,omitempty"` // bytes asked for; 0 keeps the server's default
	Secret   string        `json:"secret,omitempty"` // in a hello over UDP to a server that is not open

	Discard bool          `json:"discard,omitempty"` // tcp-stream: the receiver does not copy
	Send    string        `json:"send,omitempty"`    // one-way datagrams: one of event.SendModes
	Batch   int           `json:"batch,omitempty"`   // datagrams per call
	Recv    string        `json:"recv,omitempty"`    // one-way datagrams: one of event.RecvModes
	Nap     time.Duration `json:"nap,omitempty"`     // one-way datagrams: polling interval of the receiver; 0 waits in the socket
	DSCP    int           `json:"dscp,omitempty"`    // of both ends' packets, 0..63

	Inflight int  `json:"inflight,omitempty"` // outstanding at once; 0 is 1
	Spin     bool `json:"spin,omitempty"`     // poll instead of block, at both ends
	Stamps   bool `json:"stamps,omitempty"`   // the client will mark requests for stamps

	Packet int `json:"packet,omitempty"` // quic-rr: bytes of the largest datagram of both ends

	Gap time.Duration `json:"gap,omitempty"` // of a workload that looks for outages: a longer time between two arrivals is a gap
}

func (p Params) Check() error {
	switch {
	case p.Weir != Version:
		return OtherVersion(p.Weir)
	case !slices.Contains(Workloads, p.Workload):
		return fmt.Errorf("unknown workload %q; one of %s", p.Workload, strings.Join(Workloads, ", "))
	case len(p.CC) > 15: // TCP_CA_NAME_MAX 16, include/net/tcp.h
		return fmt.Errorf("congestion control %q is longer than 15 bytes", p.CC)
	}
	err := cmp.Or(
		event.Within("run", p.Run, 0, MaxRun, ""),
		event.Within("streams", p.Streams, 1, MaxStreams, ""),
		event.CheckMessages(p.Workload, p.Size, cmp.Or(p.Inflight, 1)),
		event.Within("warm-up", p.Warmup, 0, MaxTime, ""),
		event.Within("duration", p.Duration, 1, MaxTime, ""),
		event.Within("receive buffer", p.RcvBuf, 0, MaxBuffer, "bytes"),
		event.Within("DSCP", p.DSCP, 0, event.MaxDSCP, ""),
		event.Within("nap", p.Nap, 0, MaxNap, ""),
		event.Within("gap", p.Gap, 0, MaxTime, ""),
		Only(p.Gap != 0, p.Workload, "a gap is", "connect-outage", "tcp-outage", "udp-outage"),
		Only(p.Packet != 0, p.Workload, "--packet is", "quic-rr"),
		Only(p.Streams != 1, p.Workload, "--streams is", "tcp-stream", "udp-stream"),
		event.CheckQueues(p.Send, p.Streams),
		Only(p.Discard, p.Workload, "--discard is", "tcp-stream"),
		Only(p.Send != "" || p.Batch != 0 || p.Recv != "" || p.Nap != 0, p.Workload,
			"--send, --batch, --recv and --nap are", "udp-stream", "udp-search"),
		Only(p.Inflight > 1 && !Web(p.Workload), p.Workload, "more than one request in flight is", "tcp-rr", "udp-rr"),
		Only(p.Spin, p.Workload, "spinning is", "tcp-rr", "udp-open", "udp-rr"))
	if err == nil && p.Workload == "quic-rr" {
		err = event.CheckPacket(p.Packet)
	}
	if err == nil && OneWay(p.Workload) {
		err = p.Mode().Filled().Check()
	}
	return err
}

// Only returns an error if an option is set that only other workloads have.
func Only(asked bool, workload, what string, of ...string) error {
	if !asked || slices.Contains(of, workload) {
		return nil
	}
	return fmt.Errorf("%s: %s only for %s", workload, what, strings.Join(of, ", "))
}

// MaxNap bounds the polling interval of a receiver.
const MaxNap = 10 * time.Millisecond

// Apart reports whether each stream of a run over UDP has a socket of its own at the server.
func (p Params) Apart() bool { return p.Streams > 1 || p.Workload == "quic-rr" }

// OneWay reports whether a workload sends datagrams that are counted and not answered.
func OneWay(workload string) bool { return workload == "udp-stream" || workload == "udp-search" }

func (p Params) Mode() event.Mode {
	return event.Mode{Size: p.Size, Send: p.Send, Batch: p.Batch, Recv: p.Recv}
}

// Echoing reports whether a workload consists of requests and replies.
func Echoing(workload string) bool { return workload != "tcp-stream" && !OneWay(workload) }
