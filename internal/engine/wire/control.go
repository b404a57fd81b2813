package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNotJSON means that the other end does not speak the protocol.
var ErrNotJSON = errors.New("control message")

// StrictJSON decodes a control message. A message of another version is refused for its
// version, not for the fields that it has or lacks.
func StrictJSON(b []byte, v any) error {
	var of struct {
		Weir *int `json:"weir"`
	}
	if json.Unmarshal(b, &of) == nil && of.Weir != nil && *of.Weir != Version {
		return OtherVersion(*of.Weir)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return nil
}

// OtherVersion is the error of an end of another version.
func OtherVersion(v int) error {
	return fmt.Errorf("the other end has version %d, this end %d; use the same weir at both ends", v, Version)
}

// UDPReport is what the receiver reports to the client. Times are nanoseconds.
type UDPReport struct {
	Error      string  `json:"error,omitempty"`
	Delivered  int64   `json:"delivered"` // datagrams that the application read, without duplicates
	Bytes      int64   `json:"bytes"`     // of their payload
	Duplicates int64   `json:"duplicates"`
	Reordered  int64   `json:"reordered"` // RFC 4737, section 3: sequence number below the next expected one
	Dropped    int64   `json:"dropped"`   // at the socket's buffer, since the run began
	Jitter     float64 `json:"jitter"`    // RFC 3550, section 6.4.1
	Reads      int64   `json:"reads"`     // that returned measured datagrams
	Buffers    int64   `json:"buffers"`   // of the socket that held these
	Span       int64   `json:"span"`      // from the first to the last arrival
	Silence    int64   `json:"silence"`   // the longest time from one arrival to the next
	Wait       int64   `json:"wait"`      // from the beginning to the first arrival
	Queue      int64   `json:"queue"`     // how much longer the last sample took than the quickest: the queue
	First      int64   `json:"-"`         // first arrival on the receiver's clock
}

// StreamReport is what the receiver of one stream counted.
type StreamReport struct {
	Error  string `json:"error,omitempty"`
	Bytes  int64  `json:"bytes"`  // read inside the window
	Window int64  `json:"window"` // ns
	// Silence is the longest time inside the window without a read that returned
	// bytes, ns; it includes the time before the first and after the last.
	Silence int64 `json:"silence"`
}

// Admission is the client's answer to a challenge.
type Admission struct {
	Proof string `json:"proof"` // hexadecimal
}

// A Place is where a thread spins.
type Place struct {
	Boot string `json:"boot"` // the kernel's boot id; equal for two ends on one machine
	CPU  int    `json:"cpu"`
}

// Accepted is the answer of the server to Params: what it set, read back.
type Accepted struct {
	Weir  int    `json:"weir"`
	Error string `json:"error,omitempty"`

	Challenge string `json:"challenge,omitempty"` // the server wants an Admission first, then answers again
	Secret    string `json:"secret,omitempty"`    // for the hello over UDP

	CC     string `json:"cc,omitempty"`
	RcvBuf int    `json:"rcvbuf"` // bytes, as getsockopt returns it: twice what was granted (socket(7))

	Place    *Place `json:"place,omitempty"`    // where it spins
	NoStamps string `json:"noStamps,omitempty"` // why it takes none although it was asked to
}

// Version is the version of the protocol between client and server. Version 2 admits
// clients by a token, version 3 reports silences and counts in phases.
const Version = 3

// Check returns why the server refused.
func (a Accepted) Check() error {
	if a.Error != "" {
		return fmt.Errorf("the server refused: %s", a.Error)
	}
	if a.Weir != Version {
		return OtherVersion(a.Weir)
	}
	return nil
}
